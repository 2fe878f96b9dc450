"""Runs of a confirmation two at a time."""

from collections import Counter

import numpy as np
import pytest
from tests.unit.tuning.test_trial_log import run

from becalm.nouns.run import Start, Step
from becalm.plans.paired_trials import ANYWHERE, Pairing, paired
from becalm.plans.trials import TrialGoal, next_trial
from becalm.tuning.trial_log import TrialLog

CPUS = (2, 5)


def wanted(arms, runs=4, warmups=1, programs=(0,)):
    """Return what a confirmation asks for."""
    return TrialGoal(range(3), tuple(range(arms)), programs, runs, warmups)


def blocks(request, kinds, seed=1):
    """Return the blocks of a whole confirmation."""
    trials, confirmation = TrialLog(), []
    while block := next_trial(request, trials, seed, pairing=Pairing(CPUS, kinds)):
        confirmation.append(block)
        rows = [run(trials.next_seq + index, step) for index, step in enumerate(block.steps)]
        trials.extend(rows)
    return confirmation


@pytest.mark.parametrize("arms", [2, 3, 4])
@pytest.mark.parametrize("runs", [4, 5])
def test_every_arm_runs_as_often_as_wanted_and_programs_meet_on_both_cpus(arms, runs):
    request = wanted(arms, runs, programs=(0, 1))
    confirmation = blocks(request, dict.fromkeys(range(arms), "same"))
    assert len(confirmation) == 3, "a loop is a block"
    counts = Counter(step for block in confirmation for step in block.steps)
    assert {step: count for step, count in counts.items() if step.round >= 0} == {
        Step(program, arm, 0, loop): runs for program in (0, 1) for arm in range(arms) for loop in range(3)
    }
    for block in confirmation:
        pairs = list(zip(block.steps, block.starts, strict=True))
        for at, (step, start) in enumerate(pairs):
            if start.with_next:
                other, alongside = pairs[at + 1]
                assert {start.cpu, alongside.cpu} == set(CPUS)
                assert (step.workload, step.round) == (other.workload, other.round)
                assert step.settings != other.settings
        assert not block.starts[-1].with_next


def test_two_programs_change_cpus_from_run_to_run():
    (block, *_) = blocks(wanted(2, warmups=0), {0: "same", 1: "same"})
    on = [start.cpu for step, start in zip(block.steps, block.starts, strict=True) if step.settings == 0]
    assert on[0] != on[1]
    assert on[2] != on[3]


def test_arms_of_another_machine_run_by_themselves_and_warm_ups_come_first():
    confirmation = blocks(wanted(4), {0: "a", 1: "a", 2: "b", 3: None})
    for block in confirmation:
        starts = {arm: [] for arm in range(4)}
        for step, start in zip(block.steps, block.starts, strict=True):
            starts[step.settings].append(start)
        own = [start for start in starts[2] if start != ANYWHERE]
        assert len(own) == 4
        assert not any(start.with_next for start in own)
        assert set(starts[3]) == {ANYWHERE}
    assert [step.round for step in confirmation[0].steps[:4]] == [-1] * 4
    assert set(confirmation[0].starts[:4]) == {ANYWHERE}


def test_without_two_arms_that_may_meet_blocks_are_as_usual():
    for kinds in ({0: "a", 1: "b"}, {0: None, 1: None}, {}):
        assert all(block.starts == () for block in blocks(wanted(2), kinds))


def test_the_rest_of_a_loop_goes_on_in_pairs():
    missing = [(arm, [Step(0, arm, 0, 7)] * 2) for arm in (0, 1)]
    block = paired(missing, 7, Pairing(CPUS, {0: "a", 1: "a"}), np.random.default_rng(1))
    assert Counter(block.steps) == {Step(0, 0, 0, 7): 2, Step(0, 1, 0, 7): 2}
    assert [start.with_next for start in block.starts] == [True, False] * 2
    assert Start(2) in block.starts or Start(5) in block.starts
