"""Greedy search, algorithm 4 of Jung 2020 (Autotune): one setting after the other, retained when it lowers the spread.

The essential settings are set without a test. Isolation is tried, and the settings that require it only if it helps;
then the normal settings in random order, then the dangerous ones in the space. The search ends when the threshold is
reached. It compares single noisy numbers with the lowest one so far, so its lowest spread is biased downwards, and its
result depends on the order. Our additions: settings are never chosen without having been measured together, and a
failed trial is never kept.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from becalm.methods.protocol import NO_SETTINGS, Choice, SearchGenerator, TrialDesign
from becalm.methods.trials import SearchTrials
from becalm.nouns.search_space import Candidate, Group, Space


def greedy(space: Space, rule: TrialDesign, rng: np.random.Generator) -> SearchGenerator:
    """Search by algorithm 4; see the module."""
    trials = SearchTrials(rule)
    yield from trials.measure(NO_SETTINGS, "the baseline")
    accepted = () if trials.reached else space.of(Group.ESSENTIAL)
    for candidate in _order(space, rng):
        if trials.reached or not trials.affordable:
            break
        if not {knob for member in accepted for knob in member.knobs}.issuperset(candidate.requires):
            continue
        wider, lowest = (*accepted, candidate), trials.spread
        spread = yield from trials.measure(space.settings(wider), f"with {candidate.text}")
        if spread is not None and spread < lowest:
            accepted = wider
    settings = space.settings(accepted)
    if settings not in trials.seen:
        yield from trials.measure(settings, "the essential settings, which were set without a test")
    return Choice(
        trials.best,
        f"Greedy search chose {len(trials.best.values)} of {space.count} settings after {trials.count} trials "
        f"({trials.runs} runs); {trials.end()}.",
    )


def _order(space: Space, rng: np.random.Generator) -> Iterator[Candidate]:
    isolation = space.of(Group.ISOLATION)
    yield from sorted(isolation, key=lambda candidate: bool(candidate.requires))
    for group in (Group.NORMAL, Group.DANGEROUS):
        members = space.of(group)
        yield from (members[index] for index in rng.permutation(len(members)))
