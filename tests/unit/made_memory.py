"""Small memories, trained of a few texts."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headway.data.config import DataSection
from headway.learners.patterns.config import Section
from headway.plan.plan import Plan
from headway.run.train import train

Rows = list[list[tuple[str, int, int]]]


def trained(folder: Path, texts: Sequence[str], *, tokenizer: str = "bytes", **section: Any) -> Path:
    """The run folder of a training on these texts, each a document, with settings of the data or the learner."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "texts.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    cutting: dict[str, Any] = {name: section.pop(name) for name in ("split", "max_tokens") if name in section}
    plan = Plan(
        name="made",
        data=DataSection(sources=(str(path),), tokenizer=tokenizer, **cutting),
        learner=Section(**({"widths": (3, 2)} | section)),
        workers=1,
        memory=2 << 30,
        folder=folder,
    )
    return train(plan, runs_dir=folder / "runs", datasets_dir=folder / "datasets", mode="new", listeners=()).folder


def rows(memory: Any) -> Rows:
    """Name, frequency and length of every pattern, level by level, sorted by name."""
    return [sorted((each.name, each.frequency, each.length) for each in level) for level in memory.levels]
