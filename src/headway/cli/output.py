"""Standard output that says so when it takes no more, and writes what it can of any character."""

import codecs
import errno
import io
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TextIO, cast

# EX_IOERR of sysexits.h.
UNWRITABLE = 74
_ESCAPED = "headway-escaped"
_STRICT = ("strict", "surrogateescape")


class OutputError(OSError):
    """Standard output takes no more."""


class Output(io.TextIOBase):
    """A stream whose failures are OutputErrors, remembered; None is one that was closed before we began."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._failure: BrokenPipeError | OutputError | None = None

    def write(self, text: str, /) -> int:
        """Write all of the text; a reader that left stays a BrokenPipeError."""
        with self._failures():
            return self._open().write(text)

    def flush(self) -> None:
        """Pass on what is buffered; the failure of a write that somebody kept silent about is told again."""
        if self._failure is not None:
            raise self._failure
        if self._stream is not None:
            with self._failures():
                self._stream.flush()

    def isatty(self) -> bool:
        """Whether a person may be looking."""
        return self._stream is not None and not self._stream.closed and self._stream.isatty()

    def fileno(self) -> int:
        """The descriptor; an OSError where there is none."""
        return self._open().fileno()

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride] # read-only, as everywhere
        """How characters are written."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def forget(self) -> None:
        """Point it at nothing, so that the interpreter's last flush finds no failure."""
        with suppress(OSError, ValueError):
            here = self.fileno()
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, here)
            os.close(nothing)

    @contextmanager
    def _failures(self) -> Generator[None]:
        try:
            yield
        except (BrokenPipeError, OutputError) as cause:
            self._failure = cause
            raise
        except OSError as cause:
            self._failure = OutputError(cause.errno, cause.strerror or str(cause))
            raise self._failure from cause
        except ValueError as cause:
            # What a closed stream says.
            self._failure = OutputError(errno.EBADF, str(cause))
            raise self._failure from cause

    def _open(self) -> TextIO:
        if self._stream is None:
            raise OutputError(errno.EBADF, "it is closed")
        return self._stream


class Forgiving(Output):
    """A stream that falls silent when it takes no more: a display is no reason to end what it shows."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._gone = False

    def write(self, text: str, /) -> int:
        """Write the text, if anybody reads it."""
        self._unless_gone(lambda: super(Forgiving, self).write(text))
        return len(text)

    def flush(self) -> None:
        """Pass on what is buffered, if anybody reads it."""
        self._unless_gone(super().flush)

    def _unless_gone(self, act: Callable[[], object]) -> None:
        if self._gone:
            return
        try:
            act()
        except OSError:
            self._gone = True


@contextmanager
def checked_output() -> Generator[Output]:
    """Standard output as an Output, while entered."""
    stream: TextIO | None = sys.stdout
    if stream is None:
        _occupy()
    elif isinstance(stream, io.TextIOWrapper) and stream.errors in _STRICT:
        stream.reconfigure(errors=_ESCAPED)
    output = Output(stream)
    with redirect_stdout(cast(TextIO, output)):
        yield output


def say(text: str) -> None:
    """A line on standard error, if that takes it."""
    stream: TextIO | None = sys.stderr
    if stream is not None:
        with suppress(OSError, ValueError):
            print(text, file=stream, flush=True)


def _occupy() -> None:
    """Keep 0, 1 and 2 from becoming files of ours: what a library prints would land in them."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(opened)


def _escape(error: UnicodeError) -> tuple[str, int]:
    """What a stream cannot encode, as JSON escapes it: right in JSON lines and readable elsewhere."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in zip(units[::2], units[1::2], strict=True)), error.end


codecs.register_error(_ESCAPED, _escape)
