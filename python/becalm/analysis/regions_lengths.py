"""Regions of a file as arrays, sorted by name once: what variation, comparison and outliers are taken from.

`gather` reads a file's pieces one by one and keeps at most MOST regions, so that a file of any size takes bounded
memory; `report` in `region_variation` and `compare` in `region_comparison` call it.

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
"""Regions that are looked at: 200 MB. Of more, each is taken or left by chance, all with the same."""

_NOT_TIMED = codec.MIGRATED | codec.OUT_OF_STEP
_AGES = 2.0**62
_STEP = np.uint64(0x9E3779B97F4A7C15)


@dataclass(slots=True)
class Lengths:
    """All that is known of one file. `recorded`: regions of the file; `read`: those that are in `records`, which are in
    the order of the file; `dropped`: by (`keeps_last`) which end a full ring let go."""

    header: codec.RegionHeader
    records: codec.Records
    recorded: int
    dropped: dict[bool, int] = field(default_factory=dict)
    closing: codec.Closing | None = None
    damaged: int = 0
    """Pieces that were stored and cannot be read."""
    _ordered: codec.Records | None = None

    @property
    def read(self) -> int:
        """Regions that are looked at."""
        return len(self.records)

    def by_name(self) -> Iterator[tuple[str, codec.Records]]:
        """Each name that regions have, in the order of the header, and its records."""
        if not self.read:
            return
        if self._ordered is None:
            self._ordered = _sorted_by_name(self.records)
        ordered = np.ascontiguousarray(self._ordered["name"])
        ends = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, len(ordered))
        names, begin = unlike(self.header.names), 0
        for place, end in zip(ordered[ends - 1].tolist(), ends.tolist(), strict=True):
            name = names[place] if place < len(names) else f"region {place}"
            yield name, self._ordered[begin:end]
            begin = end

    def ns(self, ticks: npt.NDArray[np.int64]) -> Floats:
        """Ticks in ns."""
        return ticks.astype(np.float64) * (1e9 / self.header.hz)

    def unix_ns(self, records: codec.Records) -> Ints:
        """When regions ended, by the moments at which the file was opened and closed."""
        head, end = self.header, self.closing
        rate = 1e9 / head.hz
        if end is not None and end.ticks > head.ticks and not self.stepped:
            rate = (end.unix_ns - head.unix_ns) / (end.ticks - head.ticks)
        since = (records["start"] - np.uint64(head.ticks)).view(np.int64) + records["ticks"]
        # Whatever a damaged counter says, the product is a time that there is.
        ints: Ints = head.unix_ns + np.clip(since * rate, -_AGES, _AGES).astype(np.int64)
        return ints

    @property
    def stepped(self) -> bool:
        """The counter and the time of day moved by different amounts: one was set, or the machine slept."""
        head, end = self.header, self.closing
        if end is None or end.ticks <= head.ticks:
            return False
        passed, told = (end.ticks - head.ticks) * 1e9 / head.hz, end.unix_ns - head.unix_ns
        return abs(passed - told) > 0.001 * passed + 10e6


def unlike(names: Iterable[str]) -> tuple[str, ...]:
    """Names as they are printed, equal ones numbered."""
    made = [printable(name) or "''" for name in names]
    many, seen = Counter(made), Counter[str]()
    found = []
    for name in made:
        seen[name] += 1
        found.append(name if many[name] == 1 else f"{name} [{seen[name]}]")
    return tuple(found)


def timed(records: codec.Records) -> npt.NDArray[np.bool_]:
    """Which regions' lengths count: begun and ended on one processor, and not backwards, whatever the flags say."""
    good: npt.NDArray[np.bool_] = ((records["flags"] & _NOT_TIMED) == 0) & (records["ticks"] >= 0)
    return good


def gather(pieces: Iterable[bytes], most: int = MOST) -> Lengths | None:
    """The regions of a file's whole pieces; None where no header is among them."""
    header: codec.RegionHeader | None = None
    closing: codec.Closing | None = None
    kept: list[codec.Records] = []
    held = recorded = damaged = 0
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
        chosen = _chosen(block.records, mask)
        recorded += len(block.records)
        kept.append(chosen)
        held += len(chosen)
        while held > most:
            mask = mask * np.uint64(2) + np.uint64(1)
            kept, held = _halved(kept, mask)
    if header is None:
        return None
    records = np.concatenate(kept) if kept else np.empty(0, codec.RECORD)
    return Lengths(header, records, recorded, dropped, closing, damaged)


def _sorted_by_name(records: codec.Records) -> codec.Records:
    """The same in the order of their names, those of a name as they were."""
    order = np.argsort(np.ascontiguousarray(records["name"]), kind="stable")
    # As whole numbers: numpy takes records of several fields one by one, at five times the cost.
    words = np.ascontiguousarray(records).view(np.uint64).reshape(-1, codec.RECORD.itemsize // 8)
    found: codec.Records = np.take(words, order, axis=0).reshape(-1).view(codec.RECORD)
    return found


def _chosen(records: codec.Records, mask: np.uint64) -> codec.Records:
    """Those of the regions that are taken. By chance and not each second: names may alternate."""
    return records if mask == 0 else records[(_drawn(records) & mask) == 0]


def _halved(recordses: list[codec.Records], mask: np.uint64) -> tuple[list[codec.Records], int]:
    chosen = [_chosen(recordse, mask) for recordse in recordses]
    return chosen, sum(map(len, chosen))


def _drawn(records: codec.Records) -> npt.NDArray[np.uint64]:
    """A number of each region that has nothing to do with its length: of its start, mixed."""
    mixed: npt.NDArray[np.uint64] = (records["start"] * _STEP) >> np.uint64(40)
    return mixed
