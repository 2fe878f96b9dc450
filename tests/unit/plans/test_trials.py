"""The order of steps of a search: which come next, whatever was measured before and wherever it stopped."""

import itertools
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.tuning.test_trial_log import MS, carry_on, new_ask, steps

from becalm.methods.protocol import Ask
from becalm.nouns.run import Run
from becalm.nouns.settings import Settings
from becalm.plans.trials import next_trial
from becalm.tuning.trial_log import NumberedAsk, TrialLog


def test_each_loop_has_all_arms_in_an_order_that_seed_and_loop_decide():
    wanted = new_ask(arms=4, loops=30, runs=2, warmups=0, first=5)
    orders = {}
    for seed in (1, 2):
        rows = carry_on(TrialLog(), wanted, seed)
        assert steps(rows) == steps(carry_on(TrialLog(), wanted, seed))
        assert Counter(steps(rows)) == {(0, arm, loop): 2 for arm in range(4) for loop in range(5, 35)}
        loops = np.array([row.settings for row in rows[::2]]).reshape(30, 4)
        assert [row.round for row in rows] == sorted(row.round for row in rows), "one loop after the other"
        orders[seed] = [tuple(row) for row in loops]
        first = Counter(order[0] for order in orders[seed])
        assert set(first) == {0, 1, 2, 3}, "each arm is the first now and then"
    assert orders[1] != orders[2]


def test_warmups_come_before_the_counted_runs_of_the_first_loop_only():
    rows = carry_on(TrialLog(), new_ask(arms=2, loops=3, runs=2, warmups=2, first=7))
    assert Counter(row.round for row in rows) == {-8: 4, 7: 4, 8: 4, 9: 4}
    first = [row.round for row in rows if row.settings == 1][:4]
    assert first == [-8, -8, 7, 7]


@given(
    st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 3), st.integers(1, 4), st.integers(0, 2),
    st.integers(1, 3), st.integers(0, 5), st.booleans(),
)  # fmt: skip
def test_cut_anywhere_the_rest_is_exactly_what_is_missing(cut, arms, loops, runs, warmups, programs, seed, aborted):
    wanted = new_ask(arms, loops, runs, warmups, tuple(range(programs)))
    uncut = TrialLog()
    rows = carry_on(uncut, wanted, seed)
    assert len(rows) == programs * arms * (loops * runs + warmups)
    if not aborted:
        assert wanted.wanted.size == len(rows)
    cut %= len(rows) + 1
    known, trials = rows[:cut], TrialLog()
    if aborted and cut < len(rows):
        # The run that was killed is in the store, too, as one that says nothing.
        known = [*known, rows[cut]._replace(outcome="aborted")]
    trials.extend(known)
    rest = carry_on(trials, wanted, seed)
    assert steps(rest) == steps(rows[cut:])
    for program in range(programs):
        for first, other in zip(uncut.samples(wanted, program), trials.samples(wanted, program), strict=True):
            assert [len(loop) for loop in first.loops] == [len(loop) for loop in other.loops] == [runs] * loops


@given(st.integers(0, 1000), st.sampled_from([(1, 0), (1, -1), (2, 1)]), st.integers(1, 2))
def test_nothing_more_is_measured_of_an_arm_that_failed_also_after_a_cut(cut, where, programs):
    arm, loop = where
    wanted = new_ask(arms=3, loops=3, runs=3, warmups=1, programs=tuple(range(programs)))

    def bad(step):
        return (step.settings, step.round) == (arm, loop)

    rows = carry_on(TrialLog(), wanted, bad=bad)
    failed = [row.seq for row in rows if row.outcome == "failed"]
    assert len(failed) == 1
    assert all(row.settings != arm for row in rows[failed[0] + 1 :])
    trials = TrialLog()
    trials.extend(rows[: cut % (len(rows) + 1)])
    rest = carry_on(trials, wanted, bad=bad)
    assert steps(rest) == steps(rows[cut % (len(rows) + 1) :])
    assert trials.lost(wanted.wanted, arm)
    assert [sample.failed for sample in trials.samples(wanted, 0)] == [int(number == arm) for number in range(3)]
    assert [bool(sample.failed) for sample in trials.together(wanted, range(programs))] == [i == arm for i in range(3)]


