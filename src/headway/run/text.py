"""Numbers and times as people read them."""

from time import localtime, strftime

from headway.plan.section import format_bytes
from headway.plan.values import Mean


def count(amount: float) -> str:
    """An exact count up to 99,999; above, three digits and a unit: "1.23 M"."""
    if abs(amount) < 100_000:
        return f"{amount:,.0f}"
    # 999,950 would round to "1000 k": it is "1 M".
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(amount) >= size * 0.9995:
            return f"{amount / size:.3g} {unit}"
    raise AssertionError(amount)


def figure(value: float | Mean) -> str:
    """A count as `count` shows it, a mean with four digits."""
    return f"{value.value:.4g}" if isinstance(value, Mean) else count(value)


def rate(per_second: float | None, what: str) -> str:
    """ "1.23 M tokens/s"; an unmeasured rate says so."""
    if per_second is None:
        return f"- {what}/s"
    shown = f"{per_second:.2g}" if 0 < per_second < 10 else count(per_second)
    return f"{shown} {what}/s"


def amount(number: int, what: str) -> str:
    """ "1 document", "2,000 documents"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def counted(number: int, what: str) -> str:
    """The same with the number as `count` shows it: "1 document", "1.23 M tokens"."""
    return f"{count(number)} {what}{'' if number == 1 else 's'}"


def duration(seconds: float | None) -> str:
    """ "0.42 s", "12.3 s", "3 min 05 s" or "2 h 07 min"; "-" when it is not known."""
    if seconds is None:
        return "-"
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def when(time: float | None, shape: str = "%Y-%m-%d %H:%M") -> str:
    """ "2026-11-20 14:05" where the reader is; "-" when it is not known."""
    return "-" if time is None else strftime(shape, localtime(time))


def peak(resident: int | None, shared_once: int | None) -> str:
    """The most memory that was seen: "612 MiB at most (430 MiB with shared pages counted once)"."""
    if resident is None:
        return "not measured"
    once = "" if shared_once is None else f" ({format_bytes(shared_once)} with shared pages counted once)"
    return f"{format_bytes(resident)} at most{once}"


def cores(used: float | None) -> str:
    """Processor time per time: "1.73 cores on average"."""
    return "not measured" if used is None else f"{used:.2f} cores on average"


def percent(part: float, whole: float) -> str:
    """ "42.0 %"; "-" of nothing; "< 0.1 %" and "> 99.9 %" where rounding would say none or all."""
    if not whole:
        return "-"
    share = 100 * part / whole
    if 0 < share < 0.05:
        return "< 0.1 %"
    return "> 99.9 %" if 99.95 <= share < 100 else f"{share:.1f} %"
