"""A profile: what a program tells, what memory does, and what is near its threshold."""

from pathlib import Path

import pytest
from made_proc import MEBI, Clock, FakeProc

from headway.record.bottleneck import by_thresholds
from headway.record.loopback import loopback_seconds
from headway.record.profiler import Profile, Profiler
from headway.record.sampler import Sampler
from headway.record.slope import memory_trend, slope
from headway.record.tick import Tick


class Scene:
    """A profiler of a process that tests own; time passes when they say."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clock()
        self.proc = FakeProc(folder)
        self.proc.process(10, 1, resident=100 * MEBI)
        self.profiler = Profiler(sampler=self._sampler, clocks=self.clock.all())
        self._latest: Sampler | None = None

    def _sampler(self, interval: float) -> Sampler:
        self._latest = self.proc.sampler(10, self.clock, interval=interval)
        begin = self._latest.start
        self._latest.start = lambda *, thread=True: begin(thread=False)  # type: ignore[method-assign]
        return self._latest

    def look(self, seconds: float = 1.0) -> None:
        assert self._latest is not None
        self.clock.now += seconds
        self._latest.look()

    def stop(self) -> Profile:
        profile = self.profiler.stop()
        assert profile is not None
        return profile


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_memory_of_a_sample_is_how_memory_grows_and_not_how_much_there_is(scene: Scene) -> None:
    scene.profiler.start()
    for number in range(1, 21):
        for _ in range(5):
            scene.profiler.sample(tokens=7)
        scene.proc.process(10, 1, resident=(100 + 10 * number) * MEBI)
        scene.look()
    profile = scene.stop()

    assert (profile.samples, profile.tokens) == (100, 700)
    growth = profile.memory_per_sample
    assert growth is not None
    assert growth.low <= growth.value <= growth.high
    assert growth.value == pytest.approx(2 * MEBI)
    assert profile.trend == "growing"


def test_events_and_nodes_are_timed_by_name(scene: Scene) -> None:
    scene.profiler.start()
    for seconds in (0.1, 0.3):
        scene.clock.now += seconds
        scene.profiler.event("learn", seconds, node="node0")
    scene.profiler.event("export", 2.0)
    scene.profiler.latency(0.05)
    scene.look()
    profile = scene.stop()

    learn = profile.events["learn"]
    assert (learn.count, learn.least, learn.most) == (2, 0.1, 0.3)
    assert (learn.mean, learn.deviation, learn.total) == pytest.approx((0.2, 0.1, 0.4))
    assert {*profile.events} == {"learn", "export"}
    assert {*profile.nodes} == {"node0"}
    assert profile.latency is not None
    assert profile.latency.mean == 0.05


def test_the_training_lasts_from_the_first_thing_told_to_the_last(scene: Scene) -> None:
    scene.profiler.start()
    scene.look(10)
    scene.profiler.sample()
    scene.look(4)
    scene.profiler.sample()
    scene.look(30)
    profile = scene.stop()

    assert (profile.seconds, profile.training_seconds, profile.rate(2)) == (44.0, 4.0, 0.5)


def test_a_profiler_can_be_started_again_and_begins_anew(scene: Scene) -> None:
    scene.profiler.start()
    scene.profiler.start()
    scene.profiler.sample()
    scene.look()
    first = scene.stop()
    assert scene.stop() is first
    scene.profiler.start()
    scene.look(3)

    assert (first.samples, scene.stop().samples) == (1, 0)


def test_before_a_start_there_is_no_profile() -> None:
    assert Profiler().stop() is None
    assert Profiler().latest() is None


def test_the_bottleneck_is_the_largest_score_in_its_own_unit() -> None:
    verdict = by_thresholds({"cpu": 40.0, "memory": 60.0, "disk_io": 55.0, "network": None})

    assert (verdict.primary, verdict.score, verdict.kind, verdict.mode) == ("disk_io", 1.0, "score", "threshold")
    assert verdict.scores == {"cpu": 0.5, "memory": 0.8, "disk_io": 1.0}
    assert by_thresholds({"cpu": 90.0, "disk_io": 55.0}).others == ("disk_io",)


def test_none_and_unknown_are_answers() -> None:
    idle = by_thresholds({"cpu": 10.0, "memory": 20.0, "disk_io": 0.0})

    assert idle.primary == "none"
    assert by_thresholds({"cpu": None}).primary == "unknown"


def test_a_slope_has_an_interval_and_needs_three_places() -> None:
    exact = slope([0, 1, 2, 3], [5, 7, 9, 11])
    rough = slope([0, 1, 2, 3], [5, 8, 8, 11])

    assert exact is not None
    assert (exact.value, exact.low, exact.high) == (2.0, 2.0, 2.0)
    assert rough is not None
    assert rough.low < 1.8 < rough.high
    assert slope([1, 1, 2, 2], [1, 2, 3, 4]) is None


@pytest.mark.parametrize(
    ("held", "trend"),
    [
        ([100.0] * 20, "stable"),
        ([100.0] * 10 + [105.0] * 10, "stable"),
        ([100.0] * 10 + [150.0] * 10, "growing"),
        ([150.0] * 10 + [100.0] * 10, "declining"),
        ([100.0] * 5 + [900.0] * 5, "unknown"),
    ],
)
def test_the_trend_of_memory_is_its_second_half_against_its_first(held: list[float], trend: str) -> None:
    ticks = [
        Tick(first=at, last=at, time=at, seconds=1, sums={}, gauges={"rss": size}, peaks={}, cores=(), processes={})
        for at, size in enumerate(held)
    ]

    assert memory_trend(ticks) == trend


def test_the_way_through_this_machine_takes_some_time() -> None:
    seconds = loopback_seconds()

    assert seconds is None or seconds > 0
