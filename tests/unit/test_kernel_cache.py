"""Machine code is kept where it can be written, and never used after any of its sources changed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import headway

_PACKAGE = Path(headway.__file__).parent
_PROGRAM = (
    "from headway.learners.patterns.kernels import cutting; from headway.native import compiled; import numpy as np; "
    "from pathlib import Path; place = compiled.folder(Path(cutting.__file__).parent); "
    "table = cutting.cut_names(np.array([0, 7]), 3); "
    "mode = place.stat().st_mode & 0o077; "
    "print(table[0].tolist(), place, sum(cutting.cut_names.stats.cache_hits.values()), mode, sep=';')"
)


class _Ran(NamedTuple):
    table: str
    folder: Path
    hits: int
    others: int


def _run(site: Path, *, home: Path) -> _Ran:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "XDG_", "COVERAGE_"))}
    done = subprocess.run(
        [sys.executable, "-B", "-c", _PROGRAM],
        env={**environment, "PYTHONPATH": str(site), "HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    table, folder, hits, others = done.stdout.split(";")
    return _Ran(table, Path(folder), int(hits), int(others))


def _copy(site: Path) -> Path:
    shutil.copytree(_PACKAGE, site / "headway", ignore=shutil.ignore_patterns("__pycache__"))
    return site / "headway" / "learners" / "patterns" / "kernels"


@pytest.mark.parametrize("inlined", ["native/moves.py", "learners/patterns/kernels/sha1.py"])
def test_a_second_process_compiles_nothing_until_any_file_of_the_kernels_changes(inlined: str, tmp_path: Path) -> None:
    kernels = _copy(tmp_path)

    first, second = _run(tmp_path, home=tmp_path), _run(tmp_path, home=tmp_path)
    # Inlined into others: their own files stay as they are.
    with (tmp_path / "headway" / inlined).open("a") as file:
        file.write("\n# changed\n")
    changed = _run(tmp_path, home=tmp_path)

    assert (first.hits, second.hits, changed.hits) == (0, 1, 0)
    assert first.folder == second.folder != changed.folder
    assert first.folder.parent == kernels / "__pycache__"
    assert first.table == second.table == changed.table == "[0, 3]"


def test_kernels_compile_where_neither_the_package_nor_the_home_can_be_written(tmp_path: Path) -> None:
    kernels = _copy(tmp_path)
    # Files in the place of folders: root may write into every folder.
    (kernels / "__pycache__").write_text("")
    (tmp_path / "home").write_text("")

    ran = _run(tmp_path, home=tmp_path / "home")

    assert ran.table == "[0, 3]"
    assert ran.folder.name.startswith("headway-kernels-")
    assert not ran.others
    assert not ran.folder.exists()


def test_kernels_are_kept_in_the_users_cache_where_the_package_is_read_only(tmp_path: Path) -> None:
    kernels = _copy(tmp_path)
    (kernels / "__pycache__").write_text("")

    ran = _run(tmp_path, home=tmp_path / "home")

    assert ran.folder.parent == tmp_path / "home" / ".cache" / "headway"
