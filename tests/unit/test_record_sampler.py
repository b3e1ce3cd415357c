"""The sampler: what it counts, and that nothing that goes wrong with it goes further."""

import errno
import os
from pathlib import Path
from threading import Thread
from threading import enumerate as threads
from typing import Any

import pytest
from made_proc import MEBI, Clock, FakeProc

from headway.errors import RunError
from headway.record.lines import LineFile
from headway.record.probes.host import Host
from headway.record.probes.machine import open_probe
from headway.record.probes.processes import ProcessTree
from headway.record.probes.reading import HostReading, Reading
from headway.record.sampler import Sampler, own_sampler
from headway.record.ticklog import FOLDER, read_ticks


class Scene:
    """A process, a clock and a sampler that looks when it is told."""

    def __init__(self, folder: Path, *, interval: float = 1.0, watcher: bool = False) -> None:
        self.clock = Clock()
        self.proc = FakeProc(folder)
        self.proc.process(10, 1)
        self.sampler = self.proc.sampler(10, self.clock, interval=interval, watcher=watcher)
        self.sampler.start(thread=False)

    def look(self, seconds: float = 1.0) -> None:
        self.clock.now += seconds
        self.sampler.look()

    @property
    def whole(self) -> Any:
        usage = self.sampler.usage()
        assert usage is not None
        return usage.whole


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "machine")


def test_what_happened_before_the_start_does_not_count(tmp_path: Path) -> None:
    proc, clock = FakeProc(tmp_path), Clock()
    proc.process(10, 1, cpu=50.0, written=MEBI)
    proc.host(written=8 * MEBI)
    sampler = proc.sampler(10, clock)
    sampler.start(thread=False)
    proc.process(10, 1, cpu=52.0, written=3 * MEBI, waited=0.25)
    proc.host(written=16 * MEBI)
    clock.now += 4
    sampler.look()

    usage = sampler.usage()
    assert usage is not None
    sums = usage.whole.sums
    assert (sums["cpu"], sums["written_bytes"], sums["waited"]) == (2.0, 2 * MEBI, 0.25)
    assert sums["host_written_bytes"] == 8 * MEBI
    assert usage.whole.peaks["cpu_rate"] == 0.5


def test_the_time_of_workers_counts_from_their_birth_and_to_their_end(scene: Scene) -> None:
    scene.proc.process(11, 10, cpu=0.5, born=6.0)
    scene.look()
    scene.proc.process(11, 10, cpu=1.5, born=6.0)
    scene.look()
    scene.proc.end(11)
    # It had worked a quarter second more by the time its parent was told of its end.
    scene.proc.process(10, 1, reaped=1.75)
    scene.look()

    assert scene.whole.sums["cpu"] == pytest.approx(1.75)


def test_a_process_that_nobody_saw_counts_through_its_parent(scene: Scene) -> None:
    scene.proc.process(10, 1, cpu=1.0, reaped=3.0)
    scene.look()

    assert scene.whole.sums["cpu"] == 4.0
    # When it worked is not known: it makes no peak.
    assert scene.whole.peaks["cpu_rate"] == 1.0


def test_a_watcher_counts_for_nothing_but_its_children(tmp_path: Path) -> None:
    scene = Scene(tmp_path, watcher=True)
    scene.proc.process(10, 1, cpu=9.0, resident=500 * MEBI, written=MEBI)
    scene.proc.process(11, 10, cpu=1.0, resident=2 * MEBI, born=7.0)
    scene.look()

    assert (scene.whole.sums["cpu"], scene.whole.sums["written_bytes"]) == (1.0, 0)
    assert scene.whole.gauges["rss"] == 2 * MEBI
    scene.proc.end(11)
    scene.look()
    assert "rss" not in scene.sampler.ticks[-1].gauges


def test_a_peak_between_two_quiet_looks_stays(scene: Scene) -> None:
    for resident in (1, 700, 1):
        scene.proc.process(10, 1, resident=resident * MEBI)
        scene.look()

    assert scene.whole.peaks["rss"] == 700 * MEBI
    assert scene.whole.gauges["rss"] == pytest.approx(234 * MEBI)


def test_a_clock_that_is_put_changes_no_duration_and_is_noted(scene: Scene) -> None:
    scene.look()
    scene.clock.put = -3600.0
    scene.look()

    assert scene.whole.seconds == 2.0
    assert scene.whole.jumped == -3600.0


def test_looks_that_came_too_late_are_counted_and_rates_stay_true(tmp_path: Path) -> None:
    scene = Scene(tmp_path, interval=0.1)
    scene.look(0.1)
    scene.proc.process(10, 1, cpu=2.0)
    scene.look(4.0)

    # One more or less, as the parts of a second round.
    assert scene.whole.missed in (38, 39)
    assert scene.whole.peaks["cpu_rate"] == pytest.approx(0.5)


