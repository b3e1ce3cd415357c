import json

import numpy as np
import pytest
from made_dataset import made, of_lengths

from headway.data.dataset import open_dataset
from headway.data.npy import HEADER_BYTES, NpyWriter, map_numbers, read_range
from headway.errors import DataError

THREE_SHARDS = [
    [[[1, 2], [3]], [[4, 5, 6]]],
    [[]],
    [[[7]], [], [[8, 9], [10], [11, 12]]],
]


def test_every_file_is_a_plain_npy_file(tmp_path):
    dataset = made(tmp_path / "d", THREE_SHARDS)

    assert np.load(dataset.folder / "shards" / "00000.tokens.npy").tolist() == [1, 2, 3, 4, 5, 6]
    assert np.load(dataset.folder / "shards" / "00000.documents.npy").tolist() == [0, 3, 6]
    assert np.load(dataset.folder / "shards" / "00000.segments.npy").tolist() == [0, 2, 3, 6]


def test_a_dataset_says_what_it_holds(tmp_path):
    with made(tmp_path / "d", THREE_SHARDS) as dataset:
        assert (dataset.documents, dataset.tokens, dataset.dtype) == (6, 12, np.uint16)
        assert (dataset.key, dataset.split, dataset.skipped) == ("k", "simple", {})
        assert dataset.tokenizer["name"] == "words"
        assert dataset.document_lengths().tolist() == [3, 3, 0, 1, 0, 5]
        assert dataset.vocabulary.symbols == ["a", "b", "c"]


@pytest.mark.parametrize("start", range(7))
@pytest.mark.parametrize("stop", range(7))
def test_a_run_of_documents_reads_the_same_whatever_shards_it_crosses(tmp_path, start, stop):
    dataset = made(tmp_path / "d", THREE_SHARDS)
    documents = [document for shard in THREE_SHARDS for document in shard][start:stop]

    rows = dataset.read(slice(start, stop))

    assert rows.ids.tolist() == [token for document in documents for segment in document for token in segment]
    assert np.diff(rows.starts).tolist() == [sum(map(len, document)) for document in documents]
    assert rows.breaks is not None
    assert np.diff(rows.breaks).tolist() == [len(segment) for document in documents for segment in document]


@pytest.mark.parametrize("wanted", [[], [5], [3, 0], [5, 2, 0, 4, 1, 3], [1, 1, 5, 1], [2, 4]])
def test_scattered_documents_come_in_the_order_asked_for(tmp_path, wanted):
    dataset = made(tmp_path / "d", THREE_SHARDS)
    everything = [document for shard in THREE_SHARDS for document in shard]
    documents = [everything[number] for number in wanted]

    rows = dataset.read(np.array(wanted, dtype=np.int64))

    assert rows.ids.tolist() == [token for document in documents for segment in document for token in segment]
    assert np.diff(rows.starts).tolist() == [sum(map(len, document)) for document in documents]
    assert rows.breaks is not None
    assert np.diff(rows.breaks).tolist() == [len(segment) for document in documents for segment in document]


def test_unsplit_documents_have_no_breaks(tmp_path):
    dataset = of_lengths(tmp_path / "d", [2, 3])

    assert dataset.read(slice(0, 2)).breaks is None
    assert dataset.read(np.array([1])).breaks is None


def test_a_document_that_is_not_there_is_not_read(tmp_path):
    dataset = of_lengths(tmp_path / "d", [2, 3])

    with pytest.raises(IndexError, match="asked of 2"):
        dataset.read(np.array([2]))
    with pytest.raises(IndexError, match="step"):
        dataset.read(slice(0, 2, 2))


def test_reading_after_close_reads_again(tmp_path):
    dataset = of_lengths(tmp_path / "d", [2, 3])
    dataset.read(slice(0, 1))
    dataset.close()

    assert dataset.read(slice(1, 2)).ids.tolist() == [2, 3, 4]


