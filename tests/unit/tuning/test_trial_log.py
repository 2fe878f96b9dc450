"""Bookkeeping of a tune study: which steps come next, whatever was measured before and wherever it stopped."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from becalm.methods.protocol import Ask
from becalm.nouns.run import Run
from becalm.nouns.settings import Settings
from becalm.tuning.trial_log import PAUSE_NS, NumberedAsk, TrialLog

MS = 1_000_000


def asked(arms=3, loops=2, runs=4, warmups=1, programs=(0,), first=0):
    settings = tuple(Settings.of({"x": index} if index else {}) for index in range(arms))
    return NumberedAsk(Ask(settings, loops, runs, warmups, "a test"), first, tuple(range(arms)), programs)


def run(seq, step, outcome="ok", started_ns=None, cpu=True):
    wall = MS * (1 + step.settings) + 1000 * step.workload + seq
    times = (wall - 7, 7) if cpu else (None, None)
    began = 10 * MS * seq if started_ns is None else started_ns
    return Run(
        seq, step.workload, step.settings, step.round, step.padding, began, wall, *times,
        None, None, None, None, None, None, outcome, 0 if outcome == "ok" else 1, 0,
    )  # fmt: skip


def carry_on(trials, wanted, seed=1, bad=lambda step: False):
    """Measure what is asked for to the end; gives the rows, in order. A block ends with the first failed run."""
    rows = []
    while block := trials.block(wanted, seed):
        for step in block:
            rows.append(run(trials.next_seq, step, "failed" if bad(step) else "ok"))
            trials.extend(rows[-1:])
            if bad(step):
                break
        assert len(rows) < 10_000
    return rows


def steps(rows):
    return [(each.workload, each.settings, each.round) for each in rows]


def test_each_loop_has_all_arms_in_an_order_that_seed_and_loop_decide():
    wanted = asked(arms=4, loops=30, runs=2, warmups=0, first=5)
    orders = {}
    for seed in (1, 2):
        rows = carry_on(TrialLog(), wanted, seed)
        assert steps(rows) == steps(carry_on(TrialLog(), wanted, seed))
        assert Counter(steps(rows)) == {(0, arm, loop): 2 for arm in range(4) for loop in range(5, 35)}
        loops = np.array([each.settings for each in rows[::2]]).reshape(30, 4)
        assert [each.round for each in rows] == sorted(each.round for each in rows), "one loop after the other"
        orders[seed] = [tuple(row) for row in loops]
        first = Counter(order[0] for order in orders[seed])
        assert set(first) == {0, 1, 2, 3}, "each arm is the first now and then"
    assert orders[1] != orders[2]


def test_warmups_come_before_the_counted_runs_of_the_first_loop_only():
    rows = carry_on(TrialLog(), asked(arms=2, loops=3, runs=2, warmups=2, first=7))
    assert Counter(each.round for each in rows) == {-8: 4, 7: 4, 8: 4, 9: 4}
    first = [each.round for each in rows if each.settings == 1][:4]
    assert first == [-8, -8, 7, 7]


@given(
    st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 3), st.integers(1, 4), st.integers(0, 2),
    st.integers(1, 3), st.integers(0, 5), st.booleans(),
)  # fmt: skip
def test_cut_anywhere_the_rest_is_exactly_what_is_missing(cut, arms, loops, runs, warmups, programs, seed, aborted):
    wanted = asked(arms, loops, runs, warmups, tuple(range(programs)))
    uncut = TrialLog()
    rows = carry_on(uncut, wanted, seed)
    assert len(rows) == programs * arms * (loops * runs + warmups)
    if not aborted:
        assert wanted.runs == len(rows)
    cut %= len(rows) + 1
    known, trials = rows[:cut], TrialLog()
    if aborted and cut < len(rows):
        # The run that was killed is in the store, too, as one that says nothing.
        known = [*known, rows[cut]._replace(outcome="aborted")]
    trials.extend(known)
    rest = carry_on(trials, wanted, seed)
    assert steps(rest) == steps(rows[cut:])
    for program in range(programs):
        for one, other in zip(uncut.samples(wanted, program), trials.samples(wanted, program), strict=True):
            assert [len(loop) for loop in one.loops] == [len(loop) for loop in other.loops] == [runs] * loops


@given(st.integers(0, 1000), st.sampled_from([(1, 0), (1, -1), (2, 1)]), st.integers(1, 2))
def test_nothing_more_is_measured_of_an_arm_that_failed_also_after_a_cut(cut, where, programs):
    arm, loop = where
    wanted = asked(arms=3, loops=3, runs=3, warmups=1, programs=tuple(range(programs)))

    def bad(step):
        return (step.settings, step.round) == (arm, loop)

    rows = carry_on(TrialLog(), wanted, bad=bad)
    failed = [each.seq for each in rows if each.outcome == "failed"]
    assert len(failed) == 1
    assert all(each.settings != arm for each in rows[failed[0] + 1 :])
    trials = TrialLog()
    trials.extend(rows[: cut % (len(rows) + 1)])
    rest = carry_on(trials, wanted, bad=bad)
    assert steps(rest) == steps(rows[cut % (len(rows) + 1) :])
    assert trials.lost(wanted, arm)
    assert [sample.failed for sample in trials.samples(wanted, 0)] == [int(each == arm) for each in range(3)]
    assert [bool(sample.failed) for sample in trials.together(wanted, range(programs))] == [i == arm for i in range(3)]


def test_a_refused_arm_is_left_out_and_is_a_failed_trial():
    wanted, trials = asked(), TrialLog()
    trials.refused[1] = "no"
    rows = carry_on(trials, wanted)
    assert {each.settings for each in rows} == {0, 2}
    refused = trials.samples(wanted, 0)[1]
    assert (refused.loops, refused.failed) == ((), 1)
    assert refused.value() == float("inf")


def test_asks_do_not_mix():
    trials, one, two = TrialLog(), asked(first=0), asked(first=2)
    carry_on(trials, one)
    assert len(carry_on(trials, two)) == two.runs
    assert carry_on(trials, one) == []
    a, b = trials.samples(one, 0)[0], trials.samples(two, 0)[0]
    assert not set(np.concatenate(a.loops)) & set(np.concatenate(b.loops))


def test_several_programs_run_one_after_the_other_and_are_put_together():
    wanted = asked(arms=2, loops=2, runs=3, warmups=0, programs=(0, 2))
    trials = TrialLog()
    rows = carry_on(trials, wanted)
    assert [each.workload for each in rows[:6]] == [0, 0, 0, 2, 2, 2]
    (bare, _) = trials.together(wanted, (0, 2))
    assert [len(loop) for loop in bare.loops] == [3, 3, 3, 3]
    mine = [each.wall_ns for each in rows if each.settings == 0 and each.workload == 2 and each.round == 1]
    assert bare.loops[3].tolist() == mine


def test_cpu_times_are_those_of_the_counted_runs_and_unknown_ones_are_no_number():
    wanted, trials = asked(arms=1, loops=2, runs=2, warmups=1), TrialLog()
    rows = carry_on(trials, wanted)
    assert [loop.tolist() for loop in trials.cpu(wanted, 0, 0)] == [
        [float(rows[1].wall_ns), float(rows[2].wall_ns)],
        [float(rows[3].wall_ns), float(rows[4].wall_ns)],
    ]
    blind = TrialLog()
    blind.extend([each._replace(user_ns=None) for each in rows])
    assert np.isnan(blind.cpu(wanted, 0, 0)[0]).all()


def test_elapsed_time_leaves_out_the_pause_between_an_interruption_and_going_on():
    wanted = asked(arms=1, loops=1, runs=4, warmups=0)
    starts = [0, 10 * MS, 20 * MS + PAUSE_NS * 3, 30 * MS + PAUSE_NS * 3]
    block = TrialLog().block(wanted, 1)
    rows = [run(seq, step, started_ns=at) for seq, (step, at) in enumerate(zip(block, starts, strict=True))]
    trials = TrialLog()
    trials.extend(rows)
    assert trials.elapsed_ns == 20 * MS + rows[1].wall_ns + rows[3].wall_ns
    back = TrialLog()
    back.extend([rows[0], rows[1]._replace(started_ns=-5)])
    assert back.elapsed_ns == rows[0].wall_ns + rows[1].wall_ns, "a clock that was set back takes nothing away"