def boots_of(trials, wanted, seed=1):
    """Measure what is asked for; gives (loop, boot, whether the machine starts again before) of every block."""
    result, booted = [], 0
    while block := next_trial(wanted.wanted, trials, seed):
        boot = trials.boots.get(block.steps[0].settings, 0)
        result.append((block.steps[0].round, boot, boot != booted or block.fresh_boot))
        booted = boot
        for step in block.steps:
            began = 2000 * trials.next_seq
            run = Run(
                trials.next_seq, step.workload, step.settings, step.round, 0, began, 1000, 1000, 0,
                None, None, None, None, None, None, "ok", 0, 0,
            )  # fmt: skip
            trials.extend([run])
    return result


def booting(loops, own, first=0):
    arms = tuple(Settings.of({"x": index}) for index in range(6))
    return NumberedAsk(Ask(arms, loops, 2, 0, "", boots=own), first, tuple(range(6)), (0,))


def trials_with(boots):
    trials = TrialLog()
    trials.boots = dict(enumerate(boots))
    return trials


def test_a_search_starts_with_the_boot_that_it_has_and_changes_once_a_loop():
    trials = trials_with([0, 1, 0, 1, 0, 1])
    boots = boots_of(trials, booting(6, own=False))
    assert sum(anew for *_, anew in boots) == 6
    assert boots[0][1] == 0, "the machine as it runs comes first"
    for loop in range(6):
        mine = [boot for block, boot, _ in boots if block == loop]
        assert mine == sorted(mine) or mine == sorted(mine, reverse=True)
    assert trials.reboots()[0] == 6


def test_a_confirmation_boots_for_every_loop_in_random_order():
    trials, wanted = trials_with([0, 1, 2, 1, 0, 2]), booting(12, own=True)
    trials.own_boots = set(wanted.loops)
    boots = boots_of(trials, wanted)
    for loop in range(12):
        mine = [(boot, anew) for block, boot, anew in boots if block == loop]
        order = [boot for boot, _ in mine]
        assert [boot for boot, _ in itertools.groupby(order)] == list(dict.fromkeys(order)), "each boot once"
        assert sum(anew for _, anew in mine) == (3 if loop or mine[0][0] else 2)
    firsts = {boots[index][1] for index in range(0, len(boots), 6)}
    assert firsts == {0, 1, 2}
    assert trials.reboots()[0] == sum(anew for *_, anew in boots)


def blocks_of(trials, wanted, run_ns, joined=True):
    """Return all blocks, of runs that take this long each."""
    result = []
    while block := next_trial(wanted.wanted, trials, 1, joined=joined):
        result.append(block.steps)
        for step in block.steps:
            seq = trials.next_seq
            run = Run(
                seq, step.workload, step.settings, step.round, 0, seq * run_ns, run_ns, run_ns, 0,
                None, None, None, None, None, None, "ok", 0, 0,
            )  # fmt: skip
            trials.extend([run])
    return result


def test_arms_of_short_programs_share_a_block_of_two_seconds():
    wanted = new_ask(arms=6, loops=5, runs=4, warmups=0)
    blocks = blocks_of(TrialLog(), wanted, 120_000_000)
    assert {len({step.round for step in block}) for block in blocks} == {1}, "none goes on into the next loop"
    # The first says how long a run takes; then four arms of four runs are 1.92 s.
    assert [len(block) for block in blocks[:5]] == [4, 16, 4, 16, 8]
    assert [step for block in blocks for step in block] == [
        step for block in blocks_of(TrialLog(), wanted, 10**9) for step in block
    ], "in the same order"


def test_arms_of_long_programs_of_other_boots_and_with_limits_of_their_own_have_blocks_of_their_own():
    wanted = new_ask(arms=6, loops=2, runs=4, warmups=0)
    assert {len(block) for block in blocks_of(TrialLog(), wanted, 400_000_000)} == {4}
    assert {len(block) for block in blocks_of(TrialLog(), wanted, MS, joined=False)} == {4}
    boots = [0, 1, 0, 1, 0, 1]
    for block in blocks_of(trials_with(boots), wanted, MS):
        assert len({boots[step.settings] for step in block}) == 1
