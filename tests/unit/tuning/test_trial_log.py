"""Bookkeeping of a tune study: what was measured is found again, wherever it stopped."""

import numpy as np

from becalm.methods.protocol import Ask
from becalm.nouns.run import Run, Step
from becalm.nouns.settings import Settings
from becalm.plans.trials import next_trial
from becalm.tuning.trial_log import PAUSE_NS, NumberedAsk, TrialLog

MS = 1_000_000


def new_ask(arms=3, loops=2, runs=4, warmups=1, programs=(0,), first=0):
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
    while block := next_trial(wanted.wanted, trials, seed):
        for step in block.steps:
            rows.append(run(trials.next_seq, step, "failed" if bad(step) else "ok"))
            trials.extend(rows[-1:])
            if bad(step):
                break
        assert len(rows) < 10_000
    return rows


def steps(rows):
    return [(row.workload, row.settings, row.round) for row in rows]


def test_a_refused_arm_is_left_out_and_is_a_failed_trial():
    wanted, trials = new_ask(), TrialLog()
    trials.refused[1] = "no"
    rows = carry_on(trials, wanted)
    assert {row.settings for row in rows} == {0, 2}
    refused = trials.samples(wanted, 0)[1]
    assert (refused.loops, refused.failed, refused.refused) == ((), 1, True)
    assert refused.value() == float("inf")


def test_asks_do_not_mix():
    trials, first, two = TrialLog(), new_ask(first=0), new_ask(first=2)
    carry_on(trials, first)
    assert len(carry_on(trials, two)) == two.wanted.size
    assert carry_on(trials, first) == []
    a, b = trials.samples(first, 0)[0], trials.samples(two, 0)[0]
    assert not set(np.concatenate(a.loops)) & set(np.concatenate(b.loops))


def test_several_programs_run_one_after_the_other_and_are_put_together():
    wanted = new_ask(arms=2, loops=2, runs=3, warmups=0, programs=(0, 2))
    trials = TrialLog()
    rows = carry_on(trials, wanted)
    assert [row.workload for row in rows[:6]] == [0, 0, 0, 2, 2, 2]
    (bare, _) = trials.together(wanted, (0, 2))
    assert [len(loop) for loop in bare.loops] == [3, 3, 3, 3]
    mine = [row.wall_ns for row in rows if row.settings == 0 and row.workload == 2 and row.round == 1]
    assert bare.loops[3].tolist() == mine


def test_cpu_times_are_those_of_the_counted_runs_and_unknown_ones_are_no_number():
    wanted, trials = new_ask(arms=1, loops=2, runs=2, warmups=1), TrialLog()
    rows = carry_on(trials, wanted)
    assert [loop.tolist() for loop in trials.cpu(wanted, 0, 0)] == [
        [float(rows[1].wall_ns), float(rows[2].wall_ns)],
        [float(rows[3].wall_ns), float(rows[4].wall_ns)],
    ]
    blind = TrialLog()
    blind.extend([row._replace(user_ns=None) for row in rows])
    assert np.isnan(blind.cpu(wanted, 0, 0)[0]).all()


def test_elapsed_time_leaves_out_the_pause_between_an_interruption_and_going_on():
    wanted = new_ask(arms=1, loops=1, runs=4, warmups=0)
    starts = [0, 10 * MS, 20 * MS + PAUSE_NS * 3, 30 * MS + PAUSE_NS * 3]
    block = next_trial(wanted.wanted, TrialLog(), 1).steps
    rows = [run(seq, step, started_ns=at) for seq, (step, at) in enumerate(zip(block, starts, strict=True))]
    trials = TrialLog()
    trials.extend(rows)
    assert trials.elapsed_ns == 20 * MS + rows[1].wall_ns + rows[3].wall_ns
    back = TrialLog()
    back.extend([rows[0], rows[1]._replace(started_ns=-5)])
    assert back.elapsed_ns == rows[0].wall_ns + rows[1].wall_ns, "a clock that was set back takes nothing away"


def test_a_run_that_was_ended_before_its_own_limit_is_known_to_take_at_least_so_long():
    wanted, trials = new_ask(arms=3, loops=1, runs=1, warmups=0), TrialLog()
    trials.timeouts = {0: 50 * MS}
    rows = [run(seq, step) for seq, step in enumerate(next_trial(wanted.wanted, trials, 1).steps * 3)]
    early, late, failed = 20 * MS, 50 * MS, 7 * MS
    trials.extend(
        [
            rows[0]._replace(settings=0, outcome="timeout", wall_ns=early),
            rows[1]._replace(settings=1, outcome="timeout", wall_ns=late),
            rows[2]._replace(settings=2, outcome="failed", wall_ns=failed),
        ]
    )
    ended = trials.samples(wanted, 0)
    assert [trial.ended_ns for trial in ended] == [(early,), (), ()]
    assert [trial.slow for trial in ended] == [True, False, False]
    assert all(trial.value("time") == float("inf") for trial in ended)
    assert [trial.ended_ns for trial in trials.together(wanted, [0])] == [(early,), (), ()]


def test_a_trial_of_several_programs_is_slow_when_nothing_else_is_wrong():
    wanted, trials = new_ask(arms=2, loops=1, runs=1, warmups=0, programs=(0, 1)), TrialLog()
    trials.timeouts = {0: None, 1: None}
    for program, arm, outcome in ((0, 0, "timeout"), (1, 0, "ok"), (0, 1, "timeout"), (1, 1, "failed")):
        (step,) = {step for step in next_trial(wanted.wanted, TrialLog(), 1).steps if step.workload == program}
        trials.extend([run(trials.next_seq, step)._replace(settings=arm, outcome=outcome)])
    assert [trial.slow for trial in trials.together(wanted, (0, 1))] == [True, False]


def test_programs_at_the_same_time_take_as_long_as_the_longer_one():
    trials = TrialLog()
    step = Step(0, 0, 0, 0)
    first, second = (
        run(seq, step, started_ns=100 * MS)._replace(wall_ns=took) for seq, took in ((0, 30 * MS), (1, 50 * MS))
    )
    trials.extend([first._replace(apart_ns=-5), second._replace(apart_ns=5)])
    assert trials.elapsed_ns == 50 * MS
    trials.extend([run(2, step, started_ns=152 * MS)._replace(wall_ns=10 * MS)])
    assert trials.elapsed_ns == 62 * MS
    assert trials.apart_ns == [-5, 5]
