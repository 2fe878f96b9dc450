"""Greedy search, algorithm 4 of Jung 2020 (Autotune): one setting after the other, kept when it lowers the spread.

The essential settings are set without a test. Isolation is tried, and only if it helps what needs it; then the normal
settings in random order, then the dangerous ones that are in the space. After each the search ends when the threshold
is reached. It compares single noisy numbers with the lowest one seen, so what it saw is too good to be true; and the
order decides where it ends. What is ours: settings that were never measured together are measured before they are
chosen, and a failed trial is never kept.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from becalm.methods.protocol import NO_SETTINGS, Choice, SearchGenerator, TrialDesign
from becalm.methods.trials import SearchTrials
from becalm.nouns.search_space import Candidate, Group, Space


def greedy(space: Space, rule: TrialDesign, rng: np.random.Generator) -> SearchGenerator:
    """Search as algorithm 4 does; see the module."""
    trials = SearchTrials(rule)
    yield from trials.measure(NO_SETTINGS, "the baseline")
    kept = () if trials.reached else space.of(Group.ESSENTIAL)
    for candidate in _order(space, rng):
        if trials.reached or not trials.affordable:
            break
        if not {knob for each in kept for knob in each.knobs}.issuperset(candidate.requires):
            continue
        wider, lowest = (*kept, candidate), trials.spread
        spread = yield from trials.measure(space.settings(wider), f"with {candidate.text}")
        if spread is not None and spread < lowest:
            kept = wider
    settings = space.settings(kept)
    if settings not in trials.seen:
        yield from trials.measure(settings, "the essential settings, which were set without a test")
    return Choice(
        trials.best,
        f"Greedy search kept {len(trials.best.values)} of {space.count} settings after {trials.count} trials "
        f"({trials.runs} runs); {trials.end()}.",
    )


def _order(space: Space, rng: np.random.Generator) -> Iterator[Candidate]:
    isolation = space.of(Group.ISOLATION)
    yield from sorted(isolation, key=lambda each: bool(each.requires))
    for group in (Group.NORMAL, Group.DANGEROUS):
        members = space.of(group)
        yield from (members[index] for index in rng.permutation(len(members)))
