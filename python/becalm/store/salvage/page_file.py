"""The pages of an SQLite file as its last committed transaction left them, those in its write-ahead log included."""

from __future__ import annotations

import struct
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from becalm.files.written import DATABASE

USUAL_SIZE = 4096
"""The page size of new SQLite files, which is assumed for a store whose header is lost."""

LEAF_TABLE, LEAF_INDEX, INNER_TABLE, INNER_INDEX = 0x0D, 0x0A, 0x05, 0x02
KINDS = (LEAF_TABLE, LEAF_INDEX, INNER_TABLE, INNER_INDEX)

_HEADER = 100
_LOG_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_LOG_MAGIC = 0x377F0682
"""The magic number of a log with checksums of little-endian words; one more for big-endian ones (4.1)."""


class PageFile:
    """A file opened for reading only, as a context manager. Pages are counted from 1."""

    def __init__(self, path: Path) -> None:
        """Open the file and its write-ahead log. Raises OSError."""
        self._file: BinaryIO = path.open("rb")
        try:
            self._log: BinaryIO | None = path.with_name(path.name + "-wal").open("rb")
        except OSError:
            self._log = None
        self.header = self._read(0, _HEADER)
        self._length = self._file.seek(0, 2)
        self.size, reserved = self._sizes()
        self.usable = self.size - reserved
        self._logged: dict[int, int] = {}
        pages = self._length // self.size
        if self._log is not None:
            pages = max(pages, _committed(self._log, self.size, self._logged))
        self.count = pages
        if 1 in self._logged:
            self.header = self.page(1)[:_HEADER]

    def __enter__(self) -> PageFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if self._log is not None:
            self._log.close()

    def page(self, number: int) -> bytes:
        """Return a page; zeros if it cannot be read."""
        try:
            if self._log is not None and number in self._logged:
                self._log.seek(self._logged[number])
                data = self._log.read(self.size)
            else:
                data = self._read((number - 1) * self.size, self.size)
        except OSError:
            data = b""
        return data.ljust(self.size, b"\0")

    def has(self, number: int) -> bool:
        """Return whether the file is long enough for a page of this number."""
        return 1 <= number <= self.count

    def free(self) -> set[int]:
        """Return the unused pages (1.5); none if the header is lost."""
        result: set[int] = set()
        trunk = int.from_bytes(self.header[32:36]) if self.header.startswith(DATABASE) else 0
        while self.has(trunk) and trunk not in result:
            result.add(trunk)
            page = self.page(trunk)
            following, leaves = struct.unpack_from(">2I", page)
            if leaves > self.usable // 4 - 2:
                break
            result.update(filter(self.has, struct.unpack_from(f">{leaves}I", page, 8)))
            trunk = following
        return result

    def _read(self, start: int, length: int) -> bytes:
        self._file.seek(start)
        return self._file.read(length)

    def _sizes(self) -> tuple[int, int]:
        """Return the page size and the bytes at the end of a page that are not used (1.3.2, 1.3.4)."""
        size = int.from_bytes(self.header[16:18])
        size = 65536 if size == 1 else size
        reserved = self.header[20] if len(self.header) > 20 else 0
        possible = 512 <= size <= 65536 and size & (size - 1) == 0 and reserved <= 32
        if possible and (size == USUAL_SIZE or self._plausible(size) > self._plausible(USUAL_SIZE)):
            return size, reserved
        return USUAL_SIZE, 0

    def _plausible(self, size: int) -> float:
        """Return the share of pages of this size that begin like pages of a tree."""
        starts = range(size, self._length, size)
        return sum(self._read(start, 1) in [bytes([kind]) for kind in KINDS] for start in starts) / max(len(starts), 1)


def _committed(log: BinaryIO, size: int, offsets: dict[int, int]) -> int:
    """Find the newest pages of committed transactions in a log (4.2 to 4.4); return the number of pages of the file
    with them."""
    head = log.read(_LOG_HEADER.size)
    if len(head) < _LOG_HEADER.size:
        return 0
    magic, _, page_size, _, salt, salt_too, *sums = _LOG_HEADER.unpack(head)
    order = "<" if magic == _LOG_MAGIC else ">"
    running = _sums(head[:24], order, (0, 0))
    if magic not in (_LOG_MAGIC, _LOG_MAGIC + 1) or page_size != size or tuple(sums) != running:
        return 0
    pages, waiting = 0, {}
    while len(head := log.read(_FRAME.size)) == _FRAME.size:
        number, after, *salts, first, second = _FRAME.unpack(head)
        place, page = log.tell(), log.read(size)
        running = _sums(page, order, _sums(head[:8], order, running))
        if salts != [salt, salt_too] or running != (first, second) or len(page) < size:
            break
        waiting[number] = place
        if after:
            offsets.update(waiting)
            pages, waiting = after, {}
    return pages


def _sums(data: bytes, order: str, before: tuple[int, int]) -> tuple[int, int]:
    """Return the checksum of a log after more data (4.2)."""
    first, second = before
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
