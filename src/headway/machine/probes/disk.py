"""The disk behind a folder: long writes and reads, single blocks, small files, and how long durable takes.

Reads go past the page cache, else they would measure memory: with O_DIRECT where the file system has it, else after the
kernel was asked to forget the file.
"""

import mmap
import os
import random
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from headway.durable import sync_folder
from headway.machine.probe import REPETITION, Lack, Probe, Site
from headway.machine.storage import disk_of

MIB = 1 << 20
_BLOCK = 4096
_LARGEST, _LEAST = 64 * MIB, 4 * MIB
# Slow disks write a shorter file: no write goes on for longer.
_SECONDS = 0.25
_SYNCS = 8
_FILES = 64
_SHARE = 0.05
_READS = (("disk.read", "MiB/s"), ("disk.random_read", "reads/s"))


def disk(site: Site) -> Iterator[Probe | Lack]:
    """Probes of the disk that the site's folder is on."""
    material = _Material(site)
    yield Probe("disk.write", "MiB/s", "more", 0.3, material.write, "blocks of 1 MiB, fsync included")
    yield from _reads(material)
    yield Probe("disk.fsync", "ms", "less", 0.3, material.sync, f"4 KiB appended, then fsync; mean of {_SYNCS}")
    yield Probe("disk.small_files", "files/s", "more", 0.3, material.small, "4 KiB rewritten and read, not synced")


def _reads(material: "_Material") -> Iterator[Probe | Lack]:
    if disk_of(material.folder).kind == "memory":
        yield from (
            Lack(name, unit, "this file system is memory; nothing is read from a disk") for name, unit in _READS
        )
        return
    material.write()
    way = reading(material.path)
    if way is None:
        yield from (Lack(name, unit, "this system reads through its page cache only") for name, unit in _READS)
        return
    yield Probe("disk.read", "MiB/s", "more", 0.3, lambda: material.read(way), f"blocks of 1 MiB, {way.how}")
    yield Probe(
        "disk.random_read", "reads/s", "more", 0.3, lambda: material.read_anywhere(way), f"4 KiB, one by one, {way.how}"
    )


@dataclass(frozen=True, slots=True)
class Reading:
    """A way past the page cache: how a file is opened, and what has to be done before each reading."""

    how: str
    flags: int
    forget: Callable[[int], None]


def reading(path: Path) -> Reading | None:
    """The way past the page cache that a file allows; None where there is none."""
    direct = Reading("O_DIRECT", os.O_RDONLY | getattr(os, "O_DIRECT", 0), _keep)
    if direct.flags != os.O_RDONLY and _works(path, direct):
        return direct
    if hasattr(os, "posix_fadvise"):
        return Reading("evicted from the page cache before", os.O_RDONLY, _evict)
    return None


def _works(path: Path, way: Reading) -> bool:
    try:
        with _opened(path, way.flags) as descriptor, mmap.mmap(-1, _BLOCK) as block:
            return os.preadv(descriptor, [block], 0) == _BLOCK
    except OSError:
        return False


def _keep(descriptor: int) -> None:
    del descriptor


def _evict(descriptor: int) -> None:
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


class _Material:
    """A file of bytes that no disk can compress, and what is done with it."""

    def __init__(self, site: Site) -> None:
        self.folder = site.folder
        self.path = site.folder / "material"
        self._site = site
        self._block = random.Random(0).randbytes(MIB)
        self._largest = max(_LEAST, min(_LARGEST, int(disk_of(site.folder).free_bytes * _SHARE)))
        self._chance = random.Random(1)

    def write(self) -> float:
        """MiB a second of a new file, until all of it is durable."""
        self.path.unlink(missing_ok=True)
        self._settle()
        clock = self._site.clock
        began = clock()
        size = 0
        with _opened(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor:
            while size < self._largest and (size < _LEAST or clock() - began < _SECONDS):
                size += os.write(descriptor, self._block)
            os.fsync(descriptor)
        return size / MIB / max(clock() - began, 1e-9)

    def read(self, way: Reading) -> float:
        """MiB a second of the file from its beginning."""
        clock = self._site.clock
        with _opened(self.path, way.flags) as descriptor, mmap.mmap(-1, MIB) as block:
            way.forget(descriptor)
            began, size = clock(), os.preadv(descriptor, [block], 0)
            # One block at least, on a disk that needs longer than all of it may take.
            while clock() - began < _SECONDS and (count := os.preadv(descriptor, [block], size)):
                size += count
            return size / MIB / max(clock() - began, 1e-9)

    def read_anywhere(self, way: Reading) -> float:
        """Blocks a second, each somewhere else in the file."""
        clock, blocks = self._site.clock, self.path.stat().st_size // _BLOCK
        with _opened(self.path, way.flags) as descriptor, mmap.mmap(-1, _BLOCK) as block:
            way.forget(descriptor)
            began, count = clock(), 0
            while count < blocks and (count < _SYNCS or clock() - began < REPETITION):
                os.preadv(descriptor, [block], self._chance.randrange(blocks) * _BLOCK)
                count += 1
            return count / max(clock() - began, 1e-9)

    def sync(self) -> float:
        """Milliseconds until a small change is durable."""
        self._settle()
        with _opened(self.folder / "synced", os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor:
            took = self._site.paced(lambda: self._append(descriptor))
        return 1000 * took / _SYNCS

    def _settle(self) -> None:
        """Wait until the file system has done what was asked of it before: removing files goes on after the call."""
        sync_folder(self.folder)

    def _append(self, descriptor: int) -> None:
        for _ in range(_SYNCS):
            os.write(descriptor, self._block[:_BLOCK])
            os.fsync(descriptor)

    def small(self) -> float:
        """Small files a second."""
        paths = [self.folder / f"small-{number}" for number in range(_FILES)]
        # Made once: a file system that has just removed many files looks long for the place of a new one.
        for path in paths:
            path.write_bytes(self._block[:_BLOCK])
        self._settle()
        return _FILES / self._site.paced(lambda: [self._rewrite(path) for path in paths])

    def _rewrite(self, path: Path) -> None:
        with _opened(path, os.O_WRONLY) as descriptor:
            os.write(descriptor, self._block[:_BLOCK])
        with _opened(path, os.O_RDONLY) as descriptor:
            os.read(descriptor, _BLOCK)


@contextmanager
def _opened(path: Path, flags: int) -> Generator[int]:
    descriptor = os.open(path, flags, 0o600)
    try:
        yield descriptor
    finally:
        with suppress(OSError):
            os.close(descriptor)
