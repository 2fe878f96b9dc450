"""`run` and `compare` on real loops of a shell, of which one does more than the other."""

import pytest

import becalm
from becalm.results.compare import Answer, Stopped

LOOP = "i=0; while [ $i -lt {n} ]; do i=$((i+1)); done"


@pytest.fixture(autouse=True)
def _store(own_directories):
    """Store in a directory of the test."""


def loop(n):
    """Return a program that counts to a number."""
    return ["/bin/sh", "-c", LOOP.format(n=n)]


def test_thrice_the_work_is_called_slower():
    # It stops when it knows; the budget is a limit for a machine that others keep busy.
    verdict = becalm.compare([loop(20_000), loop(60_000)], names=["once", "thrice"], budget="600s", seed=1)
    (difference,) = verdict.differences
    print(verdict.sentence)
    assert difference.answer is Answer.SLOWER
    assert difference.low > 0.3
    assert verdict.stopped is Stopped.KNOWN


def test_precision_stops():
    assert becalm.run(loop(20_000), precision=0.5, budget="60s").stopped is Stopped.PRECISION


def test_a_gate_fails_for_a_slower_program():
    assert becalm.compare([loop(20_000), loop(60_000)], fail_above="2%", runs=40).passed is False
    assert becalm.compare([loop(60_000), loop(20_000)], fail_above="2%", runs=40).passed is True


def test_a_comparison_with_a_baseline_is_weak():
    # Sixteen-fold: three times as long for half of such short series would leave a fourfold difference open.
    first = becalm.run(loop(20_000), runs=40)
    verdict = becalm.compare([loop(320_000)], baseline=str(first.study), runs=20)
    (difference,) = verdict.differences
    print(verdict.sentence)
    assert difference.weak
    assert difference.answer is Answer.SLOWER
