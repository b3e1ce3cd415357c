"""One figure decides what is best and when to end."""

from headway.learners.gradient.stopping import Judgement, Rule


def judged(*figures: float, patience: int | None = None, min_delta: float = 0.0, stop_at: float | None = None):
    found = Judgement()
    for figure in figures:
        found = found.after(figure, Rule(patience=patience, min_delta=min_delta, stop_at=stop_at))
    return found


def test_the_first_figure_is_the_best_so_far_however_bad() -> None:
    assert judged(-5.0) == Judgement(best=-5.0, since=0, improved=True, enough=False)


def test_the_best_stays_until_it_is_beaten_by_more_than_the_least() -> None:
    found = judged(1.0, 1.05, min_delta=0.1)

    assert (found.best, found.since, found.improved) == (1.0, 1, False)
    assert judged(1.0, 1.05, 1.11, min_delta=0.1).best == 1.11


def test_patience_counts_evaluations_since_the_best() -> None:
    assert not judged(3.0, 2.0, patience=2).enough
    assert judged(3.0, 2.0, 1.0, patience=2).enough
    assert not judged(3.0, 2.0, 4.0, 1.0, patience=2).enough
    assert not judged(*range(99, 0, -1)).enough


def test_evaluations_that_do_not_count_try_nobodys_patience() -> None:
    rule = Rule(patience=2, min_delta=0, stop_at=None)
    early = Judgement().after(3.0, rule, counts=False).after(2.0, rule, counts=False).after(1.0, rule, counts=False)

    assert (early.since, early.enough) == (2, False)
    assert not early.after(1.0, rule).enough
    assert early.after(1.0, rule).after(1.0, rule).enough
    assert Judgement().after(3.0, Rule(patience=2, min_delta=0, stop_at=2.0), counts=False).enough


def test_patience_may_begin_anew_under_another_rule() -> None:
    tired = judged(3.0, 2.0, 1.0, patience=2)

    again = tired.under(Rule(patience=2, min_delta=0, stop_at=None, begins=5), anew=True)

    assert (again.enough, again.best, again.since, again.waited) == (False, 3.0, 2, 0)


def test_a_figure_that_is_enough_ends_it() -> None:
    assert not judged(0.4, stop_at=0.5).enough
    assert judged(0.5, stop_at=0.5).enough


def test_another_rule_judges_what_was_seen_anew() -> None:
    tired = judged(3.0, 2.0, 1.0, patience=2)

    assert not tired.under(Rule(patience=3, min_delta=0, stop_at=None)).enough
    assert not tired.under(Rule(patience=None, min_delta=0, stop_at=4.0)).enough
    assert tired.under(Rule(patience=None, min_delta=0, stop_at=3.0)).enough
    assert tired.under(Rule(patience=1, min_delta=0, stop_at=None)).enough
    assert tired.under(Rule(patience=3, min_delta=0, stop_at=None)).best == 3.0
    assert not Judgement().under(Rule(patience=1, min_delta=0, stop_at=0.0)).enough
