"""More instructions or slower ones, from made-up counters whose truth is known."""

import math
import re

import numpy as np
import pytest
from tests.unit.plans.test_history import row

from becalm.analysis.instructions import instruction_findings
from becalm.nouns.metric import Metric, metrics
from becalm.nouns.workload import Workload
from becalm.plans.history import History

SPECS = ("time:wall", "counter:instructions", "counter:cycles")
WORKLOADS = tuple(Workload(argv=(name,), name=name, metrics=metrics(SPECS)) for name in "ab")


def measured(more, rate, rounds=60, seed=3):
    """Return two programs of which the second executes `more` times the instructions, `rate` times as many per
    cycle."""
    rng = np.random.default_rng(seed)
    history, values, seq = History(2, metrics(SPECS)[0]), {0: [], 1: []}, 0
    for number in range(rounds):
        for program in map(int, rng.permutation(2)):
            count = 1e9 * (more if program else 1.0) * math.exp(1e-4 * rng.normal())
            cycles = count / 1.5 / (rate if program else 1.0) * math.exp(0.01 * rng.normal())
            counts = (cycles / 3e9, count, cycles)
            history.extend([row(seq, program, number)._replace(metrics=counts)])
            values[program].append((seq, counts))
            seq += 1

    def values_of(program):
        mine = sorted(values[program])
        return np.array([value for value, _ in mine]), np.array([value for _, value in mine])

    return instruction_findings(("a", "b"), WORKLOADS, history, values_of, 0, 0.95)


@pytest.mark.parametrize(
    ("more", "rate", "words"),
    [
        (1.12, 1.0, r"executes 1[12]\.[09]\d* % more instructions than a and as many per cycle: it does more work"),
        (1.0, 0.9, r"as many instructions as a and (9.9|10.[01])\d* % fewer per cycle: the same work"),
        (1.12, 0.9, "more work, and slower"),
        (0.9, 1.1, "less work, and faster"),
        (1.0, 1.0, "as many instructions as a, and as many per cycle: no difference above"),
    ],
)
def test_work_and_its_speed_are_told_apart(more, rate, words):
    (finding,) = measured(more, rate)
    assert re.search(words, finding.sentence), finding.sentence
    assert finding.numbers["pairs"] == 60
    low, high = finding.numbers["instructions"][1:]
    assert low - 1e-4 <= more - 1 <= high + 1e-4


def test_a_few_pairs_tell_nothing():
    (finding,) = measured(1.0, 1.0, rounds=3)
    assert finding.sentence.startswith("Too few pairs")


def test_without_both_counters_nothing_is_reported():
    alone = Workload(argv=("a",), name="a", metrics=(Metric("counter:cycles", "cycles"),))
    assert instruction_findings(("a", "b"), (alone, alone), History(2), lambda program: None, 0, 0.95) == ()
