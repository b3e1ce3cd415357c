"""A figure that was not measured, where programs expect a number to print."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Prints as "unavailable" in any format; false, and never a number that looks like a result."""

    why: str

    def __format__(self, spec: str) -> str:
        return "unavailable"

    def __str__(self) -> str:
        return "unavailable"

    def __bool__(self) -> bool:
        return False


Measured = float | Unavailable
