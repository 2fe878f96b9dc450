"""Simulated annealing, algorithm 3 of Jung 2020 (Autotune): once through all candidates, worse steps accepted at first.

The search starts with no settings and a spread of 100 %, at a temperature of 100 that falls by a factor of 0.75 in each
step. Candidates in random order are added to the present settings, which are then measured; a better spread is
accepted, a worse one with probability exp(-(new - old) / temperature), both in percent. The best measured settings are
chosen. Our addition: a candidate that requires another one waits until that one is decided, and is skipped if it was
rejected.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from becalm.methods.protocol import Choice, SearchGenerator, TrialDesign
from becalm.methods.trials import SearchTrials
from becalm.nouns.search_space import Candidate, Space

START, TEMPERATURE, FACTOR = 100.0, 100.0, 0.75
"""The spread before anything is measured, percent; the first temperature; and its factor after each step."""


def anneal(space: Space, rule: TrialDesign, rng: np.random.Generator) -> SearchGenerator:
    """Search by algorithm 3; see the module."""
    trials, old, temperature = SearchTrials(rule), START, TEMPERATURE
    waiting = deque(space.candidates[index] for index in rng.permutation(len(space.candidates)))
    present: tuple[Candidate, ...] = ()
    while waiting and trials.affordable and not trials.reached:
        candidate = waiting.popleft()
        missing = set(candidate.requires) - {knob for candidate in present for knob in candidate.knobs}
        if missing:
            if missing <= {knob for waiting_candidate in waiting for knob in waiting_candidate.knobs}:
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
