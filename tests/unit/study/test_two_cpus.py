"""The choice of two CPUs for programs that run at the same time."""

import pytest

from becalm.study.two_cpus import two_cpus


def facts(allowed, levels=None, **cpu):
    """Return facts about these CPUs."""
    return {"cpu": {"allowed": allowed, "threads_per_core": 1, **cpu}, "caches": {"levels": levels}}


def cache(level, *groups, kind="unified"):
    """Return the facts about a cache."""
    return {"level": level, "type": kind, "shared_cpu_lists": list(groups)}


@pytest.mark.parametrize(
    ("about", "cpus"),
    [
        (facts("0-1"), (0, 1)),
        (facts("0-7"), (6, 7)),
        (facts("2,5"), (2, 5)),
        (facts("0-3", [cache(3, "0-1", "2", "3")]), (0, 1)),
        (facts("0-3", [cache(3, "0", "1", "2", "3")]), (2, 3)),
        (
            facts("0-7", [cache(1, "0,4", "1,5", "2,6", "3,7", kind="data"), cache(3, "0-7")], threads_per_core=2),
            (6, 7),
        ),
        (facts("0-3", [cache(1, "0-1", "2-3", kind="data")], threads_per_core=2), (1, 3)),
        (facts("0-3", performance_cpus="0-1", efficiency_cpus="2"), (0, 1)),
    ],
)
def test_cpus_are_alike_and_of_different_cores(about, cpus):
    chosen = two_cpus(about)
    assert (chosen.cpus, chosen.reason) == (cpus, "")


@pytest.mark.parametrize(
    ("about", "reason"),
    [
        ({}, "not known which CPUs programs may use"),
        (facts(None), "not known which CPUs programs may use"),
        (facts("3"), "one CPU only"),
        (facts("0-1", threads_per_core=2), "siblings"),
        (facts("0-1", [cache(1, "0-1", kind="data")], threads_per_core=2), "siblings of one core"),
        (facts("0-1", performance_cpus="0", efficiency_cpus="1"), "different kinds"),
        (facts("x-y"), "not known"),
    ],
)
def test_missing_cpus_have_a_reason(about, reason):
    chosen = two_cpus(about)
    assert chosen.cpus is None
    assert reason in chosen.reason
