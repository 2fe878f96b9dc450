"""Naming those that others ran while a program waited."""

import numpy as np
import pytest
from msgspec.structs import replace

from becalm.stats.culprits import LEAST, Basis, Blocks, bounds, joint_suspects, name_culprits

SPAN = 1e9


def blocks(waits, taken, own=0.0, hidden=0.0, error_ns=0.0):
    waits = np.asarray(waits, dtype=float) * SPAN
    taken = np.atleast_2d(np.asarray(taken, dtype=float)) * SPAN
    count = len(waits)
    return Blocks(waits, np.full(count, SPAN), taken, np.full(count, own * SPAN), hidden * SPAN, error_ns)


def bursts(rng, count, mean, on=0.4):
    """Return activity that comes and goes in blocks, with this mean."""
    busy = (rng.random(count) < on) * rng.uniform(0.7, 1.3, count)
    return mean * busy / busy.mean()


def test_a_candidate_caused_at_least_what_all_others_cannot_have():
    data = blocks([0.5, 0.2], [[0.6, 0.1], [0.1, 0.1], [0.0, 0.05]])
    low, high = bounds(data)
    # Of 0.7 s: 0.4 + 0.05 that only the first can have caused; at most 0.5 + 0.1 of it.
    assert low == pytest.approx([0.45 / 0.7, 0.05 / 0.7, 0.0], abs=1e-12)
    assert high == pytest.approx([0.6 / 0.7, 0.2 / 0.7, 0.05 / 0.7])


@pytest.mark.parametrize(
    ("more", "low"),
    [({"own": 0.1}, 0.7), ({"hidden": 0.1}, 0.7), ({"error_ns": 1e8}, 0.6), ({"own": 1.0}, 0.0)],
)
def test_waits_with_another_possible_cause_are_not_charged(more, low):
    # With an error, the other one may have caused a tenth more, too.
    assert bounds(blocks([1.0], [[1.0], [0.2]], **more))[0][0] == pytest.approx(low)


def test_the_only_one_that_can_have_done_it_is_named_whatever_the_variation():
    (name,) = name_culprits(blocks([0.4], [[0.5], [0.05]]))
    assert (name.index, name.basis) == (0, Basis.ACCOUNTING)
    assert name.low == pytest.approx(0.35 / 0.4)
    assert name.low <= name.share <= name.high == 1.0


def test_without_waits_or_candidates_nobody_is_named():
    assert name_culprits(blocks([0.0, 0.0], [[1.0, 1.0]])) == ()
    assert name_culprits(blocks([0.5], np.zeros((0, 1)))) == ()
    assert bounds(blocks([0.0], [[1.0]]))[0].tolist() == [0.0]
    assert joint_suspects(blocks([0.0], [[1.0]])) is None


def test_a_wait_that_is_not_worth_a_word_names_nobody():
    data = blocks([0.4], [[0.5]])
    assert name_culprits(data, least_ns=0.3 * SPAN)
    assert name_culprits(data, least_ns=0.5 * SPAN) == ()


def test_a_burst_is_found_alongside_a_busy_process_that_slows_nobody():
    rng = np.random.default_rng(1)
    harmless = 0.9 + 0.02 * rng.standard_normal(40)
    culprit = bursts(rng, 40, 0.2)
    waits = 0.5 * culprit + 0.005 * rng.random(40)
    data = blocks(waits, [harmless, culprit])
    (name,) = name_culprits(data)
    assert (name.index, name.basis) == (1, Basis.VARIATION)
    assert LEAST < name.low <= name.share <= 1.0


def test_two_bursts_are_told_apart():
    rng = np.random.default_rng(2)
    first, second, idle = bursts(rng, 60, 0.2), bursts(rng, 60, 0.3), 0.9 + 0.01 * rng.random(60)
    waits = 0.6 * first + 0.4 * second + 0.01 * rng.random(60)
    assert {culprit.index for culprit in name_culprits(blocks(waits, [first, second, idle]))} == {0, 1}


