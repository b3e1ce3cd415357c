"""The trainers of the seeds."""

import json
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_memory import rows

from headway.data.segment import segments
from headway.errors import DataError, PlanError, RunError
from headway.learners.patterns.memory import open_memory
from headway.tools import (
    HierarchicalConceptLearner,
    HierarchicalNode,
    train_from_streaming_dataset,
    train_from_streaming_dataset_parallel,
)
from plain_learner import PlainLearner

ARTICLE = (
    "First part\n\nwith a paragraph here\n# Heading one\n\nand another paragraph there\n\n2. second heading\n\nthe end"
)
BOOK = "Preface of it\nChapter 1\n\nonce upon a time there was\n\nChapter Two:\n\na very long story told"
TEXTS = [f"document {i} has some words. And more words {i % 3}!\n\nIts second paragraph is {i % 2}." for i in range(12)]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    def written(texts: list[str], name: str = "samples.jsonl") -> str:
        (tmp_path / name).write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        return name

    return written


def learner_of(*widths: int, **more: Any) -> HierarchicalConceptLearner:
    nodes = [HierarchicalNode(f"node{i}", chunk_size=width) for i, width in enumerate(widths or (3, 2, 2))]
    return HierarchicalConceptLearner(nodes=nodes, verbose_init=False, **{"tokenizer_name": "bytes"} | more)


def train(key: str, learner: HierarchicalConceptLearner, most: int | None = None, **more: Any) -> dict[str, Any]:
    return train_from_streaming_dataset(key, most, learner, **{"verbose": False} | more)


def plain(texts: list[str], widths: tuple[int, ...] = (3, 2, 2), *, split: Any = "simple") -> list[list[Any]]:
    """What the plain learner makes of the same texts; the tokens of ASCII are its bytes."""
    from headway.data.tokenizers import load_tokenizer

    learner = PlainLearner(load_tokenizer("bytes", folder=Path()).symbols, widths=widths)
    for text in texts:
        learner.learn([list(piece.encode())[:2048] for piece in segments(text, split)])
    return learner.rows()


def test_a_call_learns_every_sample_and_says_so(write: Callable[..., str]) -> None:
    learner = learner_of()

    stats = train(write(TEXTS), learner, 100)

    expected = plain(TEXTS)
    assert rows(learner.memory) == expected
    assert stats["samples_processed"] == stats["samples_attempted"] == 12
    assert [stats[f"node{i}_patterns"] for i in range(3)] == [sum(f for _, f, _ in level) for level in expected]
    assert (stats["errors"], stats["num_workers"], stats["workers_used"]) == (0, 1, 1)
    assert stats["checkpoints_saved"] >= 1
    assert stats["rate_samples_per_sec"] == 12 / stats["total_time_seconds"]
    assert all(type(stats[name]) is float for name in ("total_time_seconds", "rate_samples_per_sec"))
    assert all(type(stats[name]) is int for name in stats if not name.startswith(("total", "rate")))


def test_short_samples_do_not_count(write: Callable[..., str]) -> None:
    learner = learner_of()

    stats = train(write(["   0123456789 \n", TEXTS[0], "", "short", TEXTS[1], TEXTS[2]]), learner, 2)

    assert stats["samples_processed"] == 2
    assert rows(learner.memory) == plain(TEXTS[:2])


def test_a_paragraph_is_cut_after_2048_tokens(write: Callable[..., str]) -> None:
    text = "".join(chr(97 + i % 26) for i in range(3000))
    learner = learner_of()

    train(write([text]), learner)

    assert rows(learner.memory) == plain([text])
    assert learner.memory.manifest.tokens == 2048


def test_calls_add_up(write: Callable[..., str]) -> None:
    key, learner = write(TEXTS), learner_of()

    train(key, learner)
    once = rows(learner.memory)
    train(key, learner)
    train_from_streaming_dataset_parallel(key, 5, learner, verbose=False)

    assert rows(learner.memory) == plain(TEXTS + TEXTS + TEXTS[:5])
    assert rows(learner.memory) != once
    assert learner.memory.verify().problems == []


