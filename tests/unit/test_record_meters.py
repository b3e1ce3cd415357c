"""Progress is folded from events alone."""

from typing import Any

from headway.plan.values import Position
from headway.record.events import Event, Finished, Note, Resumed, RunStarted, Saved, Step, as_line
from headway.record.meters import Progress, Rate

STARTED = RunStarted("r", "f", "d", 1, 1, {}, {})


def folded(*timed: tuple[float, Event], **settings: Any) -> Progress:
    progress = Progress(**settings)
    for time, event in timed:
        progress.fold(as_line(event, time))
    return progress


def step(documents: int, tokens: int, **metrics: float) -> Step:
    return Step(Position(0, 1), documents, tokens, metrics)


def test_nothing_is_known_before_the_first_event() -> None:
    progress = Progress(total_tokens=100)

    assert (progress.documents, progress.tokens, progress.metrics) == (0, 0, {})
    assert progress.rate is progress.overall_rate is progress.eta_seconds is progress.seconds is None


def test_no_rate_is_shown_before_one_was_measured() -> None:
    progress = folded((5.0, STARTED), (6.0, Note("waiting")), total_tokens=100)

    assert progress.rate is progress.overall_rate is progress.eta_seconds is None
    assert progress.seconds == 1.0


def test_a_first_step_without_a_start_measures_no_rate() -> None:
    progress = folded((5.0, step(1, 10)))

    assert (progress.documents, progress.rate) == (1, None)


def test_documents_tokens_steps_and_metrics_add_up() -> None:
    progress = folded((0.0, STARTED), (1.0, step(2, 30, new=1.0)), (2.0, step(3, 50, new=2.0, old=5.0)))

    assert (progress.documents, progress.tokens, progress.steps) == (5, 80, 2)
    assert progress.metrics == {"new": 3.0, "old": 5.0}


def test_the_rate_follows_the_window_and_the_overall_rate_everything() -> None:
    slow = [(float(second), step(1, 10)) for second in range(1, 21)]
    fast = [(20.0 + second, step(4, 40)) for second in range(1, 21)]

    progress = folded((0.0, STARTED), *slow, *fast, window_seconds=10.0)

    assert progress.rate == Rate(documents=4.0, tokens=40.0)
    assert progress.overall_rate == Rate(documents=2.5, tokens=25.0)


def test_one_step_longer_than_the_window_still_has_a_rate() -> None:
    progress = folded((0.0, STARTED), (100.0, step(1, 10)), (200.0, step(1, 30)), window_seconds=5.0)

    assert progress.rate == Rate(documents=0.01, tokens=0.3)


def test_the_first_step_which_waits_for_compilers_and_workers_measures_no_rate() -> None:
    timed = [(0.0, STARTED), (40.0, step(10, 100))]

    first = folded(*timed, total_tokens=1000)
    second = folded(*timed, (40.5, step(10, 100)), total_tokens=1000)
    third = folded(*timed, (40.5, step(10, 100)), (42.0, step(10, 100)), total_tokens=1000)

    assert (first.rate, first.eta_seconds) == (None, None)
    assert (second.rate, second.eta_seconds) == (Rate(documents=20.0, tokens=200.0), None)
    assert (third.rate, third.eta_seconds) == (Rate(documents=10.0, tokens=100.0), 7.0)


def test_time_left_comes_from_tokens_where_their_total_is_known() -> None:
    timed = [(0.0, STARTED), (1.0, step(0, 0)), (3.0, step(1, 40))]

    assert folded(*timed, total_documents=11, total_tokens=100).eta_seconds == 3.0
    assert folded(*timed, total_documents=11).eta_seconds == 20.0
    assert folded(*timed).eta_seconds is None


def test_time_left_is_never_negative_and_unknown_without_movement() -> None:
    assert folded((0.0, STARTED), (1.0, step(0, 0)), (2.0, step(1, 40)), total_tokens=10).eta_seconds == 0.0
    assert folded((0.0, STARTED), (2.0, step(1, 0)), total_tokens=10).eta_seconds is None


def test_a_resumed_run_counts_what_was_done_before_but_not_in_its_rate() -> None:
    progress = folded(
        (0.0, STARTED),
        (100.0, Resumed(Position(0, 9), 50, 500)),
        (100.0, step(0, 0)),
        (102.0, step(1, 40)),
        total_tokens=1000,
    )

    assert (progress.documents, progress.tokens, progress.continued) == (51, 540, True)
    assert progress.overall_rate == Rate(documents=0.5, tokens=20.0)
    assert progress.eta_seconds == 23.0


def test_steps_after_the_last_save_are_not_counted_twice_after_a_crash() -> None:
    progress = folded(
        (0.0, STARTED),
        (1.0, step(2, 20, new=1.0)),
        (2.0, Saved(Position(0, 1), 0.1)),
        (3.0, step(2, 20, new=1.0)),
        (9.0, STARTED),
        (9.0, Resumed(Position(0, 1))),
        (10.0, step(2, 20, new=1.0)),
        (11.0, Finished(Position(0, 2), 2.0, "complete", {})),
    )

    assert (progress.documents, progress.tokens) == (4, 40)
    assert (progress.metrics, progress.steps, progress.seconds) == ({"new": 1.0}, 1, 2.0)
