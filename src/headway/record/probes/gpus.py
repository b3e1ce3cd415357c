"""GPUs: NVIDIA's through nvidia-ml-py, AMD's through the files of its Linux driver; of others, why they are absent."""

import platform
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from headway.record.probes.reading import GpuReading

_AMD = "0x1002"


class Gpus(Protocol):
    """What reads them."""

    absent: str | None
    """Why there is nothing to read; None where there is."""

    def read(self) -> Sequence[GpuReading]:
        """Each of them now."""
        ...

    def close(self) -> None:
        """Let go of the library."""
        ...


class NoGpus:
    """None that can be read."""

    def __init__(self, why: str) -> None:
        self.absent: str | None = why

    def read(self) -> Sequence[GpuReading]:
        """Nothing."""
        return ()

    def close(self) -> None:
        """Nothing to let go of."""


class Nvidia:
    """Every GPU that NVIDIA's management library shows; a figure that a card does not have is None."""

    def __init__(self, library: Any) -> None:
        self.absent: str | None = None
        self._library = library
        self._cards = [library.nvmlDeviceGetHandleByIndex(index) for index in range(library.nvmlDeviceGetCount())]
        self._activity = [_Activity(library, card) for card in self._cards]

    def read(self) -> Sequence[GpuReading]:
        """Each of them now."""
        return [self._card(card, activity) for card, activity in zip(self._cards, self._activity, strict=True)]

    def close(self) -> None:
        """Let go of the library."""
        for activity in self._activity:
            activity.close()
        with suppress(self._library.NVMLError):
            self._library.nvmlShutdown()

    def _card(self, card: Any, activity: "_Activity") -> GpuReading:
        library = self._library
        busy = self._ask(lambda: library.nvmlDeviceGetUtilizationRates(card).gpu)
        watts = self._ask(lambda: library.nvmlDeviceGetPowerUsage(card))
        return GpuReading(
            busy=None if busy is None else busy / 100,
            cores_active=self._ask(activity.share),
            memory=self._ask(lambda: library.nvmlDeviceGetMemoryInfo(card).used),
            watts=None if watts is None else watts / 1000,
            megahertz=self._ask(lambda: library.nvmlDeviceGetClockInfo(card, library.NVML_CLOCK_SM)),
        )

    def _ask(self, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except self._library.NVMLError:
            return None


class _Activity:
    """The share of multiprocessors at work between two looks; cards before Hopper do not count it."""

    def __init__(self, library: Any, card: Any) -> None:
        self._library = library
        self._card = card
        self._looks: list[Any] = []
        try:
            if library.nvmlGpmQueryDeviceSupport(card).isSupportedDevice:
                self._looks = [library.nvmlGpmSampleAlloc() for _ in range(2)]
                library.nvmlGpmSampleGet(card, self._looks[0])
        except (library.NVMLError, AttributeError):
            # An older library has no such question.
            self.close()

    def share(self) -> float | None:
        """Since the last time it was asked."""
        if not self._looks:
            return None
        library = self._library
        before, now = self._looks
        library.nvmlGpmSampleGet(self._card, now)
        question = library.c_nvmlGpmMetricsGet_t()
        question.version, question.numMetrics = library.NVML_GPM_METRICS_GET_VERSION, 1
        question.sample1, question.sample2 = before, now
        question.metrics[0].metricId = library.NVML_GPM_METRIC_SM_UTIL
        library.nvmlGpmMetricsGet(question)
        self._looks = [now, before]
        return float(question.metrics[0].value) / 100

    def close(self) -> None:
        """Free what was taken."""
        for look in self._looks:
            with suppress(self._library.NVMLError):
                self._library.nvmlGpmSampleFree(look)
        self._looks = []


class Amd:
    """Cards of the amdgpu driver, which tells in files what they do."""

    def __init__(self, cards: Sequence[Path]) -> None:
        self.absent: str | None = None
        self._cards = cards

    def read(self) -> Sequence[GpuReading]:
        """Each of them now."""
        return [self._card(card) for card in self._cards]

    def close(self) -> None:
        """Nothing is kept open."""

    def _card(self, card: Path) -> GpuReading:
        busy = _number(card / "gpu_busy_percent")
        power = next((path for path in card.glob("hwmon/*/power1_average")), None)
        microwatts = None if power is None else _number(power)
        return GpuReading(
            busy=None if busy is None else busy / 100,
            memory=_number(card / "mem_info_vram_used"),
            watts=None if microwatts is None else microwatts / 1e6,
        )


def open_gpus(*, load: Callable[[str], Any] = import_module, sys_folder: Path = Path("/sys")) -> Gpus:
    """Whatever GPUs can be read here."""
    found = _nvidia(load)
    if found.absent is None:
        return found
    cards = [path.parent for path in sorted(sys_folder.glob("class/drm/card*/device/vendor")) if _is_amd(path)]
    if cards:
        return Amd(cards)
    if sys.platform == "darwin" and platform.machine() == "arm64":
        return NoGpus("Apple tells what its GPU does only to root (powermetrics)")
    return found


def _nvidia(load: Callable[[str], Any]) -> Gpus:
    try:
        library = load("pynvml")
    except ImportError:
        return NoGpus("nvidia-ml-py is not installed; to measure NVIDIA's GPUs: pip install 'headway[gpu]'")
    try:
        library.nvmlInit()
        gpus = Nvidia(library)
    except library.NVMLError as cause:
        return NoGpus(f"NVIDIA's driver does not answer ({cause})")
    if not gpus.read():
        gpus.close()
        return NoGpus("there is no GPU of NVIDIA here")
    return gpus


def _is_amd(vendor: Path) -> bool:
    try:
        return vendor.read_text().strip() == _AMD
    except OSError:
        return False


def _number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
