"""Timed regions of several processes, ranks or nodes side by side (docs/reference/json.md).

Public: RegionOverview, RegionSpread.
"""

from __future__ import annotations

import msgspec

from becalm.nouns.finding import Finding
from becalm.nouns.result import Result


class RegionSpread(msgspec.Struct, frozen=True):
    """The lengths of one name in all files that have it, in ns: means without the longest twentieth, less the
    clock's cost.

    `fastest`, `slowest`: the length and its file; `share`: its share of the net time of all names in all files;
    `balance`: the net time of this name in the file that spends most on it, over the mean of all files.
    """

    name: str
    files: int
    regions: int
    fastest: tuple[float, str]
    median_ns: float
    slowest: tuple[float, str]
    share: float
    balance: float


class RegionOverview(Result, frozen=True):
    """Several files of timed regions. `machines`: the number of their machines, as far as known."""

    KIND = "region_overview"

    files: tuple[str, ...]
    machines: int
    regions: tuple[RegionSpread, ...]
    findings: tuple[Finding, ...] = ()
    sentence: str = ""
