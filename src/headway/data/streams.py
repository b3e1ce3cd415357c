"""The bytes of a source, decompressed in blocks, and the one message for each way they can be bad."""

import io
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from typing import BinaryIO, Protocol, cast

from headway.data.sources import Compression, Source
from headway.errors import DataError

BLOCK = 1 << 20
# Small, because the decompressed size of what is read is not known beforehand.
COMPRESSED_BLOCK = 1 << 16


class Decoder(Protocol):
    """The decompressor of one gzip member or one zstandard frame."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


@contextmanager
def open_source(source: Source) -> Generator[BinaryIO]:
    """The plain bytes of a source; a DataError when it cannot be read, was changed, or its compression is damaged."""
    try:
        with source.path.open("rb", buffering=BLOCK) as file:
            if source.bytes is not None and file.seek(0, io.SEEK_END) != source.bytes:
                raise DataError(f"{source.name} changed after it was found; start again when it is complete")
            file.seek(0)
            yield file if source.compression is None else _plain(file, source)
    except OSError as cause:
        raise DataError(f"cannot read {source.location} ({cause.strerror or cause}); check its permissions") from cause


def _plain(file: BinaryIO, source: Source) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(Decompressed(file, source=source), BLOCK))


class Decompressed(io.RawIOBase):
    """A compressed file as plain bytes, member after member; ending inside a member is damage."""

    def __init__(self, file: BinaryIO, *, source: Source) -> None:
        super().__init__()
        self._file = file
        self._source = source
        self._decoder: Decoder | None = None
        self._input = b""
        self._plain = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # pyright: ignore[reportIncompatibleMethodOverride] # BufferedReader hands in a memoryview
        while not self._plain and self._advance():
            pass
        size = min(len(buffer), len(self._plain))
        buffer[:size] = self._plain[:size]
        self._plain = self._plain[size:]
        return size

    def _advance(self) -> bool:
        """Decompress one block more; False at the end of the file."""
        self._input = self._input or self._file.read(COMPRESSED_BLOCK)
        if not self._input:
            if self._decoder is not None:
                raise self._damage("it ends in the middle")
            return False
        # Tools may pad a gzip file with zero bytes; a member never starts with one.
        if self._decoder is None and self._source.compression == "gz":
            self._input = self._input.lstrip(b"\0")
        if self._input:
            self._decode()
        return True

    def _decode(self) -> None:
        import zstandard

        decoder = self._decoder or _decoder(self._source.compression)
        try:
            self._plain = memoryview(decoder.decompress(self._input))
        except (zlib.error, zstandard.ZstdError) as cause:
            raise self._damage(str(cause)) from cause
        self._input = decoder.unused_data
        self._decoder = None if decoder.eof else decoder

    def _damage(self, reason: str) -> DataError:
        tool = "gzip -t" if self._source.compression == "gz" else "zstd -t"
        return DataError(f"{self._source.name} is damaged or incomplete ({reason}); check it with: {tool} FILE")


def _decoder(compression: Compression | None) -> Decoder:
    if compression == "gz":
        return cast(Decoder, zlib.decompressobj(wbits=31))
    import zstandard

    return cast(Decoder, zstandard.ZstdDecompressor().decompressobj())


def lines_before(source: Source, offset: int) -> int:
    """How many lines end before a byte of a source; read anew, for messages only."""
    count = 0
    with open_source(source) as file:
        while offset > 0 and (block := file.read(min(BLOCK, offset))):
            count += block.count(b"\n")
            offset -= len(block)
    return count


def decoded(data: bytes, *, source: Source, offset: int) -> str:
    """UTF-8 text; a DataError with line and byte when it is not, `offset` being where data starts in the source."""
    if b"\0" in data:
        raise refused(source, data, offset, data.index(b"\0"))
    try:
        return data.decode()
    except UnicodeDecodeError as cause:
        raise refused(source, data, offset, cause.start) from cause


def refused(source: Source, data: bytes, offset: int, at: int) -> DataError:
    """What is wrong with byte `at` of data: it is no text at all, or no UTF-8."""
    start = _head(source)
    place = f"line {lines_before(source, offset + at) + 1}, byte {offset + at}"
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return DataError(f"{source.name} is UTF-16, not UTF-8; convert it with: iconv -f UTF-16 -t UTF-8 FILE")
    if data[at] == 0:
        wrong = "a NUL byte, so this is a binary file and no text"
        return DataError(f"{source.name}, {place}: {wrong}; remove it from data.sources or correct its suffix")
    wrong = f"invalid UTF-8 (0x{data[at]:02x})"
    return DataError(
        f"{source.name}, {place}: {wrong}; repair the file, or convert it with: iconv -f ENCODING -t UTF-8"
    )


def _head(source: Source) -> bytes:
    with open_source(source) as file:
        return file.read(4)
