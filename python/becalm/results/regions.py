"""The results for timed regions of a program's own code: values with one JSON form each (docs/reference/json.md).

`RegionReport` is one file of regions, `RegionComparison` old files against new ones.
`becalm.analysis.regions_variation` and `regions_comparison` make them, `becalm.report` draws them. Times are in ns.
Times of single regions include the clock's own cost; `net` times, and all times of a comparison, do not.

Public: RegionSummary, RegionReport, RegionDifference, RegionComparison, FilesWanted, TimerLimit, RegionAnswer.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from becalm.nouns.finding import Finding
from becalm.nouns.result import Result
from becalm.results.compare import Gate, gate_code
from becalm.stats.bins import Histogram


class TimerLimit(msgspec.Struct, frozen=True):
    """The smallest change that the timer can show, and the shortest region. `source`: "given", "kept" (the last
    `becalm clock` with an answer) or the name of a file of `becalm clock --json`."""

    t_diff_ns: float
    source: str
    t_min_ns: float | None = None


class RegionSummary(msgspec.Struct, frozen=True):
    """All regions of one name. Times in ns.

    - `regions`: the number recorded; `timed`: the number whose length counts, neither migrated nor out of step
    - `spread_ns`: the distance of their 5th and 95th percentiles
    - `varies`: whether that is more than the timer's own t_diff, None where t_diff is unknown
    - `outliers`: the number of timed regions above `outlier_from_ns`; `outlier_share`: their share of the time of all
    - `survival`: lengths, and the share of regions that took at least as long
    - `net_ns`: the mean without the longest twentieth, less the clock's cost; `net_share`: its share of the net time of
      all names
    - `calls`: the number of calls to time as one region, where single ones are shorter than the timer's t_min; None
      where they are not, or t_min is unknown
    - `modes`: lengths around which regions gather, with the share of each, where there are several
    """

    name: str
    regions: int
    timed: int
    migrated: int
    out_of_step: int
    shorter_than_cost: int
    median_ns: float
    mean_ns: float
    min_ns: float
    p95_ns: float
    p99_ns: float
    max_ns: float
    sd_ns: float
    spread_ns: float
    varies: bool | None
    outliers: int
    outlier_from_ns: float
    outlier_share: float
    histogram: Histogram
    survival: tuple[tuple[float, float], ...]
    net_ns: float
    net_share: float
    calls: int | None
    modes: tuple[tuple[float, float], ...]


class RegionReport(Result, frozen=True):
    """The report of one file of timed regions.

    - `read`: the number of regions in memory; `recorded`: the number in the file
    - `cost_ns`: of an empty region, smallest and median
    - `quantum_ns`: the step of the clock, None where unknown
    - `timer`: the smallest change that the timer can show, None where unknown
    - `untimed`: names without a region whose length counts
    - `alongside`: the study whose record of load was used
    """

    KIND = "regions"

    study: int | None
    title: str
    machine: str
    model: str
    source: str
    hz: float
    cost_ns: tuple[float, float]
    quantum_ns: float | None
    timer: TimerLimit | None
    recorded: int
    read: int
    regions: tuple[RegionSummary, ...]
    untimed: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    alongside: int | None = None
    sentence: str = ""


class RegionAnswer(StrEnum):
    """The answer of a comparison of regions. NOT_VISIBLE: a difference of means smaller than the timer can show."""

    SLOWER = "slower"
    FASTER = "faster"
    NO_DIFFERENCE_DETECTED = "no difference seen"
    NOT_VISIBLE = "not visible"
    UNKNOWN = "not yet known"


class RegionDifference(msgspec.Struct, frozen=True):
    """Regions of one name, old against new. Typical values are means without the longest twentieth, less the clock's
    cost.

    - `estimate`, `low`, `high`: the relative difference as fractions; the intervals of all names hold together at the
      comparison's confidence
    - `p_value`: adjusted for the number of names
    - `units`: the number of values behind the interval, old and new: files, or pieces of one
    - `visible_from_ns`: the smallest difference of such means that the timer can show; None where unknown
    - `calls`: the number of calls timed as one region that would make the difference visible (or decide a limit); None
      where single calls are enough
    """

    name: str
    old_ns: float
    new_ns: float
    estimate: float
    low: float
    high: float
    p_value: float
    answer: RegionAnswer
    units: tuple[int, int]
    regions: tuple[int, int]
    visible_from_ns: float | None = None
    calls: int | None = None


class FilesWanted(msgspec.Struct, frozen=True):
    """The number of files per side that would suffice. `half`: half the width of the widest interval now, which belongs
    to `name`, as a fraction; `precision`: the same with `files` files per side."""

    name: str
    half: float
    files: int
    precision: float


class RegionComparison(Result, frozen=True):
    """Files of regions before and after a change, name by name. `timer`: the smallest change that can be seen;
    `fail_above`, `gate`, `undecided`: as in a Verdict. `files_wanted`: None where there are enough."""

    KIND = "compare_regions"

    old: tuple[str, ...]
    new: tuple[str, ...]
    confidence: float
    timer: TimerLimit | None
    differences: tuple[RegionDifference, ...]
    findings: tuple[Finding, ...] = ()
    fail_above: float | None = None
    gate: Gate | None = None
    undecided: str = "fail"
    files_wanted: FilesWanted | None = None
    sentence: str = ""

    @property
    def exit_code(self) -> int:
        """The exit code: 1 a limit is exceeded, 5 undecided, else 0 (docs/reference/exit-codes.md)."""
        return gate_code(self.gate, self.undecided)
