"""The result LayoutComparison: two programs compared over several layouts of each, and the share of layout in it.

Public: Layout (one build), LayoutSide (all builds of one program), LayoutComparison. `becalm.analysis.layouts` makes
it, `becalm.report.layouts` shows it. Differences and standard deviations are fractions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from becalm.nouns.codec import decode
from becalm.nouns.finding import Finding
from becalm.nouns.metric import Metric
from becalm.nouns.result import Result
from becalm.results.compare import Circumstances, Difference, Gate, Stopped, gate_code, gate_passed


class Layout(msgspec.Struct, frozen=True):
    """A build of a program.

    - `seed`: the value of {seed} with which it was built
    - `typical`: its typical time in ns, or value of the metric
    - `difference`: from the old program's mean over its layouts
    - `error`: the standard error of the difference by noise, NaN from one round
    """

    seed: int
    typical: float
    difference: float
    error: float


class LayoutSide(msgspec.Struct, frozen=True):
    """All builds of one program.

    - `command`, `build`: as they were typed, with their placeholders
    - `typical`: the geometric mean over the layouts
    - `layout_sd`: the standard deviation between layouts without noise
    - `noise_sd`: the standard deviation of one layout's mean by noise; both are NaN from one round
    - `equal`: seeds whose program was equal to an earlier seed's; they were not measured
    """

    name: str
    command: str
    build: str
    typical: float
    layouts: tuple[Layout, ...]
    layout_sd: float
    noise_sd: float
    equal: tuple[int, ...] = ()


class LayoutComparison(Result, frozen=True):
    """Two programs compared over several layouts of each.

    - `difference`: beyond layout; its `pairs` are rounds
    - `layout_sd`: the standard deviation of builds that only layout causes, of both sides together
    - `pair_low`, `pair_high`: the smallest and the largest difference that one pair of these builds shows
    - `called`: the number of `pairs` of builds that would be called different by their own runs
    - `noise_share`: the share of noise in the squared standard error of the difference; the rest is layout

    NaN and None from one round.
    """

    KIND = "layouts"
    DERIVED = ("pairs", "passed")

    study: int | None
    host: str
    elapsed_ns: int
    stopped: Stopped
    rounds: int
    old: LayoutSide
    new: LayoutSide
    difference: Difference
    layout_sd: float
    pair_low: float
    pair_high: float
    called: int | None
    noise_share: float
    seed: int = 0
    fail_above: float | None = None
    gate: Gate | None = None
    undecided: str = "fail"
    layouts_needed: int | None = None
    metric: Metric | None = None
    findings: tuple[Finding, ...] = ()
    circumstances: Circumstances | None = None
    sentence: str = ""

    @property
    def sides(self) -> tuple[LayoutSide, LayoutSide]:
        """The old and the new program."""
        return self.old, self.new

    @property
    def pairs(self) -> int:
        """The number of pairs of one old and one new build."""
        return len(self.old.layouts) * len(self.new.layouts)

    @property
    def passed(self) -> bool | None:
        """Whether the difference is within the limit: None without one, and while that is undecided."""
        return gate_passed(self.gate)

    @property
    def exit_code(self) -> int:
        """The exit code: 4 a program failed, 1 a limit is exceeded, 5 undecided, else 0
        (docs/reference/exit-codes.md)."""
        return 4 if self.stopped is Stopped.FAILED else gate_code(self.gate, self.undecided)


def from_json(value: Mapping[str, Any]) -> LayoutComparison:
    """Return the value that `LayoutComparison.to_json` wrote. Raises KeyError, TypeError or ValueError."""
    return decode(LayoutComparison, value)