def test_calls_with_fewer_levels_add_to_the_lower_nodes(write: Callable[..., str]) -> None:
    key, learner = write(TEXTS), learner_of()

    stats = train(key, learner, num_levels=2)
    train(key, learner, num_levels=3)

    twice, once = plain(TEXTS + TEXTS), plain(TEXTS)
    assert rows(learner.memory) == [*twice[:2], once[2]]
    assert stats["node2_patterns"] == 0
    assert learner.memory.verify().problems == []


def test_four_nodes_learn_unless_told_otherwise(write: Callable[..., str]) -> None:
    key, learner = write([TEXTS[0] * 20]), learner_of(3, 2, 2, 2, 2)

    stats = train(key, learner)

    assert stats["node3_patterns"] > 0
    assert stats["node4_patterns"] == 0


@pytest.mark.parametrize("levels", [1, 0, 4])
def test_levels_are_two_to_the_number_of_nodes(write: Callable[..., str], levels: int) -> None:
    with pytest.raises(
        PlanError, match=f"num_levels: 1 problem\n  - should be 2 to 3, the number of nodes, not {levels}"
    ):
        train(write(TEXTS), learner_of(), num_levels=levels)


def test_a_level_of_width_one_hands_the_empty_name_upward(write: Callable[..., str]) -> None:
    learner = learner_of(5, 1, 4)

    stats = train(write(TEXTS), learner)

    assert rows(learner.memory) == plain(TEXTS, (5, 1, 4))
    assert stats["node1_patterns"] == 0


@pytest.mark.parametrize(("method", "text"), [("article", ARTICLE), ("book", BOOK)])
def test_articles_and_books_lose_their_headings(write: Callable[..., str], method: Any, text: str) -> None:
    learner = learner_of()

    stats = train(write([text, TEXTS[0]]), learner, segment_method=method)

    assert stats["samples_processed"] == 2
    assert rows(learner.memory) == plain([text, TEXTS[0]], split=method)
    assert rows(learner.memory) != plain([text, TEXTS[0]])


def test_an_article_without_a_paragraph_is_an_error_and_counts_as_attempted(write: Callable[..., str]) -> None:
    bare = "tiny one\n\ntiny two\n\ntiny six"
    texts = [bare, TEXTS[0], bare, TEXTS[1], bare, TEXTS[2]]
    learner, simple = learner_of(), learner_of()

    stats = train(write(texts), learner, 5, segment_method="article")
    alike = train(write(texts), simple, 5)

    assert [stats[name] for name in ("samples_processed", "errors", "samples_attempted")] == [2, 3, 5]
    assert rows(learner.memory) == plain(TEXTS[:2])
    assert [alike[name] for name in ("samples_processed", "errors", "samples_attempted")] == [5, 0, 5]
    assert rows(simple.memory) == plain(TEXTS[:2])


def test_errors_alone_teach_nothing(write: Callable[..., str]) -> None:
    learner = learner_of()

    stats = train(write(["tiny one\n\ntiny two"]), learner, segment_method="book")

    assert [stats[name] for name in ("samples_processed", "errors", "node0_patterns")] == [0, 1, 0]
    with pytest.raises(RunError, match="has learned nothing yet"):
        _ = learner.memory


@pytest.mark.parametrize("method", ["simple", "article"])
def test_a_data_set_without_samples_is_an_error(write: Callable[..., str], method: Any) -> None:
    with pytest.raises(DataError, match="10 characters"):
        train(write(["short", "tiny"]), learner_of(), segment_method=method)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_workers_and_batch_size_change_nothing(write: Callable[..., str], workers: int) -> None:
    learner = learner_of(node0_batch_size=workers * 20)

    stats = train_from_streaming_dataset_parallel(
        write(TEXTS * 10), None, learner, num_workers=workers, checkpoint_interval=1, verbose=False
    )

    assert rows(learner.memory) == plain(TEXTS * 10)
    assert stats["workers_used"] == stats["num_workers"] == workers


