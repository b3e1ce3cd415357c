"""Names recorded from KATO itself."""

import json
from pathlib import Path
from typing import Any

import pytest

from headway.learners.patterns.naming import name_of, pieces, python_repr

CASES = Path(__file__).parents[3] / "shared/golden/kato/naming_cases.json"
pytestmark = pytest.mark.skipif(not CASES.exists(), reason="the golden data of KATO is not beside this checkout")


def cases() -> list[Any]:
    return json.loads(CASES.read_text(encoding="utf-8"))["cases"] if CASES.exists() else []


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["case"])
def test_names_are_those_of_kato(case: dict[str, Any]):
    assert "PTRN|" + name_of(case["events"]) == case["name"]
    assert sum(map(len, case["events"])) == case["length"]


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["case"])
def test_the_hashed_text_is_that_of_kato(case: dict[str, Any]):
    events = ["[" + ", ".join(map(python_repr, event)) + "]" for event in case["events"]]

    assert ascii("[" + ", ".join(events) + "]") == case["repr_ascii"]


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["case"])
def test_pieces_of_one_symbol_events_are_the_hashed_text(case: dict[str, Any]):
    symbols = [event[0] for event in case["events"] if len(event) == 1]

    flat, _ = pieces(symbols)

    assert flat.tobytes() == "".join(f"[{python_repr(symbol)}], " for symbol in symbols).encode()
