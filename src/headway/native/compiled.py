"""The decorators of compiled functions, and where their machine code is kept between processes.

numba looks at the file of a function to see whether its machine code is stale, but a function inlines others: of other
files, too. So compiled functions lie in packages of their own, the folder of a package's machine code is named by the
content of every file in it and in here, and a change to any of them compiles all of it anew.
"""

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import config, njit
from numba.core import entrypoints

_Function = TypeVar("_Function", bound=Callable[..., Any])
# Untyped: what numba makes of a function is called like it, and its settings have no types.
_njit: Any = njit
_SETTINGS: Any = config
_HERE = Path(__file__).parent


def kernel(function: _Function) -> _Function:
    """Compile for the types it is first called with, and keep the result for later processes."""
    with _kept_in(str(folder(Path(function.__code__.co_filename).parent))):
        compiled = _njit(nogil=True, cache=True)(function)
    compiled._compile_for_args = _unextended(compiled._compile_for_args)
    return compiled


def inlined(function: _Function) -> _Function:
    """Compile as a part of the kernels that call it."""
    return _njit(forceinline=True)(function)


@cache
def folder(package: Path) -> Path:
    """The first of the usual places that can be written to; a folder of this process alone where none can."""
    name = f"kernels-{_digest(package)}"
    for place in _places(package):
        if _is_writable(place / name):
            return place / name
    # Nobody else's: what is loaded from there is run.
    alone = tempfile.mkdtemp(prefix="headway-kernels-")
    atexit.register(shutil.rmtree, alone, ignore_errors=True)
    return Path(alone)


def _places(package: Path) -> list[Path]:
    chosen = [Path(_SETTINGS.CACHE_DIR)] if _SETTINGS.CACHE_DIR else []
    # Not `Path.expanduser`, which fails where there is no home.
    of_user = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))  # noqa: PTH111
    return [*chosen, package / "__pycache__", of_user / "headway"]


def _digest(package: Path) -> str:
    digest = sha256()
    for path in (*sorted(_HERE.glob("*.py")), *sorted(package.glob("*.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _is_writable(place: Path) -> bool:
    with suppress(OSError):
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            return True
    return False


def _unextended(load: _Function) -> _Function:
    """Load a kernel without the extensions that other packages register with numba: ours need none.

    The tokenizer's package brings one of a quarter second and 50 MB. It is not put off for long: what the user's own
    program compiles later loads it.
    """
    extensions: Any = entrypoints

    def loaded(*values: Any) -> Any:
        before = extensions._already_initialized
        extensions._already_initialized = True
        try:
            return load(*values)
        finally:
            extensions._already_initialized = before

    return cast(_Function, loaded)


@contextmanager
def _kept_in(place: str) -> Generator[None]:
    before = _SETTINGS.CACHE_DIR
    _SETTINGS.CACHE_DIR = place
    try:
        yield
    finally:
        _SETTINGS.CACHE_DIR = before
