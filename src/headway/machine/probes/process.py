"""Processes: how long one takes from its start to its end."""

import subprocess
import sys
from collections.abc import Iterator

from headway.machine.probe import Lack, Probe, Site

_SECONDS = 30.0


def process(site: Site) -> Iterator[Probe | Lack]:
    """The probe of starting a program."""
    yield Probe(
        "process.spawn", "ms", "less", 0.25, lambda: 1000 * site.paced(_spawn), "an interpreter that does nothing"
    )


def _spawn() -> None:
    subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True, timeout=_SECONDS)
