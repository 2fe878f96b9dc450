"""The delay factor and what was to be expected of it."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import pytest

import becalm.load.delay as delay_module
from becalm.load.delay import (
    OWN_CPU,
    PARALLEL_CPU,
    UNLOADED,
    WEIGHTS,
    Competition,
    Contender,
    delay,
    fair_delay,
    mund,
    weight_of_nice,
)
from becalm.load.time_accounting import Times
from becalm.nouns.codec import plain_dict

MS = 1e6


def test_munds_expectation():
    assert [mund(r, 2) for r in (0, 1, 2, 3, 8)] == [1, 1, 1, 1.5, 4]


def test_the_kernels_weights():
    assert len(WEIGHTS) == 40
    assert (weight_of_nice(-20), weight_of_nice(0), weight_of_nice(19)) == (88761, 1024, 15)
    # Each step is a quarter, as the kernel's comment says: about 10 % of CPU time.
    assert all(1.18 < a / b < 1.32 for a, b in itertools.pairwise(WEIGHTS))
    with pytest.raises(ValueError, match="-20 and 19"):
        weight_of_nice(20)


@pytest.mark.parametrize("k", range(6))
def test_k_equal_spinners_on_one_cpu(k):
    assert fair_delay(Contender(), [Contender(k)], 1) == pytest.approx(k + 1)


def test_two_sessions_with_autogroup_share_one_cpu_in_halves_however_many_spin_in_the_other():
    assert fair_delay(Contender(group="a"), [Contender(7, group="b")], 1) == pytest.approx(2)


@pytest.mark.parametrize(("nice", "other"), [(5, 0), (0, 10), (-5, 0), (19, -20)])
def test_nice_values_share_one_cpu_by_weight(nice, other):
    expected = 1 + Fraction(weight_of_nice(other), weight_of_nice(nice))
    assert fair_delay(Contender(nice=nice), [Contender(1, other)], 1) == pytest.approx(float(expected))


def test_nice_counts_only_within_its_group():
    inside = fair_delay(Contender(1, 19, "a"), [Contender(1, 0, "b")], 1)
    assert inside == pytest.approx(2)


def test_a_task_cannot_use_more_than_one_cpu_and_leaves_the_rest():
    # One of nice -20 next to three on two CPUs: it takes one whole CPU, the three share the other.
    assert fair_delay(Contender(), [Contender(1, -20), Contender(2)], 2) == pytest.approx(3, rel=0.03)
    assert fair_delay(Contender(1, -20), [Contender(3)], 2) == 1


def test_group_weights_and_quota():
    weights = {"a": 512, "b": 1536}
    assert fair_delay(Contender(group="a"), [Contender(9, group="b")], 1, weights=weights) == pytest.approx(4)
    assert fair_delay(Contender(), [], 4, quota_cpus=0.5) == pytest.approx(2)


@pytest.mark.parametrize(("cpus", "tasks"), [(1, 2.5), (2, 3), (4, 9), (64, 200)])
def test_equal_tasks_are_munds_case(cpus, tasks):
    assert fair_delay(Contender(), [Contender(tasks - 1)], cpus) == pytest.approx(mund(tasks, cpus))


def test_unknown_groups_give_a_range():
    low, high = Competition(5, 1).shared()
    # At best all four in one other group; at worst two next to the program and two with groups of their own: 3 x 3.
    assert (low, high) == (pytest.approx(2), pytest.approx(9))
    assert Competition(5, 1, grouped=False).shared() == (pytest.approx(5), pytest.approx(5))
    assert Competition(None, 1).shared() is None


def test_the_reference_is_an_unloaded_run_if_there_is_one():
    loaded = Times(1, 300 * MS, cpu_ns=100 * MS, exec_ns=100 * MS, wait_ns=200 * MS)
    estimate = delay(loaded, Competition(3, 1), Times(4, 120 * MS))
    assert (estimate.factor, estimate.reference, estimate.exact) == (pytest.approx(2.5), UNLOADED, pytest.approx(3))
    estimate = delay(loaded, Competition(3, 1))
    assert (estimate.factor, estimate.reference, estimate.failed) == (pytest.approx(3), OWN_CPU, ())
    assert json.loads(json.dumps(plain_dict(estimate)))["mund"] == 3


def test_without_reference_and_cpu_time_there_is_no_delay():
    assert delay(Times(1, 300 * MS), Competition(3, 1)) is None


@pytest.mark.parametrize(
    ("wait", "around", "words"),
    [
        (100, Competition(5, 1), "compete as one"),
        (33, Competition(2, 1, nice=-5, grouped=False), "nice value is -5"),
        (305, Competition(2, 1, nice=5, grouped=False), "nice value is 5"),
        (600, Competition(5, 1), "groups (autogroup, control group) share as wholes"),
        (900, Competition(2, 1, grouped=False), "only some of them"),
        (10, Competition(4, 1, grouped=False), "on the run queue only while it was not"),
    ],
)
def test_which_assumption_failed(wait, around, words):
    estimate = delay(Times(1, (100 + wait) * MS, cpu_ns=100 * MS, exec_ns=100 * MS, wait_ns=wait * MS), around)
    assert len(estimate.failed) == 1
    assert words in estimate.failed[0]


def test_a_quota_and_other_waits_are_named():
    held = Times(1, 400 * MS, cpu_ns=100 * MS, exec_ns=100 * MS, wait_ns=300 * MS, quota_ns=290 * MS)
    assert "quota" in delay(held, Competition(1, 1)).failed[0]
    asleep = Times(1, 400 * MS, cpu_ns=100 * MS, exec_ns=100 * MS, wait_ns=0)
    assert "Waiting for a CPU is not all" in delay(asleep, Competition(1, 1)).failed[0]


def test_threads_are_measured_by_what_they_take_alongside_each_other():
    """Eight threads on two CPUs, alone and next to eight of others: never faster than what it is measured by."""
    alone = Times(1, 200 * MS, cpu_ns=400 * MS, exec_ns=400 * MS, wait_ns=1200 * MS, tasks=8, scope="tree")
    estimate = delay(alone, Competition(8, 2, grouped=False))
    assert (estimate.factor, estimate.reference) == (pytest.approx(1), PARALLEL_CPU)
    assert (estimate.mund, estimate.exact, estimate.shared) == (
        1,
        pytest.approx(1),
        (pytest.approx(1), pytest.approx(1)),
    )
    alongside = Times(1, 400 * MS, cpu_ns=400 * MS, exec_ns=400 * MS, wait_ns=2800 * MS, tasks=8, scope="tree")
    estimate = delay(alongside, Competition(16, 2, grouped=False))
    assert (estimate.factor, estimate.failed) == (pytest.approx(2), ())
    assert (estimate.mund, estimate.exact, estimate.shared) == (
        2,
        pytest.approx(2),
        (pytest.approx(2), pytest.approx(2)),
    )


def test_unknown_times_stay_unknown():
    estimate = delay(Times(1, 300 * MS, cpu_ns=100 * MS), Competition(None, None))
    assert (estimate.mund, estimate.shared, estimate.exact, estimate.failed) == (None, None, None, ())


INVERSE = (
    48388, 59856, 76040, 92818, 118348, 147320, 184698, 229616, 287308, 360437, 449829, 563644, 704093, 875809,
    1099582, 1376151, 1717300, 2157191, 2708050, 3363326, 4194304, 5237765, 6557202, 8165337, 10153587, 12820798,
    15790321, 19976592, 24970740, 31350126, 39045157, 49367440, 61356676, 76695844, 95443717, 119304647, 148102320,
    186737708, 238609294, 286331153,
)  # fmt: skip
"""2^32 over the weight, as the kernel has it for itself (kernel/sched/core.c, sched_prio_to_wmult)."""


def test_the_weights_are_the_kernels_own():
    assert [round(2**32 / weight) for weight in delay_module.WEIGHTS] == pytest.approx(INVERSE, abs=1)
