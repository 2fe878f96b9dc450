"""The timed regions of several processes in one table: common names, and the file in which each takes the longest.

Public: overview.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median

from becalm.analysis.regions_lengths import Lengths, timed
from becalm.analysis.regions_variation import trimmed
from becalm.nouns.finding import Finding
from becalm.results.regions_overview import RegionOverview, RegionSpread
from becalm.wording import regions_overview as words
from becalm.wording.findings import finding


def overview(files: Sequence[Lengths], titles: Sequence[str]) -> RegionOverview:
    """Return the overview of several files, name by name; the name that takes most time first."""
    by_name: dict[str, list[tuple[float, int, str]]] = {}
    for lengths, title in zip(files, titles, strict=True):
        for name, records in lengths.by_name():
            ns = lengths.ns(records["ticks"][timed(records)])
            if len(ns):
                net = max(0.0, trimmed(ns) - lengths.header.cost_ns)
                by_name.setdefault(name, []).append((net, len(ns), title))
    total = math.fsum(net * count for rows in by_name.values() for net, count, _ in rows)
    spreads = [_spread(name, rows, total, len(files)) for name, rows in by_name.items()]
    machines = {file.header.machine for file in files} - {""}
    region_overview = RegionOverview(
        files=tuple(titles),
        machines=len(machines),
        regions=tuple(sorted(spreads, key=lambda spread: -spread.share)),
        findings=tuple(_findings(files, titles, by_name)),
    )
    return words.with_sentence(region_overview)


def _spread(name: str, rows: Sequence[tuple[float, int, str]], total: float, files: int) -> RegionSpread:
    (fastest, _, first), (slowest, _, last) = min(rows), max(rows)
    times = [net * count for net, count, _ in rows]
    mean = math.fsum(times) / files
    return RegionSpread(
        name=name,
        files=len(rows),
        regions=sum(many for _, many, _ in rows),
        fastest=(fastest, first),
        median_ns=median(net for net, _, _ in rows),
        slowest=(slowest, last),
        share=math.fsum(times) / total if total > 0 else 0.0,
        balance=max(times) / mean if mean > 0 else 1.0,
    )


def _findings(
    files: Sequence[Lengths], titles: Sequence[str], by_name: dict[str, list[tuple[float, int, str]]]
) -> Iterator[Finding]:
    if incomplete := [name for name, rows in by_name.items() if len(rows) < len(files)]:
        yield finding("region_some_files", {"names": incomplete, "files": len(files)})
    if unclosed := [title for lengths, title in zip(files, titles, strict=True) if lengths.closing is None]:
        yield finding("region_cut_files", {"files": unclosed})
