"""Nodes and learners of the seeds."""

import gc
import warnings
from pathlib import Path
from typing import Any

import pytest
from made_memory import rows, trained

from headway.errors import PlanError, RunError
from headway.learners.patterns.memory import open_memory
from headway.tools import HierarchicalConceptLearner, HierarchicalNode, train_from_streaming_dataset

TEXTS = ["one two three four five six", "one two three seven eight nine"]


def nodes(*sizes: int) -> list[HierarchicalNode]:
    return [HierarchicalNode(f"node{i}", chunk_size=size) for i, size in enumerate(sizes)]


def quiet(**given: Any) -> HierarchicalConceptLearner:
    return HierarchicalConceptLearner(verbose_init=False, **given)


def test_without_nodes_there_are_four_alike() -> None:
    learner = quiet(segmentation_mode="sentences", min_sentence_tokens=5)

    assert list(learner.nodes) == ["node0", "node1", "node2", "node3"]
    assert {(n.chunk_size, n.mode, n.min_sentence_tokens) for n in learner.nodes.values()} == {(15, "sentences", 5)}
    assert [node.chunk_size for node in quiet(num_nodes=2, chunk_size=7).nodes.values()] == [7, 7]


def test_the_first_node_decides_how_texts_are_cut() -> None:
    first = HierarchicalNode("node0", mode="sentences", chunk_size=5, min_sentence_tokens=1)
    section = quiet(nodes=[first, *nodes(9, 7, 4)[1:]]).section(2)

    assert (section.widths, section.mode, section.min_sentence_tokens) == ((5, 7), "sentences", 2)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"mode": "words"}, "mode: there is 'chunking' and 'sentences', not 'words'"),
        ({"chunk_size": 0}, "chunk_size: should be 1 or more, not 0"),
        ({"chunk_size": True}, "chunk_size: should be 1 or more, not True"),
        ({"chunk_size": 2.5}, "chunk_size: should be 1 or more, not 2.5"),
        ({"min_sentence_tokens": 0}, "min_sentence_tokens: should be 1 or more"),
        ({"max_pattern_length": 3}, "max_pattern_length: chunks decide"),
        ({"stm_mode": "ROLLING"}, "stm_mode: nothing stays in short-term memory"),
    ],
)
def test_a_node_that_cannot_be_trained_says_why(given: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError, match=rf"HierarchicalNode\('node0'\): 1 problem\n  - {said}"):
        HierarchicalNode("node0", **given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"nodes": nodes(5)}, "a hierarchy has 2 nodes or more, not 1"),
        ({"num_nodes": 1}, "a hierarchy has 2 nodes or more, not 1"),
        ({"nodes": []}, "not 0"),
        ({"nodes": nodes(5, 6)[::-1]}, "should be called node0, node1 in this order, not node1, node0"),
        ({"node0_batch_size": 0}, "node0_batch_size: should be 1 or more, not 0"),
        ({"tokenizer_name": "gtp2"}, "tokenizer_name: .*gtp2"),
        ({"tokenizer_name": "words:("}, "tokenizer_name: "),
        ({"folder": __file__}, "folder: .* is a file; name a folder"),
    ],
)
def test_a_learner_that_cannot_be_says_why(given: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        quiet(**given)


def test_a_service_is_not_asked_and_that_is_said() -> None:
    with pytest.warns(UserWarning, match="base_url is not used: patterns are kept in a local memory at "):
        quiet(base_url="http://kato:8000")
    with pytest.warns(UserWarning, match="base_url is not used"):
        quiet(nodes=[HierarchicalNode("node0", "http://kato:8000"), *nodes(5, 5)[1:]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet()


def test_a_new_learner_says_where_its_memory_lies_unless_told_not_to(capsys: pytest.CaptureFixture[str]) -> None:
    quiet()
    assert capsys.readouterr().out == ""

    learner = HierarchicalConceptLearner(nodes=nodes(5, 7))
    assert capsys.readouterr().out == (
        f"HierarchicalConceptLearner(gpt2, chunk sizes 5, 7): its memory lies in {learner.folder}\n"
    )


def test_gpt2_has_two_names() -> None:
    assert quiet(tokenizer_name="openai-community/gpt2").tokenizer_name == "gpt2"


def test_a_temporary_folder_lives_as_long_as_its_learner() -> None:
    learner = quiet()
    folder = learner.folder
    assert folder.is_dir()

    del learner
    gc.collect()

    assert not folder.exists()


def test_before_any_training_there_is_no_memory() -> None:
    with pytest.raises(RunError, match="has learned nothing yet; train it first"):
        _ = quiet().memory


def test_a_named_folder_is_found_again(tmp_path: Path) -> None:
    (tmp_path / "texts.jsonl").write_text("".join(f'{{"text": "{text}"}}\n' for text in TEXTS))
    for times in (1, 2):
        learner = quiet(nodes=nodes(3, 2), tokenizer_name="bytes", folder=tmp_path / "kept")
        train_from_streaming_dataset(str(tmp_path / "texts.jsonl"), None, learner, verbose=False)

        assert sum(pattern.frequency for pattern in learner.memory.patterns(0)) == 19 * times
        assert learner.memory is learner.memory
        learner.close()
        learner.close()

    expected = trained(tmp_path / "plan", TEXTS * 2)
    assert rows(open_memory(tmp_path / "kept")) == rows(open_memory(expected))


def test_a_folder_of_other_nodes_is_refused_before_they_are_trained(tmp_path: Path) -> None:
    (tmp_path / "texts.jsonl").write_text("".join(f'{{"text": "{text}"}}\n' for text in TEXTS))
    for sizes in ((3, 2), (3, 4)):
        learner = quiet(nodes=nodes(*sizes), tokenizer_name="bytes", folder=tmp_path / "kept")
        if sizes == (3, 2):
            train_from_streaming_dataset(str(tmp_path / "texts.jsonl"), None, learner, verbose=False)
        else:
            with pytest.raises(RunError, match=r"chunk sizes \(3, 2\), not \(3, 4\)"):
                train_from_streaming_dataset(str(tmp_path / "texts.jsonl"), None, learner, verbose=False)