def test_a_truncated_shard_is_named(tmp_path):
    dataset = of_lengths(tmp_path / "d", [5, 5])
    path = dataset.folder / "shards" / "00000.tokens.npy"
    path.write_bytes(path.read_bytes()[:-1])

    with pytest.raises(DataError, match=r"00000\.tokens\.npy has 147 bytes instead of 148.*headway data build"):
        open_dataset(dataset.folder, verify=False)


def test_a_missing_shard_is_named(tmp_path):
    dataset = of_lengths(tmp_path / "d", [5, 5])
    path = dataset.folder / "shards" / "00000.documents.npy"
    path.unlink()

    with pytest.raises(DataError, match=r"00000\.documents\.npy is missing"):
        open_dataset(dataset.folder)
    with pytest.raises(DataError, match="missing"):
        read_range(path, np.int64, 0, 1)
    with pytest.raises(DataError, match="cannot read"):
        map_numbers(path, np.int64, 1)


@pytest.mark.parametrize("kind", ["tokens", "documents", "segments"])
def test_a_flipped_byte_is_found_and_named(tmp_path, kind):
    dataset = made(tmp_path / "d", THREE_SHARDS)
    path = dataset.folder / "shards" / f"00002.{kind}.npy"
    content = bytearray(path.read_bytes())
    content[HEADER_BYTES] ^= 1
    path.write_bytes(content)

    with pytest.raises(DataError, match=rf"00002\.{kind}\.npy has other content"):
        open_dataset(dataset.folder)


def test_a_flipped_byte_in_a_header_is_found_without_verifying(tmp_path):
    dataset = of_lengths(tmp_path / "d", [5])
    path = dataset.folder / "shards" / "00000.tokens.npy"
    path.write_bytes(path.read_bytes().replace(b"(5,)", b"(6,)"))

    with pytest.raises(DataError, match="header"):
        open_dataset(dataset.folder, verify=False)


def test_offsets_that_run_backwards_are_refused(tmp_path):
    dataset = of_lengths(tmp_path / "d", [2, 3])
    path = dataset.folder / "shards" / "00000.documents.npy"
    with NpyWriter(path, np.int64) as writer:
        writer.append(np.array([0, 7, 5]))
    manifest = dataset.folder / "manifest.json"
    value = json.loads(manifest.read_bytes())
    value["shards"][0]["checksums"]["documents"] = writer.checksum
    manifest.write_text(json.dumps(value))

    with pytest.raises(DataError, match="does not lead from 0 to 5"):
        open_dataset(dataset.folder)


def test_a_vocabulary_that_changed_or_went_is_refused(tmp_path):
    dataset = of_lengths(tmp_path / "d", [2])
    path = dataset.folder / "vocabulary.json"
    path.write_text("{}")
    with pytest.raises(DataError, match="other content"):
        open_dataset(dataset.folder)
    path.unlink()
    with pytest.raises(DataError, match="missing"):
        open_dataset(dataset.folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "not the manifest"),
        ({"version": 99}, "has version 99"),
        ({"documents": 7}, "says 7 documents but its shards hold 1"),
        ({"dtype": "float64"}, "float64"),
        ({"surprise": 1}, "damaged"),
        ({"shards": [{}]}, "damaged"),
    ],
)
def test_a_manifest_that_is_not_ours_is_refused(tmp_path, change, message):
    folder = of_lengths(tmp_path / "d", [2]).folder
    value = json.loads((folder / "manifest.json").read_bytes())
    (folder / "manifest.json").write_text(json.dumps(value | change))

    with pytest.raises(DataError, match=message):
        open_dataset(folder)


def test_a_folder_that_is_no_dataset_is_refused(tmp_path):
    with pytest.raises(DataError, match="no dataset at"):
        open_dataset(tmp_path / "nothing")
    with pytest.raises(DataError, match=r"no manifest\.json"):
        open_dataset(tmp_path)


def test_a_file_that_shrinks_while_it_is_open_is_an_error(tmp_path):
    dataset = of_lengths(tmp_path / "d", [5, 5])
    path = dataset.folder / "shards" / "00000.tokens.npy"
    path.write_bytes(path.read_bytes()[:-4])

    with pytest.raises(DataError, match="ends 4 bytes early"):
        dataset.read(slice(0, 2))