def test_two_drifts_are_no_proof():
    rng = np.random.default_rng(3)
    drift = np.linspace(0.1, 0.9, 40) + 0.01 * rng.standard_normal(40)
    harmless = np.linspace(0.2, 1.0, 40) + 0.01 * rng.standard_normal(40)
    assert name_culprits(blocks(0.1 * drift, [harmless, 0.9 + 0.05 * rng.random(40)])) == ()


def test_a_process_that_computes_all_the_time_is_not_named_for_what_others_leave_it():
    rng = np.random.default_rng(5)
    visits = 0.1 * rng.random(40)
    # It shares a CPU with visitors that come to it when they do not come to the program.
    data = blocks(visits, [0.9 + visits])
    assert name_culprits(Blocks(data.waits, data.spans, data.cpu_ns, data.own, hidden=SPAN * 40)) == ()


def test_chance_names_nobody():
    wrong = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        taken = [bursts(rng, 30, mean) for mean in (0.3, 0.5, 0.2)]
        wrong += bool(name_culprits(blocks(0.1 + 0.05 * rng.random(30), taken, hidden=9.0), seed=seed))
    assert wrong == 0


def test_few_blocks_prove_nothing_by_variation():
    culprit = bursts(np.random.default_rng(4), 11, 0.2)
    assert name_culprits(blocks(0.5 * culprit, [culprit, np.full(11, 0.9)])) == ()


def test_those_that_cannot_be_told_apart_are_named_together():
    data = blocks([0.4, 0.4], [[0.5, 0.5], [0.45, 0.45], [0.02, 0.02]])
    assert name_culprits(data) == ()
    suspects = joint_suspects(data)
    assert (suspects.indices, suspects.low) == ((0, 1), pytest.approx(0.95))
    # Four are nobody in particular, and so is one next to a named one.
    assert joint_suspects(blocks([0.4], [[0.5]] * 4)) is None
    assert joint_suspects(data, named=[0]) is None
    # Nor are they, where somebody unknown may have done half of it.
    assert joint_suspects(blocks([0.4], [[0.5], [0.5]], hidden=0.25)) is None


@pytest.mark.parametrize("seed", range(6))
def test_short_lived_candidates_change_no_answer_and_have_no_row(seed):
    """The answers are those with a row for each, next to a hundred processes that each ran in one or two blocks."""
    rng = np.random.default_rng(seed)
    count = 40
    burst = bursts(rng, count, 0.1)
    steady = 0.05 * np.ones(count)
    short = np.zeros((100, count))
    for row in short:
        row[rng.integers(count, size=2)] = rng.uniform(0.0, 0.3, 2)
    dense = blocks(burst + rng.uniform(0, 0.02, count), [burst, *short, steady], error_ns=1e5)
    uses = {(row, block): dense.cpu_ns[row, block] for row, block in np.argwhere(dense.cpu_ns > 0).tolist()}
    major, sparse = replace(dense, cpu_ns=np.zeros((0, count))).with_uses(uses)
    assert major == [0, 101]

    def answers(data, number):
        """Return what is said of each candidate, by its number among all."""
        named = {number[name.index]: name for name in name_culprits(data)}
        pair = joint_suspects(data, [name.index for name in named.values()])
        return (
            {index: (name.share, name.low, name.high, name.basis) for index, name in named.items()},
            None if pair is None else ([number[index] for index in pair.indices], pair.low),
        )

    named, pair = answers(sparse, major)
    wanted, wanted_pair = answers(dense, range(102))
    assert {index: pytest.approx(numbers[:3]) for index, numbers in named.items()} == {
        index: list(numbers[:3]) for index, numbers in wanted.items()
    }
    assert [numbers[3] for numbers in named.values()] == [numbers[3] for numbers in wanted.values()]
    assert (pair is None) == (wanted_pair is None)
    assert bounds(sparse)[0] == pytest.approx(bounds(dense)[0][major])


@pytest.mark.parametrize(("waits", "uses"), [([0.1, 0.2], {}), ([0.0, 0.0], {(0, 0): SPAN})])
def test_without_candidates_or_waits_no_candidate_has_a_row(waits, uses):
    major, data = replace(blocks(waits, [[0.0, 0.0]]), cpu_ns=np.zeros((0, 2))).with_uses(uses)
    assert major == []
    assert name_culprits(data) == ()
    assert joint_suspects(data) is None
