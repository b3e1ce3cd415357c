"""Windows of texts for programs with networks of their own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from made_poems import DIMENSIONS, WORDS, poem, write_poems, write_vectors

from headway.data import verse
from headway.errors import DataError, PlanError, RunError
from headway.learners.autoencoder.corpus import Corpus
from headway.tools import (
    AutoencoderDataset,
    PoemAwareSampler,
    PoetryTokenizer,
    RNNAutoencoder,
    SequenceGenerator,
    create_optimized_dataloader,
    load_dataset,
    quick_preprocess,
)

TEXT = "The sea,\nthe sea!\n\nGone \u2764\ufe0f"


@pytest.fixture
def poems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    torch.set_num_threads(1)
    write_vectors(tmp_path / "glove.8d.txt")
    return write_poems(tmp_path / "poems.json")


def test_tokens_are_those_of_verse_and_come_back_as_text() -> None:
    tokenizer = PoetryTokenizer().build_vocabulary([TEXT])

    symbols = [
        "<POEM_START>",
        "The",
        "sea",
        ",",
        "<LINE_BREAK>",
        "the",
        "sea",
        "!",
        "<STANZA_BREAK>",
        "Gone",
        "<HEART>",
    ]
    assert tokenizer.tokenize(TEXT) == [*symbols, "<POEM_END>"]
    assert [tokenizer.vocabulary.symbols[each] for each in tokenizer.encode(TEXT)] == tokenizer.tokenize(TEXT)
    assert tokenizer.decode(tokenizer.encode("The sea,\nthe sea!")) == "The sea,\nthe sea!"


def test_words_that_were_not_met_are_unknown_and_marks_keep_their_ids() -> None:
    tokenizer = PoetryTokenizer().build_vocabulary(["b a", "c"])

    assert tokenizer.encode("a x")[1:-1] == [len(verse.SPECIALS), tokenizer.unk_token_id]
    assert (tokenizer.pad_token_id, tokenizer.unk_token_id, tokenizer.vocab_size) == (0, 1, len(verse.SPECIALS) + 3)
    assert tokenizer.vocabulary == PoetryTokenizer().build_vocabulary(["c b a"]).vocabulary
    with pytest.raises(RunError, match="knows no words yet"):
        PoetryTokenizer().encode("a")


def test_every_token_is_owned_by_one_window() -> None:
    texts = [poem(seed) for seed in range(5)]
    tokenizer = PoetryTokenizer().build_vocabulary([*texts, "more"])
    generator = SequenceGenerator(tokenizer, max_length=12, overlap=3)
    found = generator.generate(texts)

    assert found.counted.tolist() == [number for text in texts for number in tokenizer.encode(text)]
    assert found.lengths.max() == 12 and found.tokens > len(found.counted)
    assert generator.cut_off == {"texts": 0, "tokens": 0}


def test_windows_end_where_lines_do_if_they_are_asked_to() -> None:
    generator = SequenceGenerator(max_length=14, overlap=0, chunking_method="line")
    found = generator.generate([poem(1)])

    breaks = generator.tokenizer.vocabulary.index["<LINE_BREAK>"]
    assert [int(found.ids[end - 1]) for end in found.starts[1:-1]] == [breaks] * (len(found) - 1)


def test_what_truncating_cuts_off_is_counted() -> None:
    generator = SequenceGenerator(max_length=10, chunking_method="truncate")
    found = generator.generate([poem(1), "a b"])

    assert found.lengths.tolist() == [10, 4]
    assert generator.cut_off == {"texts": 1, "tokens": 6 * 5 + 5 + 2 - 10}
    assert len(SequenceGenerator().generate([])) == 0
    with pytest.raises(PlanError, match=r"chunking_method: learner\.window\.ends: should be"):
        SequenceGenerator(chunking_method="blocks")


def test_a_data_set_holds_the_windows_of_its_side_with_their_vectors(poems: Path) -> None:
    sides = {side: load_dataset(poems, side, {"max_length": 12}) for side in ("train", "valid", "test")}
    train = sides["train"]
    assert train.vocabulary is not None

    seen = [set(each.corpus.documents.tolist()) for each in sides.values()]
    assert [len(each) for each in seen] == [19, 4, 1] and len(set().union(*seen)) == 24
    assert (train.dimensions, len(train.lengths), len(train.documents)) == (DIMENSIONS, len(train), len(train))
    item = train[-1]
    assert torch.equal(item["input_sequences"], item["target_sequences"])
    assert len(item["token_ids"]) == train.lengths[-1] == len(item["owned"])
    rows = np.loadtxt("glove.8d.txt", usecols=range(1, DIMENSIONS + 1), dtype=np.float32)
    known = {word: rows[number] for number, word in enumerate(WORDS)}
    words = [train.vocabulary.symbols[number] for number in item["token_ids"].tolist()]
    for word, vector in zip(words, item["input_sequences"].numpy(), strict=True):
        assert word in verse.SPECIALS or np.array_equal(vector, known[word])
    with pytest.raises(PlanError, match="side: should be one of train, valid, test, not 'all'"):
        load_dataset(poems, "all")


def test_batches_are_padded_for_the_networks_of_the_seeds(poems: Path) -> None:
    data = load_dataset(poems, data={"max_length": 12})
    batches = list(create_optimized_dataloader(data, batch_size=8, collate_fn=data.collate))

    assert sum(int(batch["attention_mask"].sum()) for batch in batches) == data.corpus.tokens
    assert sum(int(batch["owned"].sum()) for batch in batches) == len(data.corpus.counted)
    for batch in batches:
        assert torch.equal(batch["attention_mask"].sum(dim=1), batch["lengths"])
        assert not batch["input_sequences"][~batch["attention_mask"]].any()
        assert not batch["token_ids"][~batch["attention_mask"]].any()
    found = RNNAutoencoder({"input_size": DIMENSIONS, "hidden_size": 8, "bottleneck_dim": 4})(batches[0])
    assert found["reconstructed"].shape == batches[0]["input_sequences"].shape
    limited = [row for rows in PoemAwareSampler(data, 1, 4) for row in rows]
    assert len(limited) == len(set(data.documents[limited])) == 19


def test_ids_without_a_vector_are_an_error() -> None:
    corpus = Corpus(np.array([0, 3]), np.array([0, 2]), np.ones(2, bool), np.zeros(1, np.int64))
    with pytest.raises(DataError, match="ids from 0 to 3, the table 2 vectors"):
        AutoencoderDataset(corpus, np.zeros((2, 4), np.float32))


def test_what_there_is_to_learn_is_counted(poems: Path) -> None:
    found = quick_preprocess(poems, {"max_length": 12})
    again: dict[str, Any] = quick_preprocess(str(poems), {"max_length": 12, "chunking": "pad"})

    tokens = 24 * (6 * 5 + 5 + 2)
    assert (found["documents"], found["tokens"], found["coverage"], found["cut_off"]) == (24, tokens, 1.0, None)
    assert (found["format"], found["vectors"], found["skipped"]) == ("json", "glove.8d.txt", {})
    assert found["types"] == len(WORDS) + len(verse.SPECIALS)
    assert found["words_by_lookup"]["exact"]["types"] == len(WORDS)
    assert again["windows"] == {"train": 19, "valid": 4, "test": 1}
    assert again["cut_off"] == {"texts": 24, "tokens": tokens - 24 * 12}
    assert Path(found["dataset"]).parent == Path("results/datasets")
    with pytest.warns(RuntimeWarning, match="the vectors are made up"):
        assert quick_preprocess(poems, {"embeddings": "random"})["words_by_lookup"] is None
