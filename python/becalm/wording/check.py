"""Sentences of a check: what a change does, for people who read a pull request."""

from __future__ import annotations

import math
from dataclasses import replace

from becalm.nouns.check import Checked, CheckResult
from becalm.nouns.stored_comparison import BenchmarkDifference, StoredComparison
from becalm.nouns.verdict import Difference, Gate, Summary
from becalm.units import listed
from becalm.wording.measurement import counted, percent
from becalm.wording.metric import measured
from becalm.wording.stored_comparison import ends, standing, value

SAID = 5
"""The number of benchmarks that have a sentence of their own; the table has all."""

SIGNS = {Gate.WITHIN: "✅", Gate.ABOVE: "❌", Gate.UNDECIDED: "❔"}
"""The sign before an outcome in a comment."""


def worded(found: CheckResult) -> CheckResult:
    """Return the check with its sentences."""
    return replace(found, sentence=whole(found))


def typical(found: Summary) -> str:
    """Return the median as text, in the unit of what is measured."""
    taken = measured(found)
    return taken.shown(taken.median.value)


def of_stored(each: BenchmarkDifference, found: StoredComparison) -> Checked:
    """Return a benchmark of a stored comparison as a check; undecided while the shift of sessions is unknown."""
    known, limit = each.shift is not None or found.shift is not None, found.fail_above or 0.0
    low, high = each.difference.harm[1:]
    gate = Gate.UNDECIDED
    if known and (low > limit or high <= limit):
        gate = Gate.ABOVE if low > limit else Gate.WITHIN
    shown = value(each)
    return Checked(each.name, gate, each.difference, shown(each.old), shown(each.new))


def basis(found: StoredComparison) -> str:
    """Return the sentences about the basis of the intervals of a stored comparison."""
    return " ".join(standing(found))


def whole(found: CheckResult) -> str:
    """Return the answer first, then benchmarks above the limit, then undecided ones."""
    bound, many = f"{percent(found.fail_above)} %", counted(len(found.checks), "benchmark")
    gates = {gate: [each for each in found.checks if each.gate is gate] for gate in Gate}
    above, open_ = gates[Gate.ABOVE], gates[Gate.UNDECIDED]
    if not found.checks:
        lines = ["Undecided: there is nothing to compare."]
    elif above:
        lines = [f"{len(above)} of {many} {'is' if len(above) == 1 else 'are'} worse by more than {bound}."]
    elif open_:
        lines = [f"Undecided for {len(open_)} of {many}: worse by more than {bound} is neither shown nor ruled out."]
    else:
        lines = [f"No benchmark of {len(found.checks)} is worse by more than {bound}."]
    lines += [f"{each.name}: {change(each)}." for each in above[:SAID]]
    if len(above) > SAID:
        lines.append(f"And {len(above) - SAID} more.")
    if above and open_:
        lines.append(f"Undecided: {listed(each.name for each in open_)}.")
    lines += [f"{each.name}: {each.failure}" for each in [one for one in found.checks if one.failure][:SAID]]
    if found.missing:
        lines.append(f"On one side only: {listed(found.missing)}.")
    lines += [each.sentence for each in found.findings]
    if found.basis:
        lines.append(found.basis)
    if open_ and not above and not found.failed:
        counts = "This counts as a failure; --undecided pass accepts it." if found.undecided == "fail" else "Accepted."
        lines.append(counts)
    return "\n".join(lines)


def change(each: Checked) -> str:
    """Return the change of a benchmark, with its interval."""
    d = each.difference
    if d is None:
        return each.failure or "not compared"
    return f"{number(d)} ({ends(d)})"


def number(d: Difference) -> str:
    """Return only the difference."""
    half = (d.high - d.low) / 2
    return f"{percent(d.estimate, half if math.isfinite(half) else None, sign=True)} %"
