"""The result CheckResult: the effect of a change on each benchmark, and whether it is within a limit.

Public: Checked (one benchmark), CheckResult (all of them). `becalm.verbs.check` makes it; `becalm.report.check` shows
it to people, `becalm.report.check_annotations` to the service that runs the check.
"""

from __future__ import annotations

import msgspec

from becalm.nouns.finding import Finding
from becalm.nouns.result import Result
from becalm.results.compare import Difference, Gate, gate_code
from becalm.results.where import Where


class Checked(msgspec.Struct, frozen=True):
    """A benchmark of a check.

    - `difference`: of the new program from the old; None where a program failed or nothing was measured
    - `failure`: why it could not be compared, empty if it was compared
    - `study`: its number in the store
    - `where`: the functions that cause the difference, if requested and the limit is exceeded
    """

    name: str
    gate: Gate
    difference: Difference | None = None
    old: str = ""
    new: str = ""
    failure: str = ""
    study: int | None = None
    where: Where | None = None


class CheckResult(Result, frozen=True):
    """All benchmarks of a check. `fail_above`: the largest slowdown that is accepted, a fraction.

    All intervals hold together at `confidence`.

    - `missing`: benchmarks that only one side has
    - `basis`: a sentence about the data behind the intervals: the sessions of stored results, the settings in force,
      emulated times
    - `failed`: whether a program could not be run, or ended badly
    """

    KIND = "check"

    checks: tuple[Checked, ...]
    fail_above: float
    confidence: float
    undecided: str
    gate: Gate
    basis: str = ""
    missing: tuple[str, ...] = ()
    failed: bool = False
    findings: tuple[Finding, ...] = ()
    sentence: str = ""

    @property
    def exit_code(self) -> int:
        """The exit code: 4 a program failed, 1 a limit is exceeded, 5 undecided, else 0
        (docs/reference/exit-codes.md)."""
        return 4 if self.failed else gate_code(self.gate, self.undecided)


def together(checks: tuple[Checked, ...]) -> Gate:
    """Return the gate of all checks together: above the limit when one is, within it when all are."""
    gates = {check.gate for check in checks}
    if Gate.ABOVE in gates:
        return Gate.ABOVE
    return Gate.WITHIN if gates == {Gate.WITHIN} else Gate.UNDECIDED
