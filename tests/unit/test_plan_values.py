"""Figures that add up."""

from math import inf, isnan, nan

from headway.plan.values import Mean, add_metrics, finite


def test_counts_and_means_add_up_name_by_name() -> None:
    sums = {"seen": 1, "loss": Mean(2.0, 1.0)}

    add_metrics(sums, {"seen": 2, "loss": Mean(4.0, 3.0), "new": Mean(1.0, 1.0)})

    assert sums == {"seen": 3, "loss": Mean(6.0, 4.0), "new": Mean(1.0, 1.0)}


def test_a_mean_is_its_total_over_its_weight_and_of_nothing_no_number() -> None:
    assert Mean(3.0, 2.0).value == 1.5
    assert isnan(Mean(0.0, 0.0).value)


def test_what_is_no_number_is_left_out() -> None:
    kept = {"count": 2, "share": 0.5, "mean": Mean(1.0, 0.0)}
    left = {"nan": nan, "inf": -inf, "total": Mean(nan, 1.0), "weight": Mean(1.0, inf)}

    assert finite(kept | left) == kept
