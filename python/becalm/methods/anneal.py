"""Simulated annealing, algorithm 3 of Jung 2020 (Autotune): once through all candidates, worse steps accepted at first.

Starts with no settings and a spread of 100 %, at a temperature of 100 that falls by a factor of 0.75 a step. A
candidate in random order is added to the present settings and these are measured; a better spread is accepted, a
worse one with probability exp(-(new - old) / temperature), both in percent. The best settings seen are chosen. What
is ours: a candidate that needs another waits until that one was decided on, and is skipped when it was rejected.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from becalm.methods.protocol import Choice, SearchGenerator, TrialDesign
from becalm.methods.trials import SearchTrials
from becalm.nouns.search_space import Candidate, Space

START, TEMPERATURE, FACTOR = 100.0, 100.0, 0.75
"""Spread in percent before anything was measured; first temperature; what it is multiplied by after each step."""


def anneal(space: Space, rule: TrialDesign, rng: np.random.Generator) -> SearchGenerator:
    """Search as algorithm 3 does; see the module."""
    trials, old, temperature = SearchTrials(rule), START, TEMPERATURE
    waiting = deque(space.candidates[index] for index in rng.permutation(len(space.candidates)))
    present: tuple[Candidate, ...] = ()
    while waiting and trials.affordable and not trials.reached:
        candidate = waiting.popleft()
        missing = set(candidate.requires) - {knob for candidate in present for knob in candidate.knobs}
        if missing:
            if missing <= {knob for each in waiting for knob in each.knobs}:
                waiting.append(candidate)
            continue
        wider = (*present, candidate)
        spread = yield from trials.measure(space.settings(wider), f"with {candidate.text}")
        new = math.inf if spread is None else 100 * spread
        if new < old or rng.random() < math.exp(-(new - old) / temperature):
            present, old = wider, new
        temperature *= FACTOR
    return Choice(
        trials.best,
        f"Annealing chose the best of {trials.count} trials ({trials.runs} runs), which has {len(trials.best.values)} "
        f"of {space.count} settings; {trials.end()}.",
    )
