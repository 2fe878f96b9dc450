"""The text of files, in any encoding: the one reader for everything that people and other tools write.

UTF-8 with and without a byte order mark, UTF-16 and UTF-32 of either byte order, gzip, bzip2 and xz are read; lines may
end as on Windows, and the last one need not end. Files of bytes (perf.data, regions) have their own readers.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from becalm.errors import UsageError

MOST_BYTES = 256 << 20
"""The size above which a file is refused, since it would be held in memory several times."""

MOST_OF_DEVICE = 16 << 20
"""The same of a device, which may have no end."""

STANDARD_INPUT = "-"
"""The path that stands for standard input."""

MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
"""The byte order marks. That of UTF-32 begins like that of UTF-16 and comes first."""

SAMPLE = 4096
"""The bytes from which an encoding without a mark is recognised."""


class NotTextError(ValueError):
    """Bytes are not text. The message says why, without a full stop."""


def read_text(path: str | Path, called: str = "", *, most: int = MOST_BYTES, legacy: bool = False) -> str:
    """Return the text of a file, or of standard input for `-`, with `\\n` at the end of each line.

    `called`: the subject of the error message (default: the path). `legacy`: bytes that are not UTF-8 are Windows-1252.
    Raises UsageError if the file cannot be read, is larger than `most` bytes, or is not text.
    """
    return decoded(read_bytes(path, called, most=most), called or str(path), legacy=legacy)


def decoded(data: bytes, called: str, *, legacy: bool = False) -> str:
    """Return the text of bytes. Raises UsageError with this subject if they are not text."""
    try:
        return text_of(data, legacy=legacy)
    except NotTextError as error:
        raise UsageError(f"{called} cannot be read: {error}.") from None


def read_bytes(path: str | Path, called: str = "", *, most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a file, unpacked if it is compressed.

    Raises UsageError if it cannot be read, or has more than `most` bytes, packed or unpacked.
    """
    called = called or str(path)
    try:
        with _opened(path) as file:
            data = unpacked(file.read(_limit(file, most) + 1), most)
            limit = _limit(file, most)
    except NotTextError as error:
        raise UsageError(f"{called} cannot be read: {error}.") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{called} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if len(data) > limit:
        raise UsageError(f"{called} has more than {limit >> 20} MiB, which is too much to be read at once.")
    return data


@contextmanager
def plain_file(path: str) -> Iterator[str]:
    """Yield the path of a file whose bytes are UTF-8: the file itself, or a copy while the block runs.

    For readers outside of Python, of files of any size. Raises UsageError if it cannot be read, or is not text.
    """
    try:
        with _opened(path) as file:
            head = file.read(SAMPLE) if Path(path).is_file() else b""
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from None
    packed = any(head.startswith(mark) for mark, _, _ in PACKED)
    marked = any(head.startswith(mark) for mark, name in MARKS if name != "utf-8")
    if head and not packed and not marked and _unmarked(head) == "utf-8":
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="becalm-") as folder:
        copy = Path(folder) / "text"
        copy.write_text(read_text(path), encoding="utf-8")
        try:
            yield str(copy)
        except UsageError as error:
            raise UsageError(str(error).replace(str(copy), path)) from None


DATABASE = b"SQLite format 3\0"
"""The first bytes of every SQLite file, as stores are (SQLite, Database File Format, 1.3)."""


def target(path: str | Path) -> Path:
    """Return the path of a file that is to be written. Raises UsageError for a database, which would be lost."""
    with contextlib.suppress(OSError), Path(path).open("rb") as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode) and file.read(len(DATABASE)) == DATABASE:
            raise UsageError(f"{path} is a database, as a store is, and would be overwritten. Give another name.")
    return Path(path)


def _opened(path: str | Path) -> BinaryIO:
    if str(path) == STANDARD_INPUT:
        return open(0, "rb", closefd=False)
    return Path(path).open("rb")


def _limit(file: BinaryIO, most: int) -> int:
    """Return the number of bytes to read. Raises NotTextError for a disk."""
    try:
        mode = Path(f"/proc/self/fd/{file.fileno()}").stat().st_mode
    except (OSError, io.UnsupportedOperation):
        return most
    if stat.S_ISBLK(mode):
        raise NotTextError("it is a device")
    return min(most, MOST_OF_DEVICE) if stat.S_ISCHR(mode) else most


def unpacked(data: bytes, most: int = MOST_BYTES) -> bytes:
    """Return the content of compressed data, at most one byte more than `most`; other data as they are.

    Raises NotTextError if compressed data are damaged, or compressed by a method that Python lacks.
    """
    for mark, name, unpack in PACKED:
        if data.startswith(mark):
            if unpack is None:
                raise NotTextError(f"it is {name}; unpack it first")
            try:
                return unpack(data, most + 1)
            except (OSError, EOFError, ValueError, ImportError) as error:
                raise NotTextError(f"it is {name}, but cut or damaged ({error})") from None
            except Exception as error:
                # zlib.error and lzma.LZMAError derive from Exception only.
                raise NotTextError(f"it is {name}, but damaged ({error})") from None
    return data


def _gzip(data: bytes, most: int) -> bytes:
    import gzip

    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        return file.read(most)


def _bzip2(data: bytes, most: int) -> bytes:
    import bz2

    with bz2.BZ2File(io.BytesIO(data)) as file:
        return file.read(most)


def _xz(data: bytes, most: int) -> bytes:
    import lzma

    with lzma.LZMAFile(io.BytesIO(data)) as file:
        return file.read(most)


PACKED: tuple[tuple[bytes, str, Callable[[bytes, int], bytes] | None], ...] = (
    (b"\x1f\x8b", "compressed by gzip", _gzip),
    (b"BZh", "compressed by bzip2", _bzip2),
    (b"\xfd7zXZ\x00", "compressed by xz", _xz),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", None),
    (b"PK\x03\x04", "a ZIP archive or a workbook", None),
)
"""The first bytes of compressed files, what they are, and the function that unpacks them."""


def text_of(data: bytes, *, legacy: bool = False) -> str:
    """Return the text of bytes in any encoding of this module, with `\\n` at the end of each line.

    `legacy`: bytes that are not UTF-8 are Windows-1252, as older spreadsheets write. Raises NotTextError.
    """
    mark, encoding = next(((mark, name) for mark, name in MARKS if data.startswith(mark)), (b"", _unmarked(data)))
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        if encoding != "utf-8" or b"\0" in data or not legacy:
            raise NotTextError(_why(data, error, encoding)) from None
        text = data.decode("cp1252", "replace")
    return text.replace("\r\n", "\n")


def _unmarked(data: bytes) -> str:
    """Return the encoding of bytes without a mark: Latin letters in UTF-16 have a zero in every other byte."""
    sample = data[: min(SAMPLE, len(data) // 2 * 2)]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if 5 * odd > len(sample) and not even:
        return "utf-16-le"
    if 5 * even > len(sample) and not odd:
        return "utf-16-be"
    return "utf-8"


def _why(data: bytes, error: UnicodeDecodeError, encoding: str) -> str:
    if encoding != "utf-8":
        return f"it is not text: it begins like {encoding.upper()} and breaks at byte {error.start}"
    if b"\0" in data[:SAMPLE]:
        return "it is not text"
    return f"it is not text in UTF-8 or UTF-16: byte {data[error.start]:#04x} at {error.start}"
