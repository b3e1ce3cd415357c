"""What sizes, durations and change markers mean."""

from dataclasses import dataclass
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.plan.section import (
    CAREFUL,
    FIXED,
    FREE,
    Duration,
    format_bytes,
    parse_bytes,
    parse_duration,
    settings,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    depth: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    plain: int
    often: Annotated[Duration, FREE] = 1.0
    limit: Annotated[int | None, CAREFUL] = None
    inner: Annotated[Inner, FREE] | None = None
    many: tuple[Inner, ...] = ()


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("17", 17), ("1GiB", 1 << 30), ("512 MB", 512_000_000), ("1.5kib", 1536), (" 2 TB ", 2 * 10**12)],
)
def test_a_size_is_written_in_decimal_or_binary_units(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "seconds"), [("5s", 5.0), ("2m", 120.0), ("1h", 3600.0), ("500ms", 0.5), ("0.1", 0.1)]
)
def test_a_duration_is_written_with_a_unit_or_in_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "GiB", "1XB", "-1MB", "1 2", "1e9", "٣MB"])
def test_what_is_no_size_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="1GiB"):
        parse_bytes(text)


def test_what_is_no_duration_is_refused_with_an_example() -> None:
    with pytest.raises(ValueError, match=r"'5 years' is not a duration; write it like '500ms'"):
        parse_duration("5 years")


@given(st.integers(min_value=0, max_value=1 << 80))
def test_a_size_in_bytes_is_exact_however_large(size: int) -> None:
    assert parse_bytes(str(size)) == size


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (1 << 30, "1 GiB"), (5 << 50, "5.12e+03 TiB")]
)
def test_a_size_is_shown_in_the_largest_unit_it_fills(size: int, text: str) -> None:
    assert format_bytes(size) == text


def test_a_setting_without_a_marker_is_fixed() -> None:
    changes = {name: setting.change for name, setting in settings(Outer).items()}

    assert changes == {"plain": FIXED, "often": FREE, "limit": CAREFUL, "inner": FIXED, "many": FIXED}


def test_a_setting_knows_its_default_and_the_section_it_holds() -> None:
    found = settings(Outer)

    assert found["plain"].required
    assert not found["limit"].required
    assert found["often"].default == 1.0
    assert found["inner"].section is Inner
    assert found["many"].section is None
