"""The attribution of an effect to settings: leaving out one of two settings that do the same has no effect.

Pure: comparisons and contributions of a confirmation in, units (knobs, or several joined by AND) out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from becalm.nouns.finding import Interval
from becalm.results.tune import AblationEffect, ArmComparison
from becalm.results.tune_arms import AND, TUNED
from becalm.wording.tune import COST


def knobs_of(unit: str) -> frozenset[str]:
    """Return the knobs of a unit."""
    return frozenset(unit.split(AND))


def costs(effect: AblationEffect) -> bool:
    """Return whether leaving this unit out is shown to change the mean time by a relevant amount."""
    return effect.cost.low > COST or effect.cost.high < -COST


def helps(effect: AblationEffect) -> bool:
    """Return whether the program is shown to vary more without this unit."""
    return effect.ratio.low > 1


def shared(effect: AblationEffect, contributions: Sequence[AblationEffect]) -> bool:
    """Return whether a unit has no cost by itself but has one together with others."""
    larger_units = (
        contribution
        for contribution in contributions
        if contribution.program == effect.program and knobs_of(contribution.knob) > knobs_of(effect.knob)
    )
    return not costs(effect) and any(costs(larger) for larger in larger_units)


def unattributed_time(
    comparisons: Iterable[ArmComparison], contributions: Iterable[AblationEffect], program: str
) -> bool:
    """Return whether the chosen settings change the mean time by more than leaving units out accounts for.

    Then some units do the same: leaving out one of them shows nothing, and to conclude that it costs nothing would be
    wrong.
    """
    comparison = _tuned_comparison(comparisons, program)
    changes = [effect.cost for effect in _outermost(contributions, program)]
    if comparison is None or not changes:
        return False
    expected = math.prod(1 + change.value for change in changes) - 1
    slack = sum((change.high - change.low) / 2 for change in changes)
    return comparison.shift.low > max(expected + slack, COST) or comparison.shift.high < min(expected - slack, -COST)


def unattributed_spread(
    comparisons: Iterable[ArmComparison], contributions: Iterable[AblationEffect], program: str
) -> bool:
    """Return whether the spread falls by more than it rises without each unit, by sums of logarithms."""
    comparison = _tuned_comparison(comparisons, program)
    ratios = [effect.ratio for effect in _outermost(contributions, program)]
    if comparison is None or not ratios or comparison.ratio.low <= 1:
        return False
    expected = sum(max(0.0, math.log(ratio.value)) for ratio in ratios if 0 < ratio.value < math.inf)
    slack = math.sqrt(sum(_half_width(ratio) ** 2 for ratio in ratios))
    return math.log(comparison.ratio.low) > expected + slack


def _half_width(ratio: Interval) -> float:
    """Return half the width of the interval of a ratio's logarithm."""
    return (math.log(ratio.high) - math.log(ratio.low)) / 2 if ratio.low > 0 and ratio.high < math.inf else math.inf


def _tuned_comparison(comparisons: Iterable[ArmComparison], program: str) -> ArmComparison | None:
    return next(
        (comparison for comparison in comparisons if (comparison.arm, comparison.program) == (TUNED, program)), None
    )


def _outermost(contributions: Iterable[AblationEffect], program: str) -> list[AblationEffect]:
    """Return the effects of a program whose unit is part of no larger unit."""
    effects = [contribution for contribution in contributions if contribution.program == program]
    return [
        effect for effect in effects if not any(knobs_of(larger.knob) > knobs_of(effect.knob) for larger in effects)
    ]
