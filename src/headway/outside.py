"""Files that a user wants somewhere: ordinary ones, outside of what Headway keeps, whole or not there."""

import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from headway.durable import write_errors
from headway.errors import RunError

# What no folder holds but a run, what only memories and datasets hold together, and only tables of vectors.
_OURS = (("plan.resolved.json",), ("manifest.json", "vocabulary.json"), ("manifest.json", "matrix.npy"))
_NO_FILE = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


def place_for(path: Path, *, kept: str, ours: Sequence[Path] = (), option: str = "--output") -> Path:
    """The file behind `path`, where one may be written; a RunError where it would replace or break something.

    `kept` says what is safe then; nothing is written into the folders `ours` either. `option` is how it was given.
    """
    with _errors(path, kept):
        target = Path(os.path.realpath(path))
        if target.is_symlink():
            raise RunError(f"{path} is a link that leads back to itself; {kept}; give {option} another name")
        if target.exists() and not target.is_file():
            what = _NO_FILE.get(stat.S_IFMT(target.stat().st_mode), "a device")
            raise RunError(f"{path} is {what}; give {option} the name of an ordinary file")
        if not target.parent.is_dir():
            raise RunError(f"there is no folder {target.parent}; make it first, or choose another for {option}")
        known = [folder.resolve() for folder in ours]
        for folder in target.parents:
            if folder in known or any(all((folder / name).exists() for name in names) for names in _OURS):
                raise RunError(f"{path} lies inside {folder}, which Headway keeps; give {option} a place elsewhere")
        return target


@contextmanager
def written(path: Path, *, kept: str, ours: Sequence[Path] = (), option: str = "--output") -> Generator[Path]:
    """A draft to write: it becomes the file at `path` when the body ends in order, and is gone when it does not."""
    target = place_for(path, kept=kept, ours=ours, option=option)
    draft = target.with_name(target.name + ".part")
    with _errors(path, kept):
        try:
            yield draft
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)


def put(path: Path, content: bytes, *, kept: str, option: str = "--output") -> None:
    """Have a file at `path` with this content, or what was there before and a RunError."""
    with written(path, kept=kept, option=option) as draft, draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _errors(path: Path, kept: str) -> Generator[None]:
    """Whatever the system or a library that writes cannot do with the file is a RunError."""
    try:
        with write_errors(path, kept=kept):
            yield
    except OSError as cause:
        raise RunError(f"cannot write {path} ({cause.strerror or cause}); {kept}; choose another file") from cause
