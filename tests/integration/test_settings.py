"""Every setting of a plan changes something; one that is missing here fails the first test."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

import headway
from headway.data.build import build
from headway.data.config import DataSection
from headway.plan.plan import plan_settings
from headway.plan.section import settings
from headway.record.record import read_record
from headway.run.train import plan_kinds

DOCUMENTS = [
    f"The cat number {i} sat on the mat. It saw {i % 3} birds!\n\nThen it slept for a long while. And woke {i}?\n\n"
    f"Chapter {i % 9 + 1}:\nA new day of the cat and the mat and the bird number {i} began."
    for i in range(60)
]


@dataclass(frozen=True)
class Trained:
    result: headway.RunResult
    memory: Any

    @property
    def events(self) -> list[dict[str, Any]]:
        return list(read_record(self.result.folder / "record.jsonl"))

    def patterns(self) -> list[tuple[str, int]]:
        return [(pattern.name, pattern.frequency) for pattern in self.memory.patterns()]

    def measured(self) -> list[float]:
        """The interval of every event that says what was used."""
        return [event["interval"] for event in self.events if event["event"] == "sampled"]

    def started(self, key: str) -> Any:
        return self.events[0][key]

    def saves(self) -> int:
        return sum(event["event"] == "saved" for event in self.events)

    def steps(self) -> int:
        return sum(event.get("steps", 0) for event in self.events)

    def runs(self) -> int:
        return sum(level["runs"] for level in self.result.totals["levels"])

    def writers(self) -> int:
        """How many processes wrote run files."""
        files = (run.file.split(".")[0] for run in self.memory.manifest.runs)
        return len({name.rsplit("-", 1)[1] for name in files})

    def titles(self) -> list[list[str]]:
        found = (self.memory.metadata(pattern).get("title") for pattern in self.memory.patterns(0))
        return sorted(titles for titles in found if titles)

    def keys(self) -> list[int]:
        return [pattern.key for pattern in self.memory.patterns()]

    def order(self) -> list[str]:
        return [run.checksum for run in self.memory.manifest.level(0)]


Train = Callable[..., Trained]
_SMALL = ("run.batch_tokens=1024", "workers=1")
_EACH = (*_SMALL, "run.save_every=0")

# Setting: what is set beside it, its two values, and what must differ.
EFFECTS: dict[str, tuple[tuple[str, ...], tuple[str, str], Callable[[Trained], Any]]] = {
    "name": ((), ("name=one", "name=two"), lambda run: run.result.folder.name[:3]),
    "workers": (("run.batch_tokens=1024",), ("workers=1", "workers=2"), Trained.writers),
    # What it bounds is measured by benchmarks; that too little is refused, and little spills more, by other tests.
    "memory": ((), ("memory=2GiB", "memory=3GiB"), lambda run: run.started("memory")),
    "data.sources": ((), ('data.sources=["a.jsonl"]', 'data.sources=["b.jsonl"]'), Trained.patterns),
    "data.field": ((), ("data.field=text", "data.field=title"), Trained.patterns),
    "data.texts": (
        ('data.sources=["poems.txt"]',),
        ("data.texts=file", "data.texts=blank lines"),
        lambda run: run.result.documents,
    ),
    "data.tokenizer": ((), ("data.tokenizer=words", "data.tokenizer=bytes"), Trained.patterns),
    "data.split": ((), ("data.split=whole", "data.split=simple"), Trained.patterns),
    "data.max_tokens": ((), ("data.max_tokens=6", "data.max_tokens=9"), Trained.patterns),
    "data.documents": ((), ("data.documents=10", "data.documents=20"), lambda run: run.result.documents),
    "learner.widths": ((), ("learner.widths=[5,7,9]", "learner.widths=[4,3]"), Trained.patterns),
    "learner.mode": ((), ("learner.mode=chunking", "learner.mode=sentences"), Trained.patterns),
    "learner.min_sentence_tokens": (
        ("learner.mode=sentences", "data.tokenizer=words:[A-Za-z]+|[.!?]"),
        ("learner.min_sentence_tokens=3", "learner.min_sentence_tokens=12"),
        Trained.patterns,
    ),
    "learner.names": ((), ("learner.names=kato", "learner.names=internal"), lambda run: run.keys()),
    "learner.metadata": ((), ("learner.metadata=none", "learner.metadata=documents"), Trained.titles),
    "learner.source": (
        ("learner.metadata=documents",),
        ("learner.source=here", "learner.source=there"),
        Trained.titles,
    ),
    # With four times as many as may pile up, a save waits for the merge, however slow that is.
    "learner.compact_after": (
        (*_EACH, "run.epochs=10"),
        ("learner.compact_after=2", "learner.compact_after=64"),
        Trained.runs,
    ),
    "run.save_every": (_SMALL, ("run.save_every=0", "run.save_every=1h"), Trained.saves),
    "run.epochs": ((), ("run.epochs=1", "run.epochs=2"), Trained.patterns),
    "run.documents": ((), ("run.documents=7", "run.documents=8"), lambda run: run.result.documents),
    "run.shuffle": (_EACH, ("run.shuffle=false", "run.shuffle=true"), Trained.order),
    "run.seed": ((*_EACH, "run.shuffle=true"), ("run.seed=1", "run.seed=2"), Trained.order),
    "run.batch_tokens": ((), ("run.batch_tokens=1024", "run.batch_tokens=4096"), Trained.steps),
    "run.profile": ((), ("run.profile=off", "run.profile=full"), Trained.measured),
    "run.sample_every": ((), ("run.sample_every=50ms", "run.sample_every=1h"), Trained.measured),
}
# The other kind has a file of its own; so has the engine a test, since all of them give the same dataset.
_APART = {"learner.kind", "data.engine"}


@pytest.fixture
def train(tmp_path: Path) -> Train:
    for name, step in (("a", 1), ("b", 2)):
        lines = (json.dumps({"text": text, "title": text[:40][::step]}) for text in DOCUMENTS[::step])
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    (tmp_path / "poems.txt").write_text("\n\n\n".join(DOCUMENTS[:9]))
    plan = tmp_path / "plan.toml"
    plan.write_text('[data]\nsources = "a.jsonl"\ntokenizer = "words"\n[learner]\nkind = "patterns"\n')

    def run(*overrides: str) -> Trained:
        result = headway.train(
            plan,
            overrides=overrides,
            runs_dir=tmp_path / "runs",
            datasets_dir=tmp_path / "datasets",
            mode="new",
            listeners=(),
        )
        return Trained(result, headway.open_memory(result.folder))

    return run


def test_every_setting_is_listed() -> None:
    listed = {
        path
        for name, setting in plan_settings(plan_kinds(), "patterns").items()
        for path in ([name] if setting.section is None else _below(name, setting.section))
    }

    assert set(EFFECTS) | _APART == listed


def _below(name: str, section: type) -> list[str]:
    return [f"{name}.{key}" for key in settings(section)]


@pytest.mark.parametrize("setting", EFFECTS)
def test_a_setting_changes_something(train: Train, setting: str) -> None:
    beside, values, seen = EFFECTS[setting]

    one, two = (seen(train(*beside, value)) for value in values)

    assert one != two


@pytest.mark.parametrize("engine", ["tokenizers", "tiktoken"])
def test_the_engine_asked_for_is_the_one_that_works(tmp_path: Path, engine: Literal["tokenizers", "tiktoken"]) -> None:
    (tmp_path / "a.txt").write_text("some words\n" * 9)

    dataset = build(DataSection(sources=("a.txt",), engine=engine), folder=tmp_path, cache=tmp_path / "datasets")

    assert dataset.report is not None
    assert dataset.report.engine == engine


def test_a_finished_run_leaves_nothing_that_its_manifest_does_not_name(train: Train) -> None:
    done = train(*_EACH, "learner.compact_after=2")

    assert done.memory.verify().problems == []


def test_a_limit_below_what_is_learned_already_is_refused(tmp_path: Path, train: Train) -> None:
    first = train(*_EACH)
    record = first.result.folder / "record.jsonl"
    # As a crash after the last save leaves it: not finished, all of it saved.
    kept = [line for line in record.read_text().splitlines() if json.loads(line)["event"] != "finished"]
    record.write_text("\n".join(kept) + "\n")

    with pytest.raises(headway.RunError, match="has learned more documents than"):
        headway.train(
            tmp_path / "plan.toml",
            overrides=(*_EACH, "run.documents=7"),
            runs_dir=tmp_path / "runs",
            datasets_dir=tmp_path / "datasets",
            mode="resume",
            listeners=(),
        )

    assert headway.open_memory(first.result.folder).manifest.documents == len(DOCUMENTS)
