"""Sentences of a check: what a change does, for people who read a pull request."""

from __future__ import annotations

import math
from dataclasses import replace

from becalm.results.check import Checked, CheckResult
from becalm.results.compare import Difference, Gate, Summary
from becalm.results.compare_stored import BenchmarkDifference, StoredComparison
from becalm.units import listed
from becalm.wording.compare import counted, percent
from becalm.wording.compare_stored import ends, standing, value
from becalm.wording.metric import measured

SAID = 5
"""The number of benchmarks that have a sentence of their own; the table has all."""

SIGNS = {Gate.WITHIN: "✅", Gate.ABOVE: "❌", Gate.UNDECIDED: "❔"}
"""The sign before an outcome in a comment."""


def worded(result: CheckResult) -> CheckResult:
    """Return the check with its sentences."""
    return replace(result, sentence=whole(result))


def typical(summary: Summary) -> str:
    """Return the median as text, in the unit of what is measured."""
    taken = measured(summary)
    return taken.shown(taken.median.value)


def of_stored(difference: BenchmarkDifference, comparison: StoredComparison) -> Checked:
    """Return a benchmark of a stored comparison as a check; undecided while the shift of sessions is unknown."""
    known, limit = difference.shift is not None or comparison.shift is not None, comparison.fail_above or 0.0
    low, high = difference.difference.harm[1:]
    gate = Gate.UNDECIDED
    if known and (low > limit or high <= limit):
        gate = Gate.ABOVE if low > limit else Gate.WITHIN
    shown = value(difference)
    return Checked(difference.name, gate, difference.difference, shown(difference.old), shown(difference.new))


def basis(comparison: StoredComparison) -> str:
    """Return the sentences about the basis of the intervals of a stored comparison."""
    return " ".join(standing(comparison))


def whole(result: CheckResult) -> str:
    """Return the answer first, then benchmarks above the limit, then undecided ones."""
    bound, many = f"{percent(result.fail_above)} %", counted(len(result.checks), "benchmark")
    gates = {gate: [check for check in result.checks if check.gate is gate] for gate in Gate}
    above, open_ = gates[Gate.ABOVE], gates[Gate.UNDECIDED]
    if not result.checks:
        lines = ["Undecided: there is nothing to compare."]
    elif above:
        lines = [f"{len(above)} of {many} {'is' if len(above) == 1 else 'are'} worse by more than {bound}."]
    elif open_:
        lines = [f"Undecided for {len(open_)} of {many}: worse by more than {bound} is neither shown nor ruled out."]
    else:
        lines = [f"No benchmark of {len(result.checks)} is worse by more than {bound}."]
    lines += [f"{each.name}: {change(each)}." for each in above[:SAID]]
    if len(above) > SAID:
        lines.append(f"And {len(above) - SAID} more.")
    if above and open_:
        lines.append(f"Undecided: {listed(each.name for each in open_)}.")
    lines += [f"{check.name}: {check.failure}" for check in [check for check in result.checks if check.failure][:SAID]]
    if result.missing:
        lines.append(f"On one side only: {listed(result.missing)}.")
    lines += [finding.sentence for finding in result.findings]
    if result.basis:
        lines.append(result.basis)
    if open_ and not above and not result.failed:
        counts = "This counts as a failure; --undecided pass accepts it." if result.undecided == "fail" else "Accepted."
        lines.append(counts)
    return "\n".join(lines)


def change(checked: Checked) -> str:
    """Return the change of a benchmark, with its interval."""
    d = checked.difference
    if d is None:
        return checked.failure or "not compared"
    return f"{number(d)} ({ends(d)})"


def number(d: Difference) -> str:
    """Return only the difference."""
    half = d.half
    return f"{percent(d.estimate, half if math.isfinite(half) else None, sign=True)} %"
