"""Verification names everything that is not as it was, and nothing that is."""

import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_memory import trained

from headway.cli.main import main
from headway.errors import MemoryDamage
from headway.learners.patterns.manifest import read_manifest
from headway.learners.patterns.memory import open_memory
from headway.learners.patterns.runs import RunReader, RunWriter
from headway.learners.patterns.tally import Tally
from headway.lock import Lock

Damage = Callable[[Path], None]


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def noted(folder: Path, **section: Any) -> Path:
    """The memory folder of a run that notes its documents."""
    return trained(folder, ["abcdefabc" * 9, "xyzabcabc" * 7], metadata="documents", **section) / "memory"


def notes_of(memory: Path) -> Path:
    """One of its files with notes."""
    return next(path for path in sorted((memory / "runs").iterdir()) if ".N" in path.name)


@pytest.mark.parametrize("damage", [truncate, flip, Path.unlink], ids=lambda damage: damage.__name__)
def test_verify_reads_the_notes(tmp_path: Path, damage: Damage) -> None:
    memory = noted(tmp_path)
    path = notes_of(memory)
    damage(path)

    (problem,) = open_memory(memory).verify().problems

    assert path.name in problem


def test_notes_of_a_pattern_that_nobody_learned_are_found(tmp_path: Path) -> None:
    memory = noted(tmp_path)
    path = notes_of(memory)
    key = np.array([123], np.uint64)
    writer = RunWriter(path.with_suffix(".draft"), level=0, dtype=np.uint64, largest=1)
    writer.write(Tally(key, np.ones(1, np.uint64), np.array([0, 1]), np.array([7 << 40], np.uint64)))
    manifest = read_manifest(memory)
    assert manifest is not None
    replace(manifest, notes=(writer.close(name=path.name),)).write(memory)

    problems = "\n".join(open_memory(memory).verify().problems)

    assert "of patterns that level 0 does not hold" in problems
    assert "of an origin that the manifest does not name" in problems


@pytest.mark.parametrize("damage", [truncate, Path.unlink], ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("kind", [".L0.", ".N1."])
def test_a_file_that_is_missing_or_torn_is_named_before_any_figure_is_shown(
    tmp_path: Path, damage: Damage, kind: str
) -> None:
    memory = noted(tmp_path)
    path = next(path for path in (memory / "runs").iterdir() if kind in path.name)
    damage(path)

    with open_memory(memory) as opened, pytest.raises(MemoryDamage, match=f"{path.name}.*(missing|torn)"):
        opened.stats()


@pytest.mark.parametrize("kind", [".L0.", ".N0."])
def test_compaction_reads_what_it_has_no_need_to_merge_too(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = noted(tmp_path)
    assert main(["memory", "compact", str(memory)]) == 0
    path = next(path for path in (memory / "runs").iterdir() if kind in path.name)
    flip(path)
    capsys.readouterr()

    assert main(["memory", "compact", str(memory)]) == 2
    said = capsys.readouterr().err
    assert path.name in said
    assert "checksum" in said


def test_a_leftover_is_named_with_the_command_that_removes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = noted(tmp_path / "my runs")
    (memory / "runs" / "left.arrow").write_bytes(b"by a crash")

    assert main(["memory", "verify", str(memory.parent)]) == 2
    (command,) = re.findall("remove it with: headway (.*)", capsys.readouterr().err)
    assert main(shlex.split(command)) == 0
    assert main(["memory", "verify", str(memory)]) == 0


def test_every_damaged_file_is_named_at_once(tmp_path: Path) -> None:
    memory = noted(tmp_path)
    files = sorted((memory / "runs").iterdir())
    for path in files:
        flip(path)

    problems = "\n".join(open_memory(memory).verify().problems)

    assert all(path.name in problems for path in files)


def test_a_sequence_under_another_internal_key_is_found(tmp_path: Path) -> None:
    memory = trained(tmp_path, ["abcdefabc" * 9], names="internal") / "memory"
    manifest = read_manifest(memory)
    assert manifest is not None
    run = manifest.level(1)[0]
    with RunReader(memory / "runs", run) as reader:
        rows = reader.rows(0, run.rows)
    writer = RunWriter(memory / "runs" / "other.draft", level=1, dtype=np.uint64, largest=run.largest)
    writer.write(Tally(rows.keys, rows.counts, rows.offsets, rows.symbols[::-1].copy()))
    changed = writer.close(name=run.file)
    replace(manifest, runs=tuple(changed if each == run else each for each in manifest.runs)).write(memory)

    problems = open_memory(memory).verify().problems

    assert any("has another key" in problem for problem in problems)


@pytest.mark.parametrize("command", ["verify", "repair", "top", "compact"])
def test_a_missing_folder_of_runs_is_named(tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    memory = trained(tmp_path, ["abcdefabc" * 9]) / "memory"
    shutil.rmtree(memory / "runs")

    assert main(["memory", command, str(memory)]) == 2
    assert "runs" in capsys.readouterr().err


def test_a_data_set_is_not_called_a_damaged_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trained(tmp_path, ["abcdefabc" * 9])
    (dataset,) = (path.parent for path in (tmp_path / "datasets").glob("*/manifest.json"))

    assert main(["memory", "stats", str(dataset)]) == 2
    assert "is no memory: its manifest.json says 'headway-dataset'" in capsys.readouterr().err


def test_a_memory_is_verified_and_read_while_a_training_is_at_work_there(tmp_path: Path) -> None:
    memory = trained(tmp_path, ["abcdefabc" * 9]) / "memory"
    (memory / "runs" / "000-00000009-0-0.L0.arrow.draft").write_bytes(b"being written")
    old = open_memory(memory)
    compacted = open_memory(memory)
    compacted.compact()
    lock = Lock(memory, doing="training")
    try:
        # Its files were merged after it was opened, and removed.
        assert len(old) == len(compacted)
        (memory / "runs" / "later.draft").write_bytes(b"being written")
        assert open_memory(memory).verify().problems == []
    finally:
        lock.close()


def test_damage_found_while_a_training_is_at_work_is_still_damage(tmp_path: Path) -> None:
    memory = trained(tmp_path, ["abcdefabc" * 9]) / "memory"
    next((memory / "runs").iterdir()).unlink()
    lock = Lock(memory, doing="training")
    try:
        with pytest.raises(MemoryDamage, match="is missing"):
            len(open_memory(memory))
    finally:
        lock.close()
