"""The JSON schema of a plan file, for editors and for the documentation."""

from dataclasses import make_dataclass
from functools import reduce
from operator import or_
from typing import Any

from pydantic import TypeAdapter

from headway.plan.plan import Kinds, Plan

# Sections without a configuration of their own take over that of the class that holds them.
_CONFIG = {"__pydantic_config__": {"extra": "forbid", "use_attribute_docstrings": True}}


def schema(kinds: Kinds) -> dict[str, Any]:
    """What a plan file may say, with the description of every setting."""
    learner: Any = reduce(or_, kinds.learners.values())
    parts = make_dataclass("Parts", [("plan", Plan), ("data", kinds.data), ("learner", learner)], namespace=_CONFIG)
    made = TypeAdapter(parts).json_schema()
    definitions: dict[str, Any] = made["$defs"]
    plan = definitions.pop("Plan")
    del plan["properties"]["folder"]
    for name in ("data", "learner"):
        plan["properties"][name] |= made["properties"][name]
    return {
        **plan,
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "required": ["data", "learner"],
        "$defs": {name: _with_kind(definition) for name, definition in definitions.items()},
    }


def _with_kind(definition: dict[str, Any]) -> dict[str, Any]:
    """A plan names the kind of its learner, even where the class has a default."""
    if "kind" not in definition.get("properties", {}):
        return definition
    return {**definition, "required": sorted({"kind", *definition.get("required", [])})}