def test_patterns_remember_the_samples_they_began(write: Callable[..., str]) -> None:
    learner = learner_of()
    train(write(TEXTS[:2], "first.jsonl"), learner)
    train(write([ARTICLE], "second.jsonl"), learner, segment_method="article")

    noted = [learner.memory.metadata(pattern) for pattern in learner.memory.patterns(1)]
    said = {(tuple(each["title"]), tuple(each["author"])) for each in noted if each}
    assert said == {(("first_sample_0", "first_sample_1"), ("Unknown",)), (("second_sample_0",), ("second",))}


def test_silence_is_complete_and_progress_is_shown(
    write: Callable[..., str], capfd: pytest.CaptureFixture[str]
) -> None:
    key, learner = write(TEXTS), learner_of()

    train(key, learner)
    assert capfd.readouterr() == ("", "")

    train(key, learner, verbose=True)
    shown = capfd.readouterr()
    assert "training samples-" in shown.out
    assert "12 samples, 0 errors" in shown.out
    assert shown.err == ""


def test_a_shorter_checkpoint_interval_saves_more_often(write: Callable[..., str]) -> None:
    key = write(TEXTS * 10)

    often, seldom = (train(key, learner_of(), checkpoint_interval=n)["checkpoints_saved"] for n in (1, 10_000))

    assert often > seldom


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"max_samples": 0}, "max_samples: should be 1 or more, or None for all, not 0"),
        ({"segment_method": "poem"}, "segment_method: there is 'simple', 'article' and 'book', not 'poem'"),
        ({"tokenizer_name": "gpt2"}, "tokenizer_name: the learner's is 'bytes'"),
        ({"num_workers": 0}, "num_workers: should be 1 or more, not 0"),
        ({"checkpoint_interval": 0}, "checkpoint_interval: should be 1 or more"),
        ({"profiler": object()}, "profiler: cannot be used yet"),
        ({"max_samples": 2.5}, r"max_samples: .*not 2\.5"),
        ({"max_samples": True}, "max_samples: .*not True"),
        ({"num_workers": "2"}, "num_workers: should be 1 or more, not '2'"),
        ({"checkpoint_interval": "x"}, "checkpoint_interval: should be 1 or more, not 'x'"),
        ({"num_levels": "2"}, "should be 2 to 3, the number of nodes, not '2'"),
    ],
)
def test_arguments_that_cannot_be_are_named(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        train_from_streaming_dataset_parallel(
            **{"dataset_key": "x", "max_samples": 1, "learner": learner_of()} | arguments
        )


def test_a_folder_of_another_tokenizer_is_refused_before_anything_is_trained(
    write: Callable[..., str], tmp_path: Path
) -> None:
    key = write(TEXTS)
    train(key, learner_of(folder=tmp_path / "home"))
    runs = set((tmp_path / "home" / "runs").iterdir())

    with pytest.raises(RunError, match="tokenizer 'bytes', not 'words'"):
        train(key, learner_of(folder=tmp_path / "home", tokenizer_name="words"))

    assert set((tmp_path / "home" / "runs").iterdir()) == runs


@pytest.mark.parametrize(("mine", "given"), [("bytes", "bytes"), ("openai-community/gpt2", "openai-community/gpt2")])
def test_the_learners_own_tokenizer_may_be_named(write: Callable[..., str], mine: str, given: str) -> None:
    assert train(write(TEXTS), learner_of(tokenizer_name=mine), tokenizer_name=given)["samples_processed"] == 12


# Continuing.

SCRIPT = """
import signal, os, sys
from headway.learners.patterns.learner import PatternLearner
from headway.learners.patterns import union
from headway.tools import *

place, steps = sys.argv[1], int(sys.argv[2])
step, write = PatternLearner.step, union.Manifest.write
left = [steps]

def slow(self, batch):
    left[0] -= 1
    if left[0] == 0 and place == "step":
        os.kill(os.getpid(), signal.SIGKILL)
    if left[0] == 0 and place == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
    if left[0] == 0 and place == "terminate":
        os.kill(os.getpid(), signal.SIGTERM)
    return step(self, batch)

def add(*given, **named):
    if place == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    merge(*given, **named)
    if place == "after":
        os.kill(os.getpid(), signal.SIGKILL)

merge = union.merge_into
PatternLearner.step, union.merge_into = slow, add
nodes = [HierarchicalNode(f"node{i}", chunk_size=c) for i, c in enumerate((3, 2, 2))]
learner = HierarchicalConceptLearner(nodes=nodes, tokenizer_name="bytes", folder="kept", verbose_init=False)
stats = train_from_streaming_dataset(
    "samples.jsonl", None, learner, checkpoint_interval=1, checkpoint_dir=sys.argv[3],
    resume_from_checkpoint=True, verbose=False,
)
print(stats["samples_processed"], stats["node0_patterns"])
"""


def call(place: str, steps: int = 0, folder: str = "checkpoints") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), place, str(steps), folder]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("place", ["step", "before", "after"])
def test_a_killed_call_continues_exactly_once(write: Callable[..., str], place: str, tmp_path: Path) -> None:
    write(TEXTS * 10)

    killed = call(place, 5)
    assert killed.returncode == -signal.SIGKILL
    continued = call("nowhere")

    expected = plain(TEXTS * 10)
    learns = sum(frequency for _, frequency, _ in expected[0])
    assert continued.stdout.split() == ["120", str(learns)], continued.stderr
    assert rows(open_memory(tmp_path / "kept")) == expected
    assert call("nowhere").stdout == continued.stdout
    assert rows(open_memory(tmp_path / "kept")) == expected


