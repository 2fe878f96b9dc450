"""The result BisectResult: the commit that made a program slower, its certainty, and the cost of the search."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from becalm.nouns.result import Result


class Probe(msgspec.Struct, frozen=True):
    """A measured commit: its difference from the good one as a fraction, with a 95 % interval.

    A commit of a branch that left before the good commit is compared with the commit where its branch began. `pairs`:
    the number of runs of each of the two commits; `behind`: the probability that it has the change.
    """

    commit: str
    subject: str
    size: float
    low: float
    high: float
    pairs: int
    behind: float


class BisectResult(Result, frozen=True):
    """The result of a bisection.

    - `first`: the first bad commit; empty without a step, or if it is one of several `suspects`
    - `probability`: the probability that `first` or one of `suspects` is the first bad commit
    - `merge`: the merge commit that is `first` or contains all `suspects`; empty without one
    - `size`, `low`, `high`: the whole step from good to bad, a fraction with a 95 % interval; None where good and bad
      were not measured
    - `commits`: the commits that lead to bad and not to good
    - `pairs`: the allowed number of differences of good and bad
    - `unusable`: commits that were skipped, with the reason
    - `error`: the allowed probability of error over all steps
    - `at_once`: whether both programs of each pair ran at the same time; `turns_because`: the reason why they did not,
      although that was requested
    """

    KIND = "bisect"

    good: str
    bad: str
    first: str
    subject: str
    merge: str
    suspects: tuple[str, ...]
    probability: float
    error: float
    size: float | None
    low: float | None
    high: float | None
    commits: int
    pairs: int
    runs: int
    builds: int
    probes: tuple[Probe, ...]
    unusable: Mapping[str, str] = msgspec.field(default_factory=dict)
    studies: tuple[int, ...] = ()
    at_once: bool = False
    turns_because: str = ""
    sentence: str = ""

    @property
    def exit_code(self) -> int:
        """0 when the commit was found, 5 when it was not (docs/reference/exit-codes.md)."""
        return 0 if self.first else 5
