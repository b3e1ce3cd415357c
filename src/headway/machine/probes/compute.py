"""Computing: interpreted steps, digests, Fourier transforms and matrix products, by one core and by all."""

import hashlib
import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from headway.machine.probe import Lack, Probe, Site
from headway.machine.probes.parallel import rates

_HASHED = 16 << 20
_STEPS = 1_000_000
_POINTS, _TRANSFORMS = 1 << 12, 50
_SIDE = 1024


def compute(site: Site) -> Iterator[Probe | Lack]:
    """Probes of the processor."""
    yield Probe(
        "core.python", "M steps/s", "more", 0.15, lambda: _STEPS / 1e6 / site.paced(_count), "a loop in the interpreter"
    )
    one, all_ = rates(site, [_digest] * site.cores, _HASHED / 2**20)
    yield Probe("core.sha1", "MiB/s", "more", 0.15, one, "one core")
    yield Probe("cores.sha1", "MiB/s", "more", 0.15, all_, f"{site.cores} at once")
    # By convention 5 n log2 n operations each.
    operations = _TRANSFORMS * 5 * _POINTS * math.log2(_POINTS)
    one, all_ = rates(site, [_transforming() for _ in range(site.cores)], operations / 1e9)
    yield Probe("core.fft", "Gflop/s", "more", 0.15, one, "one core, complex double")
    yield Probe("cores.fft", "Gflop/s", "more", 0.15, all_, f"{site.cores} at once")
    left = np.random.default_rng(0).random((_SIDE, _SIDE), np.float32)
    product = np.empty_like(left)
    yield Probe(
        "cores.matmul",
        "Gflop/s",
        "more",
        0.15,
        lambda: 2 * _SIDE**3 / 1e9 / site.paced(lambda: np.matmul(left, left, out=product)),
        "float32 with the threads numpy uses here",
    )


def _count() -> None:
    number = _STEPS
    while number:
        number -= 1


def _digest() -> None:
    hashlib.sha1(_BYTES, usedforsecurity=False).digest()


def _transforming() -> Callable[[], object]:
    given = np.random.default_rng(0).random((_TRANSFORMS, _POINTS)).astype(np.complex128)
    result: NDArray[np.complex128] = np.empty_like(given)
    return lambda: np.fft.fft(given, out=result)


_BYTES = bytes(_HASHED)
