"""Sentences of a check: the effect of a change, for readers of a pull request."""

from __future__ import annotations

import math

from msgspec.structs import replace

from becalm.results.check import Checked, CheckResult
from becalm.results.compare import Difference, Gate, Summary
from becalm.results.compare_stored import BenchmarkDifference, StoredComparison
from becalm.units import join_names
from becalm.wording.compare_stored import ends, standing, value
from becalm.wording.metric import measured
from becalm.wording.numbers import counted, percent

NAMED = 5
"""The number of benchmarks that get a sentence of their own; the table has all."""

SIGNS = {Gate.WITHIN: "✅", Gate.ABOVE: "❌", Gate.UNDECIDED: "❔"}
"""The sign before an outcome in a comment."""


def worded(result: CheckResult) -> CheckResult:
    """Return the check with its sentences."""
    return replace(result, sentence=whole(result))


def typical(summary: Summary) -> str:
    """Return the median as text, in the unit of the measured values."""
    values = measured(summary)
    return values.shown(values.median.value)


def of_stored(difference: BenchmarkDifference, comparison: StoredComparison) -> Checked:
    """Return a benchmark of a stored comparison as a check, undecided while the shift between sessions is unknown."""
    known, limit = difference.shift is not None or comparison.shift is not None, comparison.fail_above or 0.0
    low, high = difference.difference.harm[1:]
    gate = Gate.UNDECIDED
    if known and (low > limit or high <= limit):
        gate = Gate.ABOVE if low > limit else Gate.WITHIN
    text = value(difference)
    return Checked(difference.name, gate, difference.difference, text(difference.old), text(difference.new))


def basis(comparison: StoredComparison) -> str:
    """Return the sentences about the basis of the intervals of a stored comparison."""
    return " ".join(standing(comparison))


def whole(result: CheckResult) -> str:
    """Return all sentences: the answer, then benchmarks above the limit, then undecided ones, then remarks."""
    bound, many = f"{percent(result.fail_above)} %", counted(len(result.checks), "benchmark")
    gates = {gate: [check for check in result.checks if check.gate is gate] for gate in Gate}
    above, open_ = gates[Gate.ABOVE], gates[Gate.UNDECIDED]
    if not result.checks:
        lines = ["Undecided: there is nothing to compare."]
    elif above:
        lines = [f"{len(above)} of {many} {'is' if len(above) == 1 else 'are'} worse by more than {bound}."]
    elif open_:
        lines = [
            f"Undecided for {len(open_)} of {many}: a change for the worse by more than {bound} is neither shown nor "
            "ruled out."
        ]
    else:
        subject = "The benchmark is not" if len(result.checks) == 1 else f"None of {many} is"
        lines = [f"{subject} worse by more than {bound}."]
    lines += [f"{check.name}: {change(check)}." for check in above[:NAMED]]
    if len(above) > NAMED:
        lines.append(f"And {len(above) - NAMED} more.")
    if above and open_:
        lines.append(f"Undecided: {join_names(check.name for check in open_)}.")
    lines += [f"{check.name}: {check.failure}" for check in [check for check in result.checks if check.failure][:NAMED]]
    if result.missing:
        lines.append(f"On one side only: {join_names(result.missing)}.")
    lines += [finding.sentence for finding in result.findings]
    if result.basis:
        lines.append(result.basis)
    if open_ and not above and not result.failed:
        counts = (
            "This counts as a failure; --undecided pass accepts it."
            if result.undecided == "fail"
            else "It is accepted (--undecided pass)."
        )
        lines.append(counts)
    return "\n".join(lines)


def change(checked: Checked) -> str:
    """Return the change of a benchmark with its interval."""
    d = checked.difference
    if d is None:
        return checked.failure or "not compared"
    return f"{number(d)} ({ends(d)})"


def number(d: Difference) -> str:
    """Return the difference as a percentage, without its interval."""
    half = d.half
    return f"{percent(d.estimate, half if math.isfinite(half) else None, sign=True)} %"