@pytest.mark.parametrize(("place", "code"), [("interrupt", -signal.SIGINT), ("terminate", 128 + signal.SIGTERM)])
def test_an_interrupted_call_says_how_to_continue(
    write: Callable[..., str], place: str, code: int, tmp_path: Path
) -> None:
    write(TEXTS * 10)

    stopped = call(place, 3)

    assert stopped.returncode == code
    assert not (tmp_path / "kept" / "memory").exists()
    if place == "interrupt":
        assert "repeat the call with resume_from_checkpoint=True to continue" in stopped.stderr
    assert call("nowhere").returncode == 0
    assert rows(open_memory(tmp_path / "kept")) == plain(TEXTS * 10)


def test_without_resume_a_call_begins_anew(write: Callable[..., str], tmp_path: Path) -> None:
    key, learner = write(TEXTS), learner_of()
    where = {"checkpoint_dir": tmp_path / "c"}

    train(key, learner, **where)
    train(key, learner, resume_from_checkpoint=True, **where)
    assert rows(learner.memory) == plain(TEXTS)

    train(key, learner, **where)
    assert rows(learner.memory) == plain(TEXTS * 2)


def test_a_finished_call_is_added_to_another_learner_too(write: Callable[..., str], tmp_path: Path) -> None:
    key, first, second = write(TEXTS), learner_of(), learner_of()
    where = {"checkpoint_dir": tmp_path / "c"}

    train(key, first, **where)
    stats = train(key, second, resume_from_checkpoint=True, **where)

    assert rows(second.memory) == rows(first.memory)
    assert stats["samples_processed"] == 12


def test_other_arguments_do_not_continue_a_call(write: Callable[..., str], tmp_path: Path) -> None:
    key, learner = write(TEXTS), learner_of()
    train(key, learner, 5, checkpoint_dir=tmp_path / "c")

    with pytest.raises(PlanError, match=r"was begun with other arguments(.|\n)*data\.documents: 5 .*, 6 now"):
        train(key, learner, 6, checkpoint_dir=tmp_path / "c", resume_from_checkpoint=True)
    assert rows(learner.memory) == plain(TEXTS[:5])


def test_nothing_to_resume_is_a_beginning(write: Callable[..., str]) -> None:
    learner = learner_of()

    train(write(TEXTS), learner, resume_from_checkpoint=True)

    assert rows(learner.memory) == plain(TEXTS)
