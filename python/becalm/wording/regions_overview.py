"""Sentences about timed regions of several files."""

from __future__ import annotations

from msgspec.structs import replace

from becalm.results.regions_overview import RegionOverview, RegionSpread
from becalm.wording.numbers import counted
from becalm.wording.regions import fine
from becalm.wording.short_names import whole

NAMED = 3
"""The number of names that get a sentence of their own; the table has all."""

UNEVEN = 1.1
"""The ratio of the slowest file to the median above which a name counts as uneven."""

LEGEND = (
    ("fastest", "fastest, median, slowest: files by net length (mean without the longest twentieth, less the clock)."),
    ("in", "in: the slowest file."),
    ("balance", "balance: time of the file that spends most on it, over the mean of all files."),
    ("share", "share: of the net time of all names in all files."),
)


def with_sentence(overview: RegionOverview) -> RegionOverview:
    """Return the overview with its sentence."""
    names = dict(
        zip((region.name for region in overview.regions), whole([r.name for r in overview.regions]), strict=True)
    )
    many = sum(region.regions for region in overview.regions)
    machines = f" of {counted(overview.machines, 'machine')}" if overview.machines > 1 else ""
    lines = [
        f"{counted(many, 'region')} of {counted(len(overview.regions), 'name')} in {len(overview.files)} "
        f"files{machines}."
    ]
    uneven = [region for region in overview.regions if region.slowest[0] > UNEVEN * region.median_ns > 0]
    lines += [_uneven(region, names[region.name]) for region in sorted(uneven, key=factor, reverse=True)[:NAMED]]
    if not uneven and overview.regions:
        lines.append("No file takes a tenth longer than the median of the files for any name.")
    return replace(overview, sentence="\n".join(lines))


def factor(spread: RegionSpread) -> float:
    """Return the slowest file's length over the median of the files; 1 where the median is 0."""
    return spread.slowest[0] / spread.median_ns if spread.median_ns > 0 else 1.0


def _uneven(spread: RegionSpread, name: str) -> str:
    return (
        f"{name} takes {fine(spread.slowest[0])} in {spread.slowest[1]}, {factor(spread):.2g} times the median of "
        f"{counted(spread.files, 'file')} ({fine(spread.median_ns)})."
    )
