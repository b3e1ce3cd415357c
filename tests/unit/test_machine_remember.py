"""Results are remembered per machine and disk."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from made_machine import figure, groups, means, result

from headway.errors import DataError, RunError
from headway.machine.bench import Limits
from headway.machine.gpus import Gpu
from headway.machine.hardware import hardware
from headway.machine.remember import cache_folder, recall, remember, remembered_path
from headway.machine.result import result_from
from headway.run.bench import Benched, BenchSettings, bench_machine

LIMITS = Limits(5, 1e9)


def benched(folder: Path, value: float = 1.0, *, again: bool = False, service: str | None = None) -> Benched:
    settings = BenchSettings(
        folder=folder / "data", cache=folder / "cache", again=again, limits=LIMITS, service_url=service
    )
    return bench_machine(settings, means=means(), groups=groups({"disk.write": [value]}), now=lambda: 0.0)


def test_the_first_bench_measures_and_the_next_one_remembers(tmp_path: Path) -> None:
    first, second = benched(tmp_path), benched(tmp_path, 2.0)

    assert (first.remembered, second.remembered) == (False, True)
    assert second.result.figures == first.result.figures
    assert first.result.began == "1970-01-01T00:00:00+00:00"


def test_again_measures_anew_and_gives_what_was_remembered_before(tmp_path: Path) -> None:
    first, second = benched(tmp_path), benched(tmp_path, 2.0, again=True)

    assert second.before is not None
    assert second.before.figure("disk.write") == first.result.figure("disk.write")
    assert second.result.figure("disk.write").median == 2.0
    assert benched(tmp_path).result.figure("disk.write").median == 2.0


def test_the_way_to_a_service_is_not_remembered(tmp_path: Path) -> None:
    answer = benched(tmp_path, service="http://127.0.0.1:9/health").result.figure("network.service")
    later = benched(tmp_path).result.figure("network.service")

    assert answer.values == () and "could not be measured" in (answer.why or "")
    assert later.why == "no service was named"


@pytest.mark.parametrize("content", ["{", "[]", '{"format": 0}', '{"format": 1}'])
def test_a_damaged_or_older_memory_is_measured_anew(tmp_path: Path, content: str) -> None:
    path = benched(tmp_path).path
    path.write_text(content)

    assert benched(tmp_path).remembered is False


def test_another_machine_disk_or_gpu_has_results_of_its_own(tmp_path: Path) -> None:
    here = hardware((tmp_path,))
    remember(remembered_path(tmp_path, here), result(figure("a", [1.0])))
    (disk,) = here.disks

    assert recall(tmp_path, here) == result(figure("a", [1.0]))
    assert recall(tmp_path, replace(here, disks=(replace(disk, device="/dev/other"),))) is None
    assert recall(tmp_path, replace(here, gpus=replace(here.gpus, found=(Gpu("nvidia", "H200", 1),)))) is None
    assert recall(tmp_path, replace(here, processor=replace(here.processor, model="Abacus 9"))) is None


def test_the_cache_is_where_the_user_has_caches(tmp_path: Path) -> None:
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "headway"
    assert cache_folder({"XDG_CACHE_HOME": "relative", "HOME": str(tmp_path)}).is_relative_to(tmp_path)
    assert cache_folder({"HOME": str(tmp_path)}).name == "headway"


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")

    with pytest.raises(RunError, match="choose another folder"):
        benched(tmp_path)


def test_a_result_is_the_same_after_json() -> None:
    given = result(figure("a", [1.0, 2.0]), figure("b", [], why="no GPU"))

    assert result_from(json.loads(json.dumps(given.to_json())), "x.json") == given
    assert given.figure("c").why == "this result was made without it"


@pytest.mark.parametrize("known", [{}, [], {"format": 1}, {"format": 7}])
def test_what_is_no_result_is_said(known: object) -> None:
    with pytest.raises(DataError, match=r"x\.json .*headway machine bench"):
        result_from(known, "x.json")
