import pytest

from headway.run.text import amount, count, counted, duration, percent, rate


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (0, "0"),
        (99_999, "99,999"),
        (123_456, "123 k"),
        (999_950, "1 M"),
        (1_234_567, "1.23 M"),
        (2.5e9, "2.5 G"),
        (7e12, "7 T"),
        (5e15, "5e+03 T"),
    ],
)
def test_counts_keep_three_digits(amount: float, shown: str) -> None:
    assert count(amount) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "-"),
        (0.256, "0.26 s"),
        (12.34, "12.3 s"),
        (59.96, "1 min 00 s"),
        (185, "3 min 05 s"),
        (3599.9, "1 h 00 min"),
        (7620, "2 h 07 min"),
    ],
)
def test_durations_are_said_in_one_or_two_units(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown


def test_an_unmeasured_rate_is_not_a_number() -> None:
    assert rate(None, "tokens") == "- tokens/s"
    assert rate(1_500_000, "tokens") == "1.5 M tokens/s"
    assert rate(0.52, "documents") == "0.52 documents/s"


def test_a_share_of_nothing_is_not_a_number() -> None:
    assert percent(1, 0) == "-"
    assert percent(1, 8) == "12.5 %"


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [
        (0, 9, "0.0 %"),
        (12, 610_458_000, "< 0.1 %"),
        (5, 10_000, "0.1 %"),
        (999, 1000, "99.9 %"),
        (610_258_741, 610_458_000, "> 99.9 %"),
        (9, 9, "100.0 %"),
    ],
)
def test_a_share_is_none_or_all_only_where_it_is(part: int, whole: int, shown: str) -> None:
    assert percent(part, whole) == shown


def test_one_thing_is_not_plural() -> None:
    assert (amount(1, "document"), amount(2000, "document"), amount(0, "token")) == (
        "1 document",
        "2,000 documents",
        "0 tokens",
    )
    assert (counted(1, "document"), counted(1_230_000, "token")) == ("1 document", "1.23 M tokens")
