"""Killed anywhere, again and again, a training ends in the bytes of one that was left alone."""

import subprocess
import sys
from pathlib import Path

import headway
import torture
from conftest import write_corpus
from headway.data.dataset import open_dataset
from headway.feed.feed import Feed
from headway.feed.layouts import Whole
from headway.learners.base import Setup
from headway.learners.patterns.config import Section
from headway.learners.patterns.learner import PatternLearner
from headway.plan.values import Place, Position


def test_a_training_that_is_killed_fifteen_times_ends_in_the_bytes_of_an_undisturbed_one(tmp_path: Path) -> None:
    torture.write_corpus(tmp_path, copies=3, files=4)

    tally = torture.Torture(tmp_path, seed=5, workers=2, tokenizers={"words": "words"}).run(15)

    # The comparison is in there; what follows says that the kills were worth it, whatever their luck.
    assert tally.kills >= 15
    assert any(steps > 0 for steps in tally.advanced)
    started = {"before the dataset build", "start, before the run's record", "start of the workers"}
    assert tally.phases.keys() - started
    assert tally.left == 0


def test_a_memory_that_was_begun_and_holds_nothing_yet_is_whole(tmp_path: Path) -> None:
    """What a kill between the first step and the first save leaves."""
    write_corpus(tmp_path / "corpus.jsonl")
    result = headway.train(
        _plan(tmp_path), runs_dir=tmp_path / "runs", datasets_dir=tmp_path / "datasets", listeners=()
    )
    feed = Feed(Whole(open_dataset(Path(str(result.dataset))), 1024))
    head = _learner(feed, tmp_path / "begun")
    assert head.restore(tmp_path / "begun") is None
    head.step(feed.at(Position.START))
    head.close()

    with headway.open_memory(tmp_path / "begun") as memory:
        assert memory.verify().problems == []
        assert len(memory) == memory.stats()["documents"] == 0
        memory.compact()
        assert list(memory) == memory.top(3) == []


def test_a_worker_that_outlives_its_run_cannot_spoil_the_next_session(tmp_path: Path) -> None:
    """Its parent was killed and it was stuck (a hanging disk, a stopped process); then it goes on writing."""
    write_corpus(tmp_path / "corpus.jsonl")
    result = headway.train(
        _plan(tmp_path), runs_dir=tmp_path / "runs", datasets_dir=tmp_path / "datasets", listeners=()
    )
    expected = _patterns(result.folder)
    feed = Feed(Whole(open_dataset(Path(str(result.dataset))), 1024))
    folder = tmp_path / "again"
    program = [sys.executable, "-c", _STUCK, str(feed.dataset.folder), str(folder)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as stuck:
        assert stuck.stdin is not None
        assert stuck.stdout is not None
        assert stuck.stdout.readline() == "learned\n"
        head = _learner(feed, folder)
        assert head.restore(folder) is None
        for number, (batch, after) in enumerate(feed.batches(Position.START)):
            head.step(batch)
            head.save(folder, after)
            if number == 1:
                # The same first batch, and more: other content under what would be the same name.
                stuck.communicate("go on\n", timeout=300)
        head.close()

    with headway.open_memory(folder) as memory:
        memory.repair()
        assert memory.verify().problems == []
    assert _patterns(folder) == expected


_STUCK = """
import sys
from pathlib import Path
from headway.data.dataset import open_dataset
from headway.feed.feed import Feed
from headway.feed.layouts import Whole
from headway.learners.base import Setup
from headway.learners.patterns.config import Section
from headway.learners.patterns.learner import PatternLearner
from headway.plan.values import Place, Position

feed = Feed(Whole(open_dataset(Path(sys.argv[1])), 1024))
section, folder = Section(widths=(3, 2)), Path(sys.argv[2])
learner = PatternLearner(
    Setup(section=section, dataset=feed.dataset, folder=folder, place=Place(1, 3), memory=1 << 26)
)
for number in range(3):
    learner.step(feed.at(Position(0, number)))
print("learned", flush=True)
sys.stdin.readline()
learner.flush()
"""


def _plan(folder: Path) -> Path:
    (folder / "plan.toml").write_text(
        'workers = 1\nmemory = "3GiB"\n[data]\nsources = ["corpus.jsonl"]\ntokenizer = "words"\n'
        '[learner]\nkind = "patterns"\nwidths = [3, 2]\n[run]\nbatch_tokens = 1024\n'
    )
    return folder / "plan.toml"


def _learner(feed: Feed, folder: Path) -> PatternLearner:
    section = Section(widths=(3, 2))
    return PatternLearner(Setup(section=section, dataset=feed.dataset, folder=folder, place=Place(), memory=1 << 26))


def _patterns(folder: Path) -> list[tuple[str, int]]:
    with headway.open_memory(folder) as memory:
        return sorted((pattern.name, pattern.frequency) for pattern in memory)
