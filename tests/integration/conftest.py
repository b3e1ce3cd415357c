"""A small corpus, its dataset, and plans that train the counting learner on it."""

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from made_runs import Trained

# The counting learner of the contract suite; workers import it from there too.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "contract"))

DOCUMENTS = 300
BATCH_TOKENS = 1024


def write_corpus(path: Path, documents: int = DOCUMENTS) -> Path:
    """Lines of JSON with one short text each."""
    words = [f"word{number}" for number in range(97)]
    rng = random.Random(7)
    lines = [json.dumps({"text": " ".join(rng.choices(words, k=rng.randint(5, 60)))}) for _ in range(documents)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with corpus.jsonl and the datasets built of it."""
    folder = tmp_path_factory.mktemp("shared")
    write_corpus(folder / "corpus.jsonl")
    return folder


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The counting learner as a registered kind, in this process."""
    import counting as module

    from headway.learners import registry

    monkeypatch.setattr(registry, "kinds", lambda: {"counting": module.Section})
    monkeypatch.setattr(registry, "make", module.make)
    monkeypatch.setattr(registry, "prepare", module.prepare)
    monkeypatch.setattr(registry, "layout", module.layout)
    yield


@pytest.fixture
def plan(shared: Path, tmp_path: Path) -> Path:
    """A plan file that counts the shared corpus, saving after every step."""
    path = tmp_path / "demo.toml"
    path.write_text(
        f"""
        workers = 1
        memory = "2GiB"
        [data]
        sources = ["{shared / "corpus.jsonl"}"]
        tokenizer = "words"
        [learner]
        kind = "counting"
        [run]
        save_every = 0
        batch_tokens = {BATCH_TOKENS}
        """
    )
    return path


@pytest.fixture
def trained(plan: Path, shared: Path) -> Trained:
    return Trained(plan, shared)


@pytest.fixture(scope="session")
def expected(shared: Path) -> dict[str, int]:
    """How often each word occurs."""
    lines = (shared / "corpus.jsonl").read_text().splitlines()
    return dict(Counter(word for line in lines for word in json.loads(line)["text"].split()))
