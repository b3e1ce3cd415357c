"""Which files a plan's sources name, what is known of them, and how they are cut."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from headway.data.address import Address, parse_address
from headway.data.config import DataSection
from headway.data.digests import SETTLED_SECONDS, digests
from headway.data.sources import find_sources, search, split_sources
from headway.durable import checksum
from headway.errors import DataError


def touch(folder: Path, *names: str, content: str = "") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content or name)


def names(patterns: str | list[str], folder: Path) -> list[str]:
    return [source.name for source in find_sources(patterns, folder=folder)]


def test_a_folder_gives_every_known_file_at_any_depth_sorted_and_nothing_hidden(tmp_path: Path) -> None:
    touch(tmp_path, "c/b.txt", "c/a/z.jsonl.zst", "c/a/y.md", "c/.git/x.txt", "c/.hidden.txt", "c/picture.png")

    assert names("c", tmp_path) == ["c/a/y.md", "c/a/z.jsonl.zst", "c/b.txt"]


def test_sources_keep_the_order_of_the_plan_and_come_once(tmp_path: Path) -> None:
    touch(tmp_path, "b.txt", "a.txt", "c.txt")
    (tmp_path / "link.txt").symlink_to(tmp_path / "c.txt")

    assert names(["c.txt", "*.txt", "./a.txt", "link.txt"], tmp_path) == ["c.txt", "a.txt", "b.txt"]


def test_two_stars_go_to_any_depth_and_matched_folders_are_read(tmp_path: Path) -> None:
    touch(tmp_path, "x/1/a.json", "x/b.json", "x/2/deep/c.csv", "x/note.pdf")

    assert names("x/**/*.json", tmp_path) == ["x/1/a.json", "x/b.json"]
    assert names("x/*", tmp_path) == ["x/1/a.json", "x/2/deep/c.csv", "x/b.json"]


def test_a_file_whose_name_looks_like_a_glob_is_itself(tmp_path: Path) -> None:
    touch(tmp_path, "a[1].txt", "a1.txt")

    assert names("a[1].txt", tmp_path) == ["a[1].txt"]


@pytest.mark.parametrize(
    ("name", "format", "compression"),
    [
        ("a.jsonl", "jsonl", None),
        ("a.ndjson.gz", "jsonl", "gz"),
        ("a.json.zst", "json", "zst"),
        ("a.TXT", "text", None),
        ("a.md.gz", "text", "gz"),
        ("a.csv", "csv", None),
        ("a.tsv.zst", "tsv", "zst"),
        ("a.v2.parquet", "parquet", None),
    ],
)
def test_the_suffix_says_format_and_compression(
    tmp_path: Path, name: str, format: str, compression: str | None
) -> None:
    touch(tmp_path, name)

    [source] = find_sources(name, folder=tmp_path)

    assert (source.format, source.compression) == (format, compression)


def test_a_source_knows_size_and_digest_of_its_bytes(tmp_path: Path) -> None:
    touch(tmp_path, "a.txt", content="héllo")

    [source] = find_sources("a.txt", folder=tmp_path)

    assert source.bytes == 6
    assert source.digest == checksum(tmp_path / "a.txt")
    assert source.path == tmp_path / "a.txt"


def test_a_source_outside_the_folder_is_called_by_its_full_path(tmp_path: Path) -> None:
    touch(tmp_path, "plans/p.txt", "a.txt")

    [source] = find_sources(str(tmp_path / "a.txt"), folder=tmp_path / "plans")

    assert source.name == str(tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("corpsu.txt", "no file or folder .*corpsu.txt; did you mean corpus.txt"),
        ("nowhere/a.txt", "nor the folder .*nowhere"),
        ("*.csv", "no file matches .*csv"),
        ("empty", "holds no file of a known format"),
        ("picture.png", "picture.png has no suffix we know"),
        ("*.png", "matches picture.png but no file of a known format"),
        ("pipe.txt", "not an ordinary file"),
    ],
)
def test_a_pattern_that_names_nothing_usable_is_an_error(tmp_path: Path, pattern: str, message: str) -> None:
    touch(tmp_path, "corpus.txt", "picture.png", "empty/readme.pdf")
    os.mkfifo(tmp_path / "pipe.txt")

    with pytest.raises(DataError, match=message):
        find_sources(pattern, folder=tmp_path)


def test_every_pattern_that_names_nothing_is_told_at_once(tmp_path: Path) -> None:
    touch(tmp_path, "corpus.txt", "picture.png")

    with pytest.raises(DataError, match="2 sources cannot be used") as caught:
        find_sources(["nothing.txt", "corpus.txt", "picture.png"], folder=tmp_path)

    assert "nothing.txt" in str(caught.value)
    assert "picture.png has no suffix we know" in str(caught.value)


def test_what_is_of_no_known_format_is_passed_over_by_name(tmp_path: Path) -> None:
    touch(tmp_path, "a/one.txt", "a/two.pdf", "a/.hidden.pdf", "b/three.png", "b/four.txt")

    found = search(["a", "b/*", "a"], folder=tmp_path)

    assert found.notes == ("left out 2 files of no known format: a/two.pdf, b/three.png",)
    assert search("a/*.txt", folder=tmp_path).notes == ()
    assert search("b/*.*", folder=tmp_path).notes == ("left out 1 file of no known format: b/three.png",)


def test_an_unchanged_file_is_not_hashed_again_and_a_changed_one_is(tmp_path: Path) -> None:
    path, memo = tmp_path / "a.txt", tmp_path / "cache" / "digests.json"
    path.write_text("first")
    later = path.stat().st_mtime + SETTLED_SECONDS + 1
    [first] = digests([path], remembered=memo, clock=lambda: later)
    kept = json.loads(memo.read_text())
    kept[str(path)][3] = "remembered"
    memo.write_text(json.dumps(kept))

    [again] = digests([path], remembered=memo, clock=lambda: later)
    path.write_text("second")
    [changed] = digests([path], remembered=memo, clock=lambda: later)

    assert first.digest != changed.digest == checksum(path)
    assert again.digest == "remembered"


def test_a_file_just_written_is_not_remembered_because_its_time_may_not_move(tmp_path: Path) -> None:
    path, memo = tmp_path / "a.txt", tmp_path / "digests.json"
    path.write_text("first")

    digests([path], remembered=memo, clock=lambda: path.stat().st_mtime)

    assert not memo.exists()


@pytest.mark.parametrize("damage", ["{", "[1]", '{"PATH": "x"}'])
def test_a_damaged_memory_of_digests_costs_only_a_new_hash(tmp_path: Path, damage: str) -> None:
    path, memo = tmp_path / "a.txt", tmp_path / "digests.json"
    path.write_text("first")
    memo.write_text(damage.replace("PATH", str(path)))

    [content] = digests([path], remembered=memo)

    assert content.digest == checksum(path)


def test_a_file_that_grows_while_it_is_hashed_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("first")

    def grow() -> float:
        path.write_text("longer")
        return 0.0

    with pytest.raises(DataError, match="changed while it was read"):
        digests([path], clock=grow)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read .*gone\.txt"):
        digests([tmp_path / "gone.txt"])


def test_only_plain_json_lines_are_cut_by_bytes(tmp_path: Path) -> None:
    touch(tmp_path, "a.jsonl", "b.jsonl.gz", "c.csv", content="x" * 25)
    sources = find_sources(["a.jsonl", "b.jsonl.gz", "c.csv"], folder=tmp_path)

    parts = split_sources(sources, part_bytes=10)

    assert [(part.source.name, part.start, part.stop, part.bytes) for part in parts] == [
        ("a.jsonl", 0, 10, 10),
        ("a.jsonl", 10, 20, 10),
        ("a.jsonl", 20, 25, 5),
        ("b.jsonl.gz", 0, 25, 25),
        ("c.csv", 0, 25, 25),
    ]


def test_a_parquet_is_cut_between_row_groups(tmp_path: Path) -> None:
    table = pa.table({"text": [str(number).zfill(1000) for number in range(40)]})
    path = tmp_path / "a.parquet"
    parquet.write_table(
        table, path, row_group_size=10, compression="none", use_dictionary=False, column_encoding="PLAIN"
    )
    sources = find_sources("a.parquet", folder=tmp_path)

    fine = split_sources(sources, part_bytes=1)
    coarse = split_sources(sources, part_bytes=15_000)

    assert [(part.start, part.stop) for part in fine] == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert [(part.start, part.stop) for part in coarse] == [(0, 2), (2, 4)]
    assert sum(part.bytes or 0 for part in coarse) == sum(part.bytes or 0 for part in fine) > 40_000


def test_a_hub_data_set_is_one_part_of_unknown_size(tmp_path: Path) -> None:
    sources = find_sources("hf://owner/name?split=test", folder=tmp_path)

    [part] = split_sources(sources)

    assert (part.source.format, part.source.bytes, part.source.digest) == ("hub", None, None)
    assert part.bytes is None


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("hf://wikitext", Address("wikitext")),
        ("hf://owner/name", Address("owner/name")),
        ("hf://owner/name/config-v1?split=test", Address("owner/name", config="config-v1", split="test")),
        ("hf://wikitext?config=c&field=body&revision=r", Address("wikitext", config="c", field="body", revision="r")),
        ("hf:///data/my%20set?split=train[:10]", Address("/data/my set", split="train[:10]")),
    ],
)
def test_a_hub_address_is_read(text: str, address: Address) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hf://a/b?spilt=test", "did you mean split"),
        ("hf://a/b?x=1", "there are split, field"),
        ("hf://a/b?split=", "no value for split"),
        ("hf://a/b/c?config=d", "configuration twice"),
        ("hf://a//b", "is not a data set"),
        ("hf://", "is not a data set"),
        ("hf://a/b/c/d", "is not a data set"),
    ],
)
def test_a_wrong_hub_address_is_an_error_before_anything_is_fetched(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        find_sources(text, folder=tmp_path)


def test_a_blank_source_is_a_problem_of_the_section() -> None:
    section = DataSection(sources=("a.txt", " "))

    assert section.problems() == ["sources[1]: is blank; name a file, a folder, a glob or an hf:// data set"]
    assert DataSection(sources=("a.txt",)).problems() == []


def test_sources_can_be_compared_and_sent_to_workers(tmp_path: Path) -> None:
    import pickle

    touch(tmp_path, "a.jsonl")
    parts = split_sources(find_sources("a.jsonl", folder=tmp_path))

    assert pickle.loads(pickle.dumps(parts)) == parts
    assert replace(parts[0], start=1) != parts[0]
