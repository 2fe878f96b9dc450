"""Properties of every search on any machine."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from becalm.hosts.simulated.machine import ABSENT, NoiseSource, Running, SettingsEffect, SimulatedMachine, State
from becalm.methods import TABLE
from becalm.methods.protocol import Ask, Sample, SearchRun, TrialDesign
from becalm.nouns.knob import catalogue
from becalm.nouns.search_space import Candidate, Group, Space
from becalm.nouns.settings import Settings

METHODS = [row for row in TABLE if "spread" in row.minimizes]
ROWS = [row for row in catalogue() if row.tuned_value is not None and row.name not in ABSENT]
KNOBS = [(row.name, row.tuned_value) for row in ROWS]
EFFECTS = st.builds(
    SettingsEffect,
    st.frozensets(st.sampled_from(KNOBS), min_size=1, max_size=2),
    st.sampled_from([0.0, 0.3, 0.8, 1.0, 1.5]),
    st.sampled_from([0.0, 0.0, 0.02]),
)
KINDS = st.sampled_from(["normal", "heavy", "bimodal", "drift", "bursts"])
NOISES = st.builds(NoiseSource, st.just("noise"), KINDS, st.floats(0.0, 0.1), st.lists(EFFECTS, max_size=6).map(tuple))
FAILING = st.lists(
    st.builds(SettingsEffect, st.frozensets(st.sampled_from(KNOBS), max_size=2), st.sampled_from([0.1, 1.0])),
    max_size=2,
)
MACHINES = st.builds(
    lambda noises, failing: SimulatedMachine("any", "any", 10**9, tuple(noises), failing=tuple(failing)),
    st.lists(NOISES, max_size=4),
    FAILING,
)
RULES = st.builds(
    TrialDesign,
    loops=st.integers(1, 2),
    runs=st.integers(2, 5),
    warmups=st.integers(0, 1),
    objective=st.sampled_from(["cv", "mad"]),
    threshold=st.sampled_from([0.0, 0.001, 0.02]),
    most_runs=st.none() | st.integers(0, 150),
)


def answered(running: Running, states: list[State], ask: Ask) -> list[Sample]:
    loops: list[list[np.ndarray]] = [[] for _ in states]
    failed = [0] * len(states)
    for _ in range(ask.loops):
        for index in range(len(states)):
            factors, bad = running.runs(states, np.full(ask.runs, index))
            loops[index].append(1e9 * factors[~bad])
            failed[index] += int(bad.sum())
    return [Sample(arm, tuple(loops[i]), failed[i]) for i, arm in enumerate(ask.arms)]


@given(MACHINES, st.sets(st.integers(0, len(ROWS) - 1)), RULES, st.sampled_from(METHODS), st.integers(0, 99))
def test_any_search_ends_within_its_limits_with_settings_that_never_failed(machine, chosen, rule, row, seed):
    candidates = tuple(
        Candidate(r.name, r.tuned_value, Group(r.group), r.requires, r.restricts_cpus, r.conflicts)
        for i, r in enumerate(ROWS)
        if i in chosen
    )
    values = {candidate.knob: candidate.value for candidate in candidates}
    requires = {candidate.knob: set(candidate.requires) for candidate in candidates}
    search, running = SearchRun(row.load(), Space(candidates), rule, seed), Running(machine, seed)
    used, failed, tried = 0, set(), {Settings()}
    while search.ask is not None:
        ask = search.ask
        used += len(ask.arms) * (ask.loops * ask.runs + ask.warmups)
        assert rule.most_runs is None or used <= rule.most_runs
        assert len(set(ask.arms)) == len(ask.arms) > 0
        assert ask.best in tried - failed or not ask.best.values
        for arm in ask.arms:
            assert all(
                values[knob] == value and requires[knob] <= dict(arm.values).keys() for knob, value in arm.values
            )
        samples = answered(running, [machine.state(arm) for arm in ask.arms], ask)
        tried |= set(ask.arms)
        failed |= {sample.settings for sample in samples if sample.failed}
        search.tell(samples)
    assert search.choice is not None
    assert not search.choice.settings.values or search.choice.settings in tried - failed
