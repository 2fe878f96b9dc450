"""Files of timed regions as bytes (docs/reference/regions.md), which `becalm-clock` and becalm_regions.h write.

A file is a header, blocks, a closing piece, and the header again. Each piece has its own CRC-32, so damage costs only
that piece. `parts` reads the undamaged pieces of a file in bounded memory, and reports the rest as damage; `header` and
`block` read one piece; the store keeps the pieces as they are.

Public: RegionHeader, Closing, Damage, Part, Parts, parts, header, block, RECORD.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from typing import IO

import msgspec
import numpy as np
import numpy.typing as npt

MAGIC, BLOCK, CLOSING = b"\x89BRG\r\n\x1a\n", b"RBLK", b"REND"
VERSION = 1

MIGRATED, OUT_OF_STEP, SHORTER_THAN_COST = 1, 2, 4
"""Flags of a record."""

SYSTEM_CLOCK, INVARIANT, HYPERVISOR, TRAPPED = 1, 2, 4, 8
"""Flags of the clock."""

UNKNOWN_CPU = 0xFFFF

RECORD = np.dtype(
    [
        ("start", "<u8"),
        ("ticks", "<i8"),
        ("name", "<u2"),
        ("began_on", "<u2"),
        ("ended_on", "<u2"),
        ("flags", "<u2"),
    ]
)
"""The record of a region: the counter at its beginning, its length, its place among the names, processors, flags."""

Records = npt.NDArray[np.void]

_FIXED = struct.Struct("<8sHHIdddqqQQIIII")
_HEAD = struct.Struct("<4sIQQQIIII")
_MOST = 65_536
_LONGEST_HEADER = 1 << 20
_CHUNK = 1 << 20
_USUAL = 1 << 16
"""The largest piece that known writers make, in bytes."""
_VAIN = 64 << 20
"""The bytes of larger pieces for which checksums are computed, in addition to four times those already read."""
_FASTEST = 1e12
"""The highest possible frequency of a clock, in ticks per second."""


class RegionHeader(msgspec.Struct, frozen=True):
    """The clock of a file's records, the machine where they were measured, and the names.

    - `hz`: ticks per second, within `ppm` parts in a million
    - `quantum`: the step of the counter in ticks, 0 where unknown
    - `smallest_cost`, `median_cost`, `mean_cost`: ticks of an empty region, the mean without the longest 5 %
    - `ticks`, `unix_ns`: the counter at a moment of Unix time
    - `machine`: the hash of the machine's id, as `becalm doctor` has it
    """

    hz: float
    ppm: float
    quantum: float
    smallest_cost: int
    median_cost: int
    ticks: int
    unix_ns: int
    flags: int
    process: int
    machine: str
    boot: str
    model: str
    source: str
    names: tuple[str, ...]
    mean_cost: float

    @property
    def cost_ns(self) -> float:
        """The time that the clock adds to a typical region, in ns."""
        return self.ns(self.mean_cost or max(self.median_cost, 0))

    def ns(self, ticks: float) -> float:
        """Return ticks as ns."""
        return ticks * 1e9 / self.hz


class Closing(msgspec.Struct, frozen=True):
    """The last piece that a program writes when it closes the file: its blocks and records, and the counter then."""

    blocks: int
    ticks: int
    unix_ns: int
    records: int


class RegionBlock(msgspec.Struct, frozen=True):
    """Records of one thread (by the writer's number) that were flushed together. `first`: the number of records before
    it in the file; `dropped`: the number of records for which the ring had no room; `keeps_last`: whether the oldest
    ones were dropped."""

    thread: int
    first: int
    dropped: int
    keeps_last: bool
    records: Records


class RegionPart(msgspec.Struct, frozen=True):
    """An undamaged piece of a file. `kind`: "header", "block" or "closing"; `records`: their number in it."""

    kind: str
    data: bytes
    records: int = 0


class Damage(msgspec.Struct):
    """The damage of a file: whether its first header is damaged, the number of bytes outside of undamaged pieces,
    whether it was not closed, and the number of records known to be lost."""

    header: bool = False
    bytes: int = 0
    places: int = 0
    open: bool = False
    lost: int = 0

    @property
    def none(self) -> bool:
        """Whether there is no damage."""
        return self == Damage()


class Parts:
    """The undamaged pieces of a file, in order, read one at a time. `damage` is known after the last one."""

    def __init__(self, file: IO[bytes]) -> None:
        self.damage = Damage()
        self._window = _Window(file)

    def __iter__(self) -> Iterator[RegionPart]:
        window, damage = self._window, self.damage
        read = expected = 0
        closing: Closing | None = None
        first = _header_length(window)
        if first:
            yield RegionPart("header", window.take(first))
        else:
            damage.header = True
        whole = True
        while window.peek(1):
            if length := _block_length(window):
                data = window.take(length)
                many, position = _HEAD.unpack_from(data)[1], _HEAD.unpack_from(data)[3]
                read, expected, whole = read + many, position + many, True
                yield RegionPart("block", data, many)
            elif last := _closing(window.peek(_HEAD.size)):
                closing, whole = last, True
                yield RegionPart("closing", window.take(_HEAD.size))
            elif closing is not None and (length := _header_length(window)):
                whole = True
                yield RegionPart("header", window.take(length))
            else:
                damage.places += whole
                damage.bytes += window.skip()
                whole = False
        damage.open = closing is None
        damage.lost = max(0, (expected if closing is None else closing.records) - read)


def parts(file: IO[bytes]) -> Parts:
    """Return the undamaged pieces of a file that is open for reading. Holds at most a few MB of it. Raises OSError."""
    return Parts(file)


def header(data: bytes) -> RegionHeader | None:
    """Return the header at the beginning of the bytes; None if it is damaged or of another version."""
    if len(data) < _FIXED.size + 4:
        return None
    fixed = _FIXED.unpack_from(data)
    magic, version, record, length = fixed[:4]
    hz, ppm, quantum, smallest, median, ticks, unix_ns, flags, process, many, mean = fixed[4:15]
    own = data[:length]
    if magic != MAGIC or version != VERSION or record != RECORD.itemsize or not _FIXED.size + 4 <= len(own) == length:
        return None
    if zlib.crc32(own[:-4]) != int.from_bytes(own[-4:], "little"):
        return None
    texts, at = [], _FIXED.size
    for _ in range(4 + many):
        size = int.from_bytes(own[at : at + 2], "little")
        if at + 2 + size > length - 4:
            return None
        texts.append(own[at + 2 : at + 2 + size].decode("utf-8", "replace"))
        at += 2 + size
    machine, boot, model, source, *names = texts
    clock = (hz, ppm, quantum, smallest, median, ticks, unix_ns, flags, process)
    region_header = RegionHeader(*clock, machine, boot, model, source, tuple(names), mean / 1e3)
    return region_header if _possible(region_header) else None


def _possible(region_header: RegionHeader) -> bool:
    """Return whether the numbers of a header are those of a possible clock."""
    known = all(0 <= value < math.inf for value in (region_header.ppm, region_header.quantum))
    return known and 1 <= region_header.hz <= _FASTEST and region_header.unix_ns < 1 << 63


def block(data: bytes) -> RegionBlock | None:
    """Return the block in these bytes; None for a damaged one."""
    if len(data) < _HEAD.size:
        return None
    mark, many, thread, first, dropped, policy, sum_of_records, _, own = _HEAD.unpack_from(data)
    records = memoryview(data)[_HEAD.size :]
    if mark != BLOCK or many > _MOST or len(records) != many * RECORD.itemsize:
        return None
    if own != zlib.crc32(data[: _HEAD.size - 4]) or sum_of_records != zlib.crc32(records):
        return None
    return RegionBlock(thread, first, dropped, policy == 1, np.frombuffer(records, RECORD))


def records_of(data: bytes) -> int:
    """Return the number of regions that a piece declares, without reading them; 0 for a piece that is not a block."""
    return int.from_bytes(data[4:8], "little") if _whole_head(data[: _HEAD.size], BLOCK) else 0


def closing(data: bytes) -> Closing | None:
    """Return the closing piece of a file; None for a damaged one."""
    return _closing(data[: _HEAD.size])


class _Window:
    """The part of a file that lies ahead, a bounded amount at a time."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._bytes = b""
        self._at = 0
        self._ended = False
        self._passed = 0
        self._summed = 0
        self._marks: dict[bytes, int] = {}

    def peek(self, size: int) -> bytes:
        """Return the next bytes, fewer at the end, without moving."""
        while len(self._bytes) - self._at < size and not self._ended:
            more = self._file.read(max(_CHUNK, size))
            self._ended = not more
            self._bytes, self._at, self._marks = self._bytes[self._at :] + more, 0, {}
        return self._bytes[self._at : self._at + size]

    def take(self, size: int) -> bytes:
        """Return the next bytes and move past them."""
        result = self.peek(size)
        self._move(len(result))
        return result

    def skip(self) -> int:
        """Go to the next mark of any piece, or to the end of the bytes that were read; return the number of bytes
        before it."""
        self.peek(_CHUNK)
        # A mark may lie across the end of the bytes that were read.
        end = len(self._bytes) if self._ended else len(self._bytes) - len(MAGIC) + 1
        next_one = min((self._next(mark) for mark in (BLOCK, CLOSING, MAGIC)), default=end)
        return self._move(min(next_one, end) - self._at)

    def affords(self, size: int) -> bool:
        """Return whether a checksum of `size` bytes ahead is worth its time, which is always so for what writers write.

        Long pieces that lie in each other, which no writer makes, are not all checked, so that the time for a file
        grows linearly with its length."""
        if size <= _USUAL:
            return True
        self._summed += size
        return self._summed <= 4 * self._passed + _VAIN

    def _next(self, mark: bytes) -> int:
        """Return the next position of this mark in what was read; it is searched once and not from each position."""
        if self._marks.get(mark, -1) <= self._at:
            place = self._bytes.find(mark, self._at + 1)
            self._marks[mark] = place if place >= 0 else len(self._bytes)
        return self._marks[mark]

    def _move(self, size: int) -> int:
        self._at += size
        self._passed += size
        return size


def _header_length(window: _Window) -> int:
    """Return the length of the whole header that lies ahead; 0 where there is none."""
    ahead = window.peek(_FIXED.size)
    length = int.from_bytes(ahead[12:16], "little")
    if not ahead.startswith(MAGIC) or length > _LONGEST_HEADER:
        return 0
    # A damaged length may be large: the checksum is only asked for where the file is that long.
    return length if window.affords(length) and header(window.peek(length)) is not None else 0


def _block_length(window: _Window) -> int:
    """Return the length of the whole block that lies ahead; 0 where there is none."""
    ahead = window.peek(_HEAD.size)
    if not _whole_head(ahead, BLOCK):
        return 0
    many = int.from_bytes(ahead[4:8], "little")
    length = _HEAD.size + many * RECORD.itemsize
    return length if many <= _MOST and window.affords(length) and block(window.peek(length)) is not None else 0


def _closing(ahead: bytes) -> Closing | None:
    if not _whole_head(ahead, CLOSING):
        return None
    _, blocks, ticks, unix_ns, records, *_ = _HEAD.unpack(ahead)
    return Closing(blocks, ticks, unix_ns, records)


def _whole_head(ahead: bytes, mark: bytes) -> bool:
    if len(ahead) < _HEAD.size or not ahead.startswith(mark):
        return False
    return zlib.crc32(ahead[: _HEAD.size - 4]) == int.from_bytes(ahead[_HEAD.size - 4 : _HEAD.size], "little")
