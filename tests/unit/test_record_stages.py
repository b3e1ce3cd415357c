"""Stages of a run: what is told in pieces adds up to the same percentiles."""

import json

import pytest

from headway.record.stages import Durations, read_stages


def told(*seconds: float) -> Durations:
    found = Durations()
    for each in seconds:
        found.add(each)
    return found


def test_a_percentile_is_right_to_a_tenth_of_itself() -> None:
    durations = told(*(number / 1000 for number in range(1, 1001)))

    for share in (0.05, 0.5, 0.95):
        assert durations.percentile(share) == pytest.approx(share, rel=0.1)
    assert (durations.percentile(1.0), durations.longest) == (1.0, 1.0)


def test_durations_of_several_events_add_up() -> None:
    events = [{"event": "spans", "spans": {"step": told(*each).to_json()}} for each in ((0.25, 0.5), (4.0,))]

    found = read_stages([json.loads(json.dumps(event)) for event in [*events, {"event": "note"}]])
    assert found == {"step": told(0.25, 0.5, 4.0)}


def test_a_record_from_before_sizes_were_counted_has_no_percentiles() -> None:
    old = {"event": "spans", "spans": {"step": {"count": 2, "seconds": 3.0, "max": 2.0}}}

    (durations,) = read_stages([old]).values()
    assert (durations.count, durations.percentile(0.5)) == (2, None)


def test_nothing_is_too_short_to_count() -> None:
    assert told(0.0, 0.0).percentile(0.5) == 0.0


def test_of_one_duration_every_percentile_is_that_duration() -> None:
    assert told(0.8).percentile(0.5) == 0.8
