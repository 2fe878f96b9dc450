"""The reader for text files in any encoding that people and other tools write.

UTF-8 with and without a byte order mark, UTF-16 and UTF-32 of either byte order, gzip, bzip2 and xz are read; lines may
end as on Windows, and the last one need not end. Files of bytes (perf.data, regions) have their own readers.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from becalm.errors import UsageError

MOST_BYTES = 256 << 20
"""The size above which a file is refused, since it would be held in memory several times."""

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
    """An error for bytes that are not text. The message is the reason, without a full stop."""


def read_text(path: str | Path, called: str = "", *, most: int = MOST_BYTES, legacy: bool = False) -> str:
    """Return the text of a file, or of standard input for `-`, with `\\n` at the end of each line.

    `called`: the subject of the error message (default: the path). `legacy`: bytes that are not UTF-8 are Windows-1252.
    Raises UsageError if the file cannot be read, is larger than `most` bytes, or is not text.
    """
    return decode(read_bytes(path, called, most=most), called or str(path), legacy=legacy)


def decode(data: bytes, called: str, *, legacy: bool = False) -> str:
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
        with open_bytes(path) as file:
            data = decompress(file.read(most + 1), most)
    except NotTextError as error:
        raise UsageError(f"{called} cannot be read: {error}.") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{called} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if len(data) > most:
        raise UsageError(f"{called} has more than {most >> 20} MiB, which is too much to be read at once.")
    return data


@contextmanager
def plain_file(path: str) -> Iterator[str]:
    """Yield the path of a file whose bytes are UTF-8: the file itself, or a copy while the block runs.

    For readers outside of Python, of files of any size. Raises UsageError if it cannot be read, or is not text.
    """
    try:
        with open_bytes(path) as file:
            head = file.read(SAMPLE) if Path(path).is_file() else b""
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from None
    except NotTextError as error:
        raise UsageError(f"{path} cannot be read: {error}.") from None
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


NULL = os.makedev(1, 3)
"""The device that is empty (Documentation/admin-guide/devices.txt)."""


def open_bytes(path: str | Path) -> BinaryIO:
    """Open a file of bytes, standard input for `-`, or a pipe that a shell has opened: `<(COMMAND)`, /dev/stdin. Raises
    OSError; NotTextError for devices, named pipes and sockets, which may have no end or block.
    """
    if str(path) == STANDARD_INPUT:
        return open(0, "rb", closefd=False)
    # Without O_NONBLOCK a named pipe would wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        if (what := _refusal(path, os.fstat(descriptor))) is not None:
            raise NotTextError(f"it is {what}, and not a file; a pipe is read as - from standard input")
        os.set_blocking(descriptor, True)
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _refusal(path: str | Path, status: os.stat_result) -> str | None:
    """Return the kind of a path that is not a regular file; None for a file and for a pipe that is already open."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if stat.S_ISFIFO(status.st_mode):
        # /proc/self/fd/N may lead to an anonymous pipe, which has no path of its own (proc(5)).
        return None if re.fullmatch(r"/proc/\d+/fd/pipe:\[\d+\]", os.path.realpath(path)) else "a named pipe"
    if stat.S_ISCHR(status.st_mode) and status.st_rdev == NULL:
        return None
    return None if stat.S_ISREG(status.st_mode) else "a device"


def decompress(data: bytes, most: int = MOST_BYTES) -> bytes:
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
"""The first bytes of compressed files, the name of the format, and the function that unpacks it."""


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
