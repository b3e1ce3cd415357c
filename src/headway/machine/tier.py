"""A word for the size of a machine, for people; no formula uses it."""

from enum import StrEnum

_GIB = 1 << 30


class Tier(StrEnum):
    """How large a machine is."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    SERVER = "SERVER"


# Cores and GiB that a tier asks for, the highest first.
_LEAST = ((Tier.SERVER, 32, 128), (Tier.HIGH, 16, 64), (Tier.MEDIUM, 8, 16))
# A machine sold with 128 GiB shows a little less of it.
_SHOWN = 0.93


def tier(cores: int | None, memory_bytes: int) -> Tier | None:
    """The tier of a machine of so many cores and so much memory; None where its cores were not counted.

    These are the machine's own numbers: what a container may use of it does not make it a smaller one.
    """
    if cores is None:
        return None
    fitting = (name for name, least, gib in _LEAST if cores >= least and memory_bytes >= _SHOWN * gib * _GIB)
    return next(fitting, Tier.LOW)
