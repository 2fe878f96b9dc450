"""The recommendation of a known list that is shown to be better than the search's choice.

Both are in the same loops of the confirmation, so that they are compared pair by pair. If no difference is shown, the
choice stays, and a finding reports that it is not better than the list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from becalm.methods.protocol import Choice, Sample
from becalm.nouns.objective import find
from becalm.results.tune_arms import RECOMMENDED, SEARCHED, TUNED, WITHOUT
from becalm.stats.spread import Ratio
from becalm.tuning.confirming import ConfirmationRun
from becalm.wording.findings import finding


def recommend_best(here: ConfirmationRun) -> None:
    """Recommend the best known list where it beats what the search chose."""
    if _lists_irrelevant(here) or any(entry.kind == "list_best" for entry in here.tuned.findings):
        return
    ratios = _ratios_to_lists(here, here.samples, TUNED)
    better = {name: program_ratios for name, program_ratios in ratios.items() if _wins(program_ratios)}
    if not better:
        return
    best = max(better, key=lambda name: min(ratio.value for ratio in better[name]))
    old = here.tuned.choice
    samples = {**here.samples, SEARCHED: here.samples[TUNED], TUNED: here.samples[best]}
    # The contributions of single settings of the search's choice are no longer of interest.
    here.samples = {
        name: arm_samples for name, arm_samples in samples.items() if name != best and not name.startswith(WITHOUT)
    }
    here.tuned.choice = Choice(
        here.samples[TUNED][0].settings, f"{old.why} But fresh runs of the list of {best} were better."
    )
    least = min(better[best], key=lambda ratio: ratio.value)
    here.tuned.findings.append(
        finding("list_best", {"list": best, "ratio": least.value, "low": least.low, "high": least.high})
    )
    here.tuned.judged = here.judge(here.options.confidence)


def report_no_better(here: ConfirmationRun) -> None:
    """Report the known lists over which the recommendation is not shown to be better, by the reported runs."""
    if _lists_irrelevant(here) or not here.tuned.judged.settings.values:
        return
    names = [name for name in (RECOMMENDED, TUNED) if name in here.reported]
    mine = next((n for n in names if here.reported[n][0].settings == here.tuned.judged.settings), None)
    if mine is None:
        return
    for name, program_ratios in _ratios_to_lists(here, here.reported, mine).items():
        if program_ratios and not any(ratio.high < 1 for ratio in program_ratios):
            # The ratio of the recommended settings to the list: above 1 the list is better.
            largest = max(program_ratios, key=lambda ratio: ratio.value)
            here.tuned.findings.append(
                finding("no_better", {"list": name, "ratio": largest.value, "low": largest.low, "high": largest.high})
            )


def _lists_irrelevant(here: ConfirmationRun) -> bool:
    return bool(here.options.allowed.tried) or here.options.minimize == "time"


def _ratios_to_lists(
    here: ConfirmationRun, samples: Mapping[str, Sequence[Sample]], mine: str
) -> dict[str, list[Ratio]]:
    """Return the ratios of an arm to each known list that was measured with it, one for each program."""
    names = [name for name, _ in here.space.profiles if name in samples]
    return {name: _ratios(here, samples[mine], samples[name]) for name in names if mine in samples}


def _ratios(here: ConfirmationRun, mine: Sequence[Sample], other: Sequence[Sample]) -> list[Ratio]:
    """Return the ratios of the choice to a list by program; none without common loops, or if the list failed more."""
    ratios = []
    for mine_sample, other_sample in zip(mine, other, strict=True):
        pairs = [(a, b) for a, b in zip(mine_sample.loops, other_sample.loops, strict=False) if min(len(a), len(b)) > 1]
        if other_sample.failed > mine_sample.failed or not pairs:
            return []
        first, second = ([pair[side] for pair in pairs] for side in (0, 1))
        ratios.append(find(here.options.objective).ratio(first, second, 1 - here.options.confidence))
    return ratios


def _wins(ratios: Sequence[Ratio]) -> bool:
    return any(ratio.low > 1 for ratio in ratios) and not any(ratio.high < 1 for ratio in ratios)
