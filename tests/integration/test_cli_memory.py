import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from headway.cli import summary
from headway.cli.main import main
from headway.learners.patterns.memory import open_memory

Output = pytest.CaptureFixture[str]
TEXTS = ["the cat sat on the mat", "the cat sat on the hat", "the cat sat on the mat the cat sat on the mat"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the pattern learner with widths 3 and 2 on three short documents."""
    folder = tmp_path_factory.mktemp("patterns")
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    (folder / "cats.toml").write_text(
        'workers = 1\nmemory = "2GiB"\n[data]\nsources = ["corpus.jsonl"]\ntokenizer = "words"\n'
        '[learner]\nkind = "patterns"\nwidths = [3, 2]\n'
    )
    folders = ["--runs-dir", str(folder / "runs"), "--datasets-dir", str(folder / "datasets")]
    assert main(["train", str(folder / "cats.toml"), *folders, "--quiet"]) == 0
    return folder / "runs" / "cats-001"


def memory(*arguments: str | Path) -> int:
    return main(["memory", *map(str, arguments)])


def test_the_summary_of_a_training_shows_the_memory(trained: Path, capsys: Output) -> None:
    folder = trained.parent.parent
    folders = ["--runs-dir", str(folder / "runs"), "--datasets-dir", str(folder / "datasets")]

    code = main(["train", str(folder / "cats.toml"), *folders, "--resume"])

    printed = capsys.readouterr().out
    assert code == 0
    for said in ("most frequent on level 0", "most frequent on level 1", "the cat", "bytes each", "headway memory top"):
        assert said in printed


def test_stats_count_patterns_of_every_level(trained: Path, capsys: Output) -> None:
    assert memory("stats", trained) == 0
    table = capsys.readouterr().out.splitlines()
    assert memory("stats", trained, "--json") == 0
    levels = json.loads(capsys.readouterr().out)["levels"]

    assert [(level["unique"], level["observed"]) for level in levels] == [(3, 8), (2, 4)]
    assert table[1].split()[:3] == ["0", "3", "8"]


def test_stats_tell_how_often_patterns_were_learned(trained: Path, capsys: Output) -> None:
    assert memory("stats", trained) == 0
    shown = capsys.readouterr().out
    assert memory("stats", trained, "--json") == 0
    told = json.loads(capsys.readouterr().out)

    assert re.split(r"\s{2,}", shown.splitlines()[4]) == [
        "level",
        "seen once",
        "mean",
        "median",
        "90 %",
        "99 %",
        "most",
    ]
    # 8 observations of 3 patterns; 4 of 2, the one 3 times and the other once.
    assert shown.splitlines()[6].split() == ["1", "50.0", "%", "2", "2", "3", "3", "3"]
    ranks = [[(each["first"], each["mean"]) for each in level["frequencies"]["ranks"]] for level in told["levels"]]
    assert ranks == [[(1, 4.0), (2, 2.0)], [(1, 3.0), (2, 1.0)]]
    assert told["levels"][0]["growth"] == [{"observed": 8, "unique": 3}]
    assert [top["frequency"] for top in told["levels"][1]["top"]] == [3, 1]
    assert told["sizes"]["raw_bytes"] == {"utf8": None, "tokens16": 48, "tokens32": 96}


def test_top_is_ordered_by_frequency_and_decoded(trained: Path, capsys: Output) -> None:
    assert memory("top", "-n", "1", trained) == 0
    printed = capsys.readouterr().out
    assert memory("top", "--level", "1", "--json", trained) == 0
    patterns = json.loads(capsys.readouterr().out)

    assert "“the cat sat on the mat”" in printed
    assert [(pattern["frequency"], pattern["text"]) for pattern in patterns] == [
        (3, "the cat sat on the mat"),
        (1, "the cat sat on the hat"),
    ]
    assert patterns[0]["length"] == 2


def test_the_names_that_top_shows_are_those_that_show_takes(trained: Path, capsys: Output) -> None:
    memory("top", "--level", "1", trained)
    names = re.findall(r"PTRN\|[0-9a-f]{40}", capsys.readouterr().out)

    assert len(names) == 2
    assert memory("show", names[0], trained) == 0
    assert "the cat sat on the mat" in capsys.readouterr().out


def test_a_pattern_is_shown_with_the_documents_that_began_with_it(
    trained: Path, tmp_path: Path, capsys: Output
) -> None:
    folders = ["--runs-dir", str(tmp_path), "--datasets-dir", str(trained.parent.parent / "datasets")]
    noting = ["--set", "learner.metadata=documents", "--set", "learner.source=cats"]
    assert main(["train", str(trained.parent.parent / "cats.toml"), *folders, *noting, "--quiet"]) == 0
    run = tmp_path / "cats-001"
    capsys.readouterr()
    memory("top", "--level", "1", "--json", run)
    first = json.loads(capsys.readouterr().out)[0]

    assert memory("show", first["name"], run) == 0
    text = capsys.readouterr().out.splitlines()
    assert first["metadata"]["title"] == ["cats_sample_0", "cats_sample_2"]
    assert text[-3:] == ["author     Unknown", "book_idx   1", "title      cats_sample_0, cats_sample_2"]


@pytest.mark.parametrize("columns", [40, 50, 60])
def test_a_narrow_terminal_costs_columns_and_texts_but_no_number(trained: Path, columns: int) -> None:
    with open_memory(trained) as opened:
        console = Console(file=io.StringIO(), width=columns)
        console.print(summary.levels_table(opened, console), summary.top_table(opened, 9, 1, names=True))
        shown = console.file.getvalue()
        names = [pattern.name for pattern in opened.top(9, 1)]

    lines = shown.splitlines()
    assert lines[0].split()[:4] == ["level", "patterns", "observed", "repeats"]
    assert not any("\u2026" in line and "\u201c" not in line for line in lines)
    assert all(name in "".join(shown.split()) for name in names)
    assert [line.split()[0] for line in lines if "\u201c" in line] == ["3", "1"]


def test_a_pattern_is_shown_by_its_name(trained: Path, capsys: Output) -> None:
    memory("top", "--level", "0", "--json", trained)
    first = json.loads(capsys.readouterr().out)[0]

    assert memory("show", first["name"], trained) == 0
    text = capsys.readouterr().out
    assert memory("show", first["name"].removeprefix("PTRN|"), trained, "--json") == 0
    assert json.loads(capsys.readouterr().out) == first
    assert first["name"] in text
    assert " ".join(first["symbols"]) in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "PTRN|" + "0" * 40], "there is no pattern"),
        (["show", "cat"], "not a pattern name"),
        (["top", "--level", "7"], "there is no level 7"),
        (["top", "--level", "-1"], "there is no level -1"),
        (["export", "--format", "csv", "--output", "-"], "name it, as in --output patterns.csv"),
    ],
)
def test_what_is_not_there_exits_2(trained: Path, capsys: Output, arguments: list[str], said: str) -> None:
    assert memory(*arguments, trained) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("number", ["0", "-1", "x"])
def test_at_least_one_pattern_is_shown(trained: Path, capsys: Output, number: str) -> None:
    assert memory("top", "-n", number, trained) == 2
    assert f"{number} should be 1 or more" in capsys.readouterr().err


def test_a_memory_is_found_by_the_name_of_its_run(
    trained: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trained.parent.parent)

    assert memory("stats", "cats-001") == 0
    assert memory("stats", "cats") == 2
    assert "did you mean cats-001?" in capsys.readouterr().err


def test_many_runs_of_a_level_are_worth_compacting(
    trained: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["train", str(trained.parent.parent / "cats.toml"), "--runs-dir", str(trained.parent), "--resume"]
    main(words)
    few = capsys.readouterr().out
    monkeypatch.setattr(summary, "_MANY_RUNS", 1)
    main(words)

    assert "memory compact" not in few
    assert f"  headway memory compact {trained}\n" in capsys.readouterr().out


def test_no_memory_exits_2(tmp_path: Path, capsys: Output) -> None:
    assert memory("stats", tmp_path / "nowhere") == 2
    assert "does not exist" in capsys.readouterr().err


def test_a_whole_memory_verifies(trained: Path, capsys: Output) -> None:
    assert memory("verify", trained) == 0
    assert memory("verify", trained, "--json") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"problems": []}


def test_a_damaged_memory_is_named_and_exits_2(trained: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    from headway.learners.patterns.memory import Memory

    class Report:
        problems = ("runs/x.arrow: checksum differs", "level 1 counts do not add up")

    monkeypatch.setattr(Memory, "verify", lambda self: Report())

    assert memory("verify", trained, "--json") == 2
    shown = capsys.readouterr()
    assert len(json.loads(shown.out)["problems"]) == 2
    assert "2 problems" in shown.err
    assert "checksum differs" in shown.err


def test_repair_names_what_it_removes(trained: Path, capsys: Output) -> None:
    for orphan in ("orphan-1.arrow", "orphan-2.arrow"):
        (trained / "memory" / "runs" / orphan).write_bytes(b"left by a crash")

    assert memory("repair", trained) == 0
    assert "removed orphan-1.arrow\nremoved orphan-2.arrow\n" in capsys.readouterr().out
    assert memory("repair", trained, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"removed": []}


def test_compaction_says_what_it_did(trained: Path, capsys: Output) -> None:
    memory("stats", "--json", trained)
    before = json.loads(capsys.readouterr().out)["levels"]

    assert memory("compact", trained) == 0
    assert "runs with" in capsys.readouterr().out
    assert memory("compact", "--json", trained) == 0
    after = json.loads(capsys.readouterr().out)["after"]["levels"]
    assert [level["unique"] for level in after] == [level["unique"] for level in before]
    assert [level["runs"] for level in after] == [1, 1]


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_every_pattern_is_exported(trained: Path, tmp_path: Path, capsys: Output, format: str) -> None:
    output = tmp_path / f"patterns.{format}"

    assert memory("export", "--format", format, "--output", output, trained) == 0
    assert "5 patterns" in capsys.readouterr().out
    assert memory("export", "--format", format, "--output", output, "--level", "1", "--json", trained) == 0
    assert json.loads(capsys.readouterr().out)["patterns"] == 2
    assert rows(output) == 2


def rows(path: Path) -> int:
    if path.suffix == ".parquet":
        import pyarrow.parquet

        return pyarrow.parquet.read_table(path).num_rows
    with path.open(newline="") as file:
        return len(list(csv.reader(file))) - 1 if path.suffix == ".csv" else len(file.readlines())


SLOW_EXPORT = """
import sys, time
from headway.learners.patterns import arrow
whole = arrow.batches
def slow(*given):
    yield from whole(*given)
    print("half", flush=True)
    time.sleep(600)
arrow.batches = slow
from headway.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_an_export_that_is_told_to_end_leaves_nothing(trained: Path, tmp_path: Path) -> None:
    words = ["memory", "export", "--format", "jsonl", "--output", str(tmp_path / "x.jsonl"), str(trained)]
    with subprocess.Popen([sys.executable, "-c", SLOW_EXPORT, *words], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.terminate()

    assert process.returncode == 143
    assert list(tmp_path.iterdir()) == []
