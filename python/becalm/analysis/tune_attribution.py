"""Which settings account for what the chosen ones do: leaving out one of two that do the same shows nothing.

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
    """The knobs of a unit."""
    return frozenset(unit.split(AND))


def costs(effect: AblationEffect) -> bool:
    """Whether leaving this out is shown to change the mean time by what is worth a word."""
    return effect.cost.low > COST or effect.cost.high < -COST


def helps(effect: AblationEffect) -> bool:
    """Whether the program is shown to vary more without this."""
    return effect.ratio.low > 1


def shared(effect: AblationEffect, contributions: Sequence[AblationEffect]) -> bool:
    """Whether what this costs is what it and others cost together: alone it shows no cost, with them it does."""
    around = (
        contribution
        for contribution in contributions
        if contribution.program == effect.program and knobs_of(contribution.knob) > knobs_of(effect.knob)
    )
    return not costs(effect) and any(costs(one) for one in around)


def unattributed_time(
    comparisons: Iterable[ArmComparison], contributions: Iterable[AblationEffect], program: str
) -> bool:
    """Whether the chosen settings cost more (or less) mean time than leaving them out accounts for.

    Then some do the same: leaving out one of them shows nothing, and that it costs nothing would be wrong.
    """
    whole = _whole(comparisons, program)
    parts = [effect.cost for effect in _outermost(contributions, program)]
    if whole is None or not parts:
        return False
    sum_ = math.prod(1 + part.value for part in parts) - 1
    slack = sum((part.high - part.low) / 2 for part in parts)
    return whole.shift.low > max(sum_ + slack, COST) or whole.shift.high < min(sum_ - slack, -COST)


def unattributed_spread(
    comparisons: Iterable[ArmComparison], contributions: Iterable[AblationEffect], program: str
) -> bool:
    """Whether the spread falls by more than what it would rise without each, by their logarithms, accounts for."""
    whole = _whole(comparisons, program)
    parts = [effect.ratio for effect in _outermost(contributions, program)]
    if whole is None or not parts or whole.ratio.low <= 1:
        return False
    sum_ = sum(max(0.0, math.log(part.value)) for part in parts if 0 < part.value < math.inf)
    slack = math.sqrt(sum(_half(part) ** 2 for part in parts))
    return math.log(whole.ratio.low) > sum_ + slack


def _half(ratio: Interval) -> float:
    """Half the width of the interval of a ratio's logarithm."""
    return (math.log(ratio.high) - math.log(ratio.low)) / 2 if ratio.low > 0 and ratio.high < math.inf else math.inf


def _whole(comparisons: Iterable[ArmComparison], program: str) -> ArmComparison | None:
    return next(
        (comparison for comparison in comparisons if (comparison.arm, comparison.program) == (TUNED, program)), None
    )


def _outermost(contributions: Iterable[AblationEffect], program: str) -> list[AblationEffect]:
    """Those of a program that are part of no other: several together stand for each of them."""
    mine = [contribution for contribution in contributions if contribution.program == program]
    return [each for each in mine if not any(knobs_of(one.knob) > knobs_of(each.knob) for one in mine)]
