"""The best of all is recommended: where a known list is shown to do better than what the search chose, the list is.

Both are in the same loops of the confirmation, so that they are compared pair by pair. Where no difference is shown,
the choice stays, and that it is no better than the list is said.
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
    if _unasked(here) or any(each.kind == "list_best" for each in here.tuned.findings):
        return
    ratios = _beside_lists(here, here.samples, TUNED)
    better = {name: each for name, each in ratios.items() if _wins(each)}
    if not better:
        return
    best = max(better, key=lambda name: min(ratio.value for ratio in better[name]))
    old = here.tuned.choice
    samples = {**here.samples, SEARCHED: here.samples[TUNED], TUNED: here.samples[best]}
    # What single settings of the search's choice contribute is no question any more.
    here.samples = {name: each for name, each in samples.items() if name != best and not name.startswith(WITHOUT)}
    here.tuned.choice = Choice(here.samples[TUNED][0].settings, f"{old.why} Fresh runs of the list of {best} beat it.")
    least = min(better[best], key=lambda ratio: ratio.value)
    here.tuned.findings.append(
        finding("list_best", {"list": best, "ratio": least.value, "low": least.low, "high": least.high})
    )
    here.tuned.judged = here.judged(here.options.confidence)


def say_no_better(here: ConfirmationRun) -> None:
    """Report the known lists over which the recommendation is not shown to be better, by the reported runs."""
    if _unasked(here) or not here.tuned.judged.settings.values:
        return
    names = [name for name in (RECOMMENDED, TUNED) if name in here.reported]
    mine = next((n for n in names if here.reported[n][0].settings == here.tuned.judged.settings), None)
    if mine is None:
        return
    for name, each in _beside_lists(here, here.reported, mine).items():
        if each and not any(ratio.high < 1 for ratio in each):
            # The recommended over the list: above 1 the list is the better one.
            one = max(each, key=lambda ratio: ratio.value)
            here.tuned.findings.append(
                finding("no_better", {"list": name, "ratio": one.value, "low": one.low, "high": one.high})
            )


def _unasked(here: ConfirmationRun) -> bool:
    return bool(here.options.allowed.tried) or here.options.minimize == "time"


def _beside_lists(here: ConfirmationRun, samples: Mapping[str, Sequence[Sample]], mine: str) -> dict[str, list[Ratio]]:
    """Return an arm over each known list that was measured with it, a ratio a program."""
    names = [name for name, _ in here.space.profiles if name in samples]
    return {name: _against(here, samples[mine], samples[name]) for name in names if mine in samples}


def _against(here: ConfirmationRun, mine: Sequence[Sample], other: Sequence[Sample]) -> list[Ratio]:
    """Return the choice over a list, a ratio a program; none where they have no loops in common, or a run failed."""
    ratios = []
    for one, two in zip(mine, other, strict=True):
        pairs = [(a, b) for a, b in zip(one.loops, two.loops, strict=False) if min(len(a), len(b)) > 1]
        if two.failed > one.failed or not pairs:
            return []
        first, second = ([pair[side] for pair in pairs] for side in (0, 1))
        ratios.append(find(here.options.objective).ratio(first, second, 1 - here.options.confidence))
    return ratios


def _wins(ratios: Sequence[Ratio]) -> bool:
    return any(ratio.low > 1 for ratio in ratios) and not any(ratio.high < 1 for ratio in ratios)
