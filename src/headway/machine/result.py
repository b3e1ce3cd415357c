"""A result of the bench: of which machine, when, and every figure; as JSON and back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway.errors import DataError
from headway.machine.figure import Figure, figure_from

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """What a machine was measured to do."""

    fingerprint: str | None
    """Of the machine."""
    folder: str
    """The folder whose disk was measured."""
    began: str
    """In UTC."""
    seconds: float
    """How long it took."""
    hardware: Mapping[str, Any]
    """The description of the machine at that time."""
    figures: tuple[Figure, ...]

    def figure(self, name: str) -> Figure:
        """One figure; one without values where the result does not have it."""
        missing = Figure(name=name, unit="", why="this result was made without it")
        return next((each for each in self.figures if each.name == name), missing)

    def to_json(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "format": FORMAT,
            "fingerprint": self.fingerprint,
            "folder": self.folder,
            "began": self.began,
            "seconds": self.seconds,
            "hardware": dict(self.hardware),
            "figures": [figure.to_json() for figure in self.figures],
        }


def result_from(known: Any, where: str) -> BenchResult:
    """A result as it was written; a DataError that names the place when it is none."""
    try:
        if known["format"] != FORMAT:
            raise DataError(f"{where} has format {known['format']}, not {FORMAT}; measure again: headway machine bench")
        return BenchResult(
            fingerprint=known["fingerprint"],
            folder=known["folder"],
            began=known["began"],
            seconds=known["seconds"],
            hardware=known["hardware"],
            figures=tuple(figure_from(figure) for figure in known["figures"]),
        )
    except (KeyError, TypeError) as cause:
        raise DataError(
            f"{where} is no result of a bench; make one with: headway machine bench --json > a.json"
        ) from cause
