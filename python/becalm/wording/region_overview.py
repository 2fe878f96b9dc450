"""Sentences on timed regions of several files."""

from __future__ import annotations

from dataclasses import replace

from becalm.nouns.region_overview import RegionOverview, RegionSpread
from becalm.wording.measurement import counted, whole
from becalm.wording.regions import fine

NAMED = 3
"""Names that have a sentence of their own; the table has all."""

UNEVEN = 1.1
"""A name whose slowest file takes less than this times the median is even."""

LEGEND = (
    ("fastest", "fastest, median, slowest: files by net length (mean without the longest twentieth, less the clock)."),
    ("in", "in: the slowest file."),
    ("balance", "balance: time of the file that spends most on it, over the mean of all files."),
    ("share", "share: of the net time of all names in all files."),
)


def with_sentence(found: RegionOverview) -> RegionOverview:
    """Return the overview with its sentence."""
    names = dict(zip((each.name for each in found.regions), whole([r.name for r in found.regions]), strict=True))
    many = sum(each.regions for each in found.regions)
    machines = f" of {counted(found.machines, 'machine')}" if found.machines > 1 else ""
    lines = [
        f"{counted(many, 'region')} of {counted(len(found.regions), 'name')} in {len(found.files)} files{machines}."
    ]
    uneven = [each for each in found.regions if each.slowest[0] > UNEVEN * each.median_ns > 0]
    lines += [_uneven(each, names[each.name]) for each in sorted(uneven, key=factor, reverse=True)[:NAMED]]
    if not uneven and found.regions:
        lines.append("No file takes a tenth longer than the median of the files for any name.")
    return replace(found, sentence="\n".join(lines))


def factor(each: RegionSpread) -> float:
    """Return the slowest file's length over the median of the files; 1 where nothing is known."""
    return each.slowest[0] / each.median_ns if each.median_ns > 0 else 1.0


def _uneven(each: RegionSpread, name: str) -> str:
    return (
        f"{name} takes {fine(each.slowest[0])} in {each.slowest[1]}, {factor(each):.2g} times the median of "
        f"{counted(each.files, 'file')} ({fine(each.median_ns)})."
    )
