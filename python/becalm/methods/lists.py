"""Known lists of settings as candidates of any search for little variation.

The lists (`Space.profiles`: those of pyperf and LLVM) are measured before the method begins. At its end its choice runs
against the best of them, and the one that varies less is chosen. A method that has the lists among its candidates by
itself (`race`) may also try parts of them.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec.structs import replace

from becalm.methods.protocol import NO_SETTINGS, Ask, Choice, Method, Sample, SearchGenerator, TimeOver, TrialDesign
from becalm.nouns.search_space import Space

FINAL_LOOPS = 4
"""The smallest number of loops of the last comparison: one loop estimates a spread to about a third."""

SHARE = 0.4
"""The share of a limited search that the lists may take, their last comparison included."""


def with_lists(method: Method) -> Method:
    """Return the method with the known lists of the space as candidates."""

    def search(space: Space, rule: TrialDesign, rng: np.random.Generator) -> SearchGenerator:
        lists = {settings: name for name, settings in space.profiles if settings.values}
        final = max(FINAL_LOOPS, rule.loops)
        spent = len(lists) * rule.cost + 2 * (final * rule.runs + rule.warmup_runs)
        if not lists or (rule.most_runs is not None and spent > SHARE * rule.most_runs):
            return (yield from method(space, rule, rng))
        why = f"the known lists: {', '.join(lists.values())}"
        samples = yield Ask(tuple(lists), rule.loops, rule.runs, rule.warmup_runs, why)
        best = min(samples, key=lambda sample: sample.value(rule.objective))
        limited = None if rule.most_runs is None else rule.most_runs - spent
        choice = yield from method(space, replace(rule, most_runs=limited), rng)
        # If a search chose nothing, the confirmation measures the lists before that is reported (`tuning.confirm`).
        if not math.isfinite(best.value(rule.objective)) or choice.settings in (best.settings, NO_SETTINGS):
            return choice
        name = lists[best.settings]
        why = f"the choice of the search against the list of {name}"
        arms = (choice.settings, best.settings)
        try:
            mine, other = yield Ask(arms, final, rule.runs, rule.warmup_runs, why, choice.settings)
        except TimeOver:
            return choice
        return _better(choice, mine, other, rule, name)

    return search


def _better(choice: Choice, mine: Sample, other: Sample, rule: TrialDesign, name: str) -> Choice:
    """Return the choice, or the list if it varies less."""
    ours, theirs = mine.value(rule.objective), other.value(rule.objective)
    if not theirs < ours:
        return choice
    return Choice(other.settings, f"{choice.why} But the list of {name} varied less, and was chosen.")
