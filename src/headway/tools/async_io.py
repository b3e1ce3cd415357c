"""Saving beside the training, under the seeds' names; written by what writes a run's own checkpoints.

Everything is taken as it is at the call, becomes durable whole or not at all, and is never dropped: with
`max_queue_size` savings waiting, a call waits too, and only a newer one under the same name replaces one that nobody
began to write. What goes wrong is raised at the next call.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np
from torch import Tensor

from headway.durable import make_folder, write_errors
from headway.errors import PlanError, RunError
from headway.learners.gradient.bundle import COMPRESSED, SUFFIX, bundle, compressed, read_bundle
from headway.learners.gradient.files import Bytes, replace_file
from headway.learners.gradient.layout import lay_out
from headway.learners.gradient.snapshot import Image, transport_for
from headway.learners.gradient.state import pack
from headway.learners.gradient.writer import Job, Writer

__all__ = ["AsyncArtifactManager", "AsyncCheckpointer", "load_checkpoint"]


def load_checkpoint(path: Path | str) -> Any:
    """What `save_checkpoint_async` was given, tensors on the CPU; by the name given there, or by that of the file."""
    given = Path(path)
    names = [given, *(given.with_name(given.name + more) for more in (SUFFIX, SUFFIX + COMPRESSED))]
    return read_bundle(next((each for each in names if each.is_file()), given))


class _Saver:
    """A folder, and the thread that writes to it."""

    def __init__(self, folder: Path | str, rooms: int) -> None:
        if rooms < 1:
            raise PlanError(type(self).__name__, [f"max_queue_size: should be 1 or more, not {rooms!r}"])
        self.folder = Path(folder)
        make_folder(self.folder)
        self._writer = Writer(rooms)

    def wait_for_completion(self, timeout: float | None = None) -> None:
        """Return when everything saved is durable; a RunError names what is not after `timeout` seconds."""
        self._writer.wait(timeout)

    def get_statistics(self) -> dict[str, Any]:
        """Counts and seconds since the beginning; what was not measured is None."""
        found = self._writer.statistics()
        return {
            "total_saves": found.written,
            "failed_saves": found.failed,
            "pending_saves": found.pending,
            "avg_save_time": found.writing.mean,
            "max_save_time": found.writing.max,
            **found.to_json(),
        }

    def shutdown(self, timeout: float | None = None) -> None:
        """Wait until everything saved is durable, and end the thread; harmless when repeated.

        After `timeout` seconds a RunError names what is not; nothing of it is given up.
        """
        if timeout is not None:
            self._writer.wait(timeout)
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.shutdown()

    def _path(self, filename: str, suffix: str = "") -> Path:
        if Path(filename).name != filename or filename in ("", ".."):
            raise PlanError(type(self).__name__, [f"filename: should be a name without a folder, not {filename!r}"])
        return self.folder / (filename if filename.endswith(suffix) else filename + suffix)

    def _write(self, path: Path, parts: Iterable[Bytes]) -> int:
        with write_errors(path, kept="what was saved before is as it was"):
            return replace_file(path, parts).bytes


class AsyncCheckpointer(_Saver):
    """Saves dicts of tensors and values: one safetensors file per name, which `load_checkpoint` reads."""

    def __init__(self, checkpoint_dir: Path | str, max_queue_size: int = 5) -> None:
        super().__init__(checkpoint_dir, max_queue_size)
        self._images = [Image() for _ in range(max_queue_size)]

    def save_checkpoint_async(
        self, checkpoint: Mapping[str, Any], filename: str, compress: bool = False, priority: int = 0
    ) -> Path:
        """Save any nesting of tensors, arrays and JSON values as it is now; the file it will be in.

        `.safetensors` is added to names without it. `compress` makes it a zstd stream (`.zst`), which takes longer and
        saves little on weights. Of those that wait, the highest `priority` is written first.
        """
        began = time.perf_counter()
        path = self._path(filename, SUFFIX)
        path = path.with_name(path.name + COMPRESSED) if compress else path
        state = pack(dict(checkpoint), where="checkpoint")
        facts = json.dumps(state.facts, allow_nan=False)
        layout, transport = lay_out(state.tensors), transport_for(state.tensors)
        room = self._writer.enter(path.name)
        image = self._images[room]
        try:
            image.fit(layout, transport)
            ticket = image.take(state.tensors, transport)
        except BaseException:
            # However it ends, the buffer is free again; the cause goes on.
            self._writer.leave(room)
            raise
        # Nobody tells when the tensors change next: let the device wait right away.
        ticket.order()

        def write() -> int:
            ticket.finish()
            parts = bundle(image, facts)
            return self._write(path, compressed(parts) if compress else parts)

        self._writer.submit(room, Job(path.name, path.name, write, priority), since=began)
        return path


class AsyncArtifactManager(_Saver):
    """Saves JSON, arrays, text and metrics: everything a run leaves beside its weights."""

    def __init__(
        self,
        artifact_dir: Path | str,
        max_queue_size: int = 64,
        *,
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        super().__init__(artifact_dir, max_queue_size)
        self._now = now
        self._given: set[str] = set()

    def save_json_async(self, data: Any, filename: str) -> Path:
        """Save a value as JSON; arrays and tensors are lists, numpy's numbers are numbers."""
        path = self._path(filename)
        try:
            content = json.dumps(data, indent=2, ensure_ascii=False, default=_plain).encode()
        except (TypeError, ValueError) as cause:
            raise RunError(f"{filename} cannot be JSON ({cause}); convert it, or use save_numpy_async") from cause
        return self._submit(path, lambda: [content])

    def save_numpy_async(self, array: np.ndarray[Any, Any], filename: str, compressed: bool = True) -> Path:
        """Save an array: as `data` in an .npz archive, or uncompressed as .npy; either is added to names without it."""
        if compressed:
            return self._save_archive({"data": array}, self._path(filename, ".npz"))
        path = self._path(filename, ".npy")
        buffer = io.BytesIO()
        np.save(buffer, _checked(array, path), allow_pickle=False)
        return self._submit(path, lambda: [buffer.getbuffer()])

    def save_text_async(self, text: str, filename: str) -> Path:
        """Save a text, in UTF-8."""
        return self._submit(self._path(filename), lambda: [text.encode()])

    def save_metrics_batch_async(self, metrics: Mapping[str, Sequence[Any]], prefix: str = "metrics") -> list[Path]:
        """Save lists of metrics as JSON, and as an .npz archive too where all of them are numbers; the files.

        Their names begin with the prefix and the time.
        """
        name = self._free_name(f"{prefix}_{self._now():%Y%m%d_%H%M%S}")
        paths = [self.save_json_async(dict(metrics), f"{name}.json")]
        arrays = {key: np.array(values) for key, values in metrics.items() if _are_numbers(values)}
        if len(arrays) == len(metrics):
            paths.append(self._save_archive(arrays, self._path(f"{name}.npz")))
        return paths

    def save_pickle_async(self, obj: Any, filename: str) -> NoReturn:  # noqa: ARG002 - the signature of the seeds
        """Always an error: reading a pickle runs whatever program is in it."""
        raise RunError(
            f"{filename} is not saved: pickle files are neither written nor read, since reading one runs any program "
            "in it; use save_json_async, save_numpy_async, save_text_async, save_metrics_batch_async, "
            "or AsyncCheckpointer for tensors"
        )

    def _save_archive(self, arrays: Mapping[str, np.ndarray[Any, Any]], path: Path) -> Path:
        copies = {name: np.array(_checked(array, path)) for name, array in arrays.items()}

        def parts() -> list[Bytes]:
            buffer = io.BytesIO()
            np.savez_compressed(buffer, allow_pickle=False, **copies)
            return [buffer.getbuffer()]

        return self._submit(path, parts)

    def _free_name(self, plain: str) -> str:
        """A name nobody has: two batches of one second are two batches."""
        name, twin = plain, 1
        while name in self._given or (self.folder / f"{name}.json").exists():
            twin += 1
            name = f"{plain}-{twin}"
        self._given.add(name)
        return name

    def _submit(self, path: Path, parts: Callable[[], Iterable[Bytes]]) -> Path:
        began = time.perf_counter()
        room = self._writer.enter(path.name)
        self._writer.submit(room, Job(path.name, path.name, lambda: self._write(path, parts())), since=began)
        return path


def _checked(array: np.ndarray[Any, Any], path: Path) -> np.ndarray[Any, Any]:
    if array.dtype.hasobject:
        raise RunError(
            f"{path.name} is not saved: an array of Python objects needs pickle; convert it to numbers or text"
        )
    return array


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(each, int | float | np.number) for each in values)


def _plain(value: Any) -> Any:
    """What JSON writes in place of a number or an array of another library."""
    match value:
        case np.generic():
            return value.item()
        case np.ndarray() | Tensor():
            return value.tolist()
        case _:
            raise TypeError(f"it has a {type(value).__name__}")
