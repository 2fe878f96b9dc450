"""The regions of a file as arrays, sorted by name once: the input of variation, comparison and outliers.

`gather` reads a file's pieces one by one and keeps at most MOST regions, so that a file of any size takes bounded
memory; `report` in `regions_variation` and `compare` in `regions_comparison` call it.

Public: Lengths, gather, MOST.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from becalm.files import region_codec as codec
from becalm.stats.arrays import Floats, Ints
from becalm.wording.printable import printable

MOST = 8_000_000
"""The most regions in memory: 200 MB. Of more, each is kept with the same probability."""

_NOT_TIMED = codec.MIGRATED | codec.OUT_OF_STEP
_AGES = 2.0**62
_STEP = np.uint64(0x9E3779B97F4A7C15)


@dataclass(slots=True)
class Lengths:
    """The regions of one file.

    - `recorded`: the number of regions in the file
    - `records`: the regions in memory, in the order of the file
    - `dropped`: the number of regions that full rings lost, by whether a ring keeps its last regions
    - `damaged`: the number of stored pieces that cannot be read
    """

    header: codec.RegionHeader
    records: codec.Records
    recorded: int
    dropped: dict[bool, int] = field(default_factory=dict)
    closing: codec.Closing | None = None
    damaged: int = 0
    _ordered: codec.Records | None = None

    @property
    def read(self) -> int:
        """The number of regions in memory."""
        return len(self.records)

    def by_name(self) -> Iterator[tuple[str, codec.Records]]:
        """Yield each name of regions, in the order of the header, and its records."""
        if not self.read:
            return
        if self._ordered is None:
            self._ordered = _sorted_by_name(self.records)
        ordered = np.ascontiguousarray(self._ordered["name"])
        ends = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, len(ordered))
        names, begin = unique_names(self.header.names), 0
        for place, end in zip(ordered[ends - 1].tolist(), ends.tolist(), strict=True):
            name = names[place] if place < len(names) else f"region {place}"
            yield name, self._ordered[begin:end]
            begin = end

    def ns(self, ticks: npt.NDArray[np.int64]) -> Floats:
        """Return ticks in ns."""
        return ticks.astype(np.float64) * (1e9 / self.header.hz)

    def unix_ns(self, records: codec.Records) -> Ints:
        """Return the times at which regions ended, in Unix ns, from the moments at which the file was opened and
        closed."""
        header, end = self.header, self.closing
        rate = 1e9 / header.hz
        if end is not None and end.ticks > header.ticks and not self.stepped:
            rate = (end.unix_ns - header.unix_ns) / (end.ticks - header.ticks)
        ticks = (records["start"] - np.uint64(header.ticks)).view(np.int64) + records["ticks"]
        # The clip keeps the product a valid time whatever a damaged counter contains.
        times: Ints = header.unix_ns + np.clip(ticks * rate, -_AGES, _AGES).astype(np.int64)
        return times

    @property
    def stepped(self) -> bool:
        """Whether the counter and the time of day moved by different amounts: one was set, or the machine slept."""
        header, end = self.header, self.closing
        if end is None or end.ticks <= header.ticks:
            return False
        counter_ns, wall_ns = (end.ticks - header.ticks) * 1e9 / header.hz, end.unix_ns - header.unix_ns
        return abs(counter_ns - wall_ns) > 0.001 * counter_ns + 10e6


def unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names as they are printed, equal ones numbered."""
    printable_names = [printable(name) or "''" for name in names]
    counts, seen = Counter(printable_names), Counter[str]()
    unique = []
    for name in printable_names:
        seen[name] += 1
        unique.append(name if counts[name] == 1 else f"{name} [{seen[name]}]")
    return tuple(unique)


def timed(records: codec.Records) -> npt.NDArray[np.bool_]:
    """Return a mask of the regions whose lengths count, shape (n,): on one processor, and not backwards.

    The length is checked whatever the flags are.
    """
    mask: npt.NDArray[np.bool_] = ((records["flags"] & _NOT_TIMED) == 0) & (records["ticks"] >= 0)
    return mask


def gather(pieces: Iterable[bytes], most: int = MOST) -> Lengths | None:
    """Return the regions in the whole pieces of a file; None where no header is among them."""
    header: codec.RegionHeader | None = None
    closing: codec.Closing | None = None
    selections: list[codec.Records] = []
    count = recorded = damaged = 0
    dropped: dict[bool, int] = {}
    mask = np.uint64(0)
    for data in pieces:
        if (block := codec.block(data)) is None:
            head, end = codec.header(data), codec.closing(data)
            header, closing = header or head, closing or end
            damaged += head is None and end is None
            continue
        if block.dropped:
            dropped[block.keeps_last] = dropped.get(block.keeps_last, 0) + block.dropped
        selection = _select(block.records, mask)
        recorded += len(block.records)
        selections.append(selection)
        count += len(selection)
        while count > most:
            mask = mask * np.uint64(2) + np.uint64(1)
            selections, count = _halve(selections, mask)
    if header is None:
        return None
    records = np.concatenate(selections) if selections else np.empty(0, codec.RECORD)
    return Lengths(header, records, recorded, dropped, closing, damaged)


def _sorted_by_name(records: codec.Records) -> codec.Records:
    """Return the records sorted by name, in the same order within a name."""
    order = np.argsort(np.ascontiguousarray(records["name"]), kind="stable")
    # As whole numbers: numpy takes records of several fields one by one, at five times the cost.
    words = np.ascontiguousarray(records).view(np.uint64).reshape(-1, codec.RECORD.itemsize // 8)
    ordered: codec.Records = np.take(words, order, axis=0).reshape(-1).view(codec.RECORD)
    return ordered


def _select(records: codec.Records, mask: np.uint64) -> codec.Records:
    """Return the records whose random number has no bit of the mask; a regular choice would fail where names
    alternate."""
    return records if mask == 0 else records[(_random_numbers(records) & mask) == 0]


def _halve(selections: list[codec.Records], mask: np.uint64) -> tuple[list[codec.Records], int]:
    halves = [_select(selection, mask) for selection in selections]
    return halves, sum(map(len, halves))


def _random_numbers(records: codec.Records) -> npt.NDArray[np.uint64]:
    """Return a number for each region that is independent of its length: its start, mixed."""
    mixed: npt.NDArray[np.uint64] = (records["start"] * _STEP) >> np.uint64(40)
    return mixed