def test_rates_of_very_short_ticks_are_taken_over_a_longer_time(tmp_path: Path) -> None:
    scene = Scene(tmp_path, interval=0.01)
    for number in range(1, 25):
        # As the kernel counts: nothing for a while, then a hundredth at once.
        scene.proc.process(10, 1, cpu=0.01 * (number // 2))
        scene.look(0.01)

    assert scene.whole.peaks["cpu_rate"] == pytest.approx(0.5, abs=0.11)


def test_progress_is_part_of_every_tick(scene: Scene) -> None:
    scene.sampler.progress = lambda: {"documents": scene.clock.now - 1000}
    scene.look(2)
    scene.look(3)

    assert [tick.sums["documents"] for tick in scene.sampler.ticks] == [2.0, 3.0]


def test_a_look_that_fails_is_counted_and_the_next_one_spans_its_time(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Host) -> HostReading:
        raise ValueError("invalid literal for int()")

    with monkeypatch.context() as patched:
        patched.setattr(Host, "read", broken)
        scene.look()
    scene.look()

    usage = scene.sampler.usage()
    assert usage is not None
    assert (usage.failed, usage.whole.seconds) == (1, 2.0)
    assert "invalid literal" in usage.absent["some looks"]


def test_a_first_reading_that_fails_is_made_up_for(tmp_path: Path) -> None:
    class Late:
        reads = 0

        @property
        def absent(self) -> dict[str, str]:
            return {}

        def read(self, *, closely: bool = False) -> Reading:
            self.reads += 1
            if self.reads == 1:
                raise PermissionError(errno.EACCES, "Permission denied")
            return Reading((), HostReading())

        def close(self) -> None:
            pass

    sampler = Sampler(Late(), clocks=Clock().all())
    sampler.start(thread=False)
    sampler.look()
    assert sampler.usage() is None
    sampler.look()

    usage = sampler.usage()
    assert usage is not None
    assert usage.failed == 1


def test_a_full_disk_loses_ticks_and_nothing_else(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: LineFile, line: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    scene.sampler.keep_in(tmp_path)
    scene.look()
    with monkeypatch.context() as patched:
        patched.setattr(LineFile, "append", full)
        scene.look()
    scene.look()
    scene.sampler.stop()

    usage = scene.sampler.usage()
    assert usage is not None
    assert (usage.unwritten, usage.whole.last + 1) == (1, 4)
    assert "No space left" in usage.absent["some ticks on disk"]
    assert [tick.first for tick in read_ticks(tmp_path)] == [0, 2, 3]


def test_a_folder_that_cannot_be_written_is_no_reason_to_end(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("a file where the folder should be")
    scene.sampler.keep_in(tmp_path)
    scene.look()
    scene.look()

    usage = scene.sampler.usage()
    assert usage is not None
    assert usage.unwritten == 2


def test_ticks_from_before_the_folder_was_known_are_written_too(scene: Scene, tmp_path: Path) -> None:
    scene.look()
    scene.sampler.keep_in(tmp_path)
    scene.look()

    assert [tick.first for tick in read_ticks(tmp_path)] == [0, 1]
    scene.sampler.leave()
    scene.look()
    assert len(read_ticks(tmp_path)) == 2


def test_a_fresh_usage_looks_at_what_is_there_now(scene: Scene) -> None:
    scene.proc.process(10, 1, resident=9 * MEBI, pss=5 * MEBI)
    scene.clock.now += 0.2

    usage = scene.sampler.usage(fresh=True)
    assert usage is not None
    assert (usage.whole.peaks["rss"], usage.whole.peaks["pss"]) == (9 * MEBI, 5 * MEBI)


def test_what_is_over_before_the_first_look_was_due_has_a_usage_too(scene: Scene) -> None:
    scene.clock.now += 0.001

    assert scene.sampler.usage() is None
    assert scene.sampler.usage(fresh=True) is not None


def test_where_no_thread_can_be_had_the_first_and_the_last_look_remain(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(self: Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", none_left)
    sampler = scene.proc.sampler(10, scene.clock)
    with sampler:
        scene.clock.now += 5

    usage = sampler.usage()
    assert usage is not None
    assert usage.whole.seconds == 5.0
    assert "can't start new thread" in usage.absent["all but the first and the last look"]


def test_where_there_is_no_proc_the_same_is_measured_with_psutil(tmp_path: Path) -> None:
    sampler = Sampler(open_probe(os.getpid(), proc=tmp_path / "none", share=1.0), interval=0.02)
    with sampler:
        sum(range(1_000_000))

    usage = sampler.usage()
    assert usage is not None
    assert usage.whole.peaks["rss"] > MEBI
    assert usage.absent["run queue"] == "only Linux tells how long processes wait for a core"


def test_too_short_an_interval_is_refused(tmp_path: Path) -> None:
    proc = FakeProc(tmp_path)
    with pytest.raises(RunError, match=r"0\.01 s is the least"):
        proc.sampler(10, Clock(), interval=0.001)


def test_the_thread_ends_with_stop_which_may_be_repeated() -> None:
    sampler = own_sampler(interval=0.01)
    with sampler:
        assert any(thread.name == "headway-sampler" for thread in threads())
    sampler.stop()

    usage = sampler.usage()
    assert usage is not None
    assert usage.whole.peaks["rss"] > 0
    assert not any(thread.name == "headway-sampler" for thread in threads())


def test_the_tree_closes_every_file(tmp_path: Path) -> None:
    proc = FakeProc(tmp_path)
    proc.process(10, 1)
    tree = proc.tree(10, Clock())
    tree.read()
    tree.close()

    assert isinstance(tree, ProcessTree)
    assert tree._room.left == 128
