"""The common verdict of single hosts: pooled within hosts, never across their times."""

import math

import pytest
from msgspec.structs import replace

from becalm.analysis.compare import difference
from becalm.analysis.multi_host import per_host, pool
from becalm.nouns.finding import Interval
from becalm.results.compare import Answer, Gate, Stopped, Summary, Verdict
from becalm.results.multi_host import HostResult


def summary(name, mean_ns, half=0.01):
    mean = Interval(mean_ns, mean_ns * (1 - half), mean_ns * (1 + half))
    return Summary(name, 50, 0, mean, mean, mean, 1.0, 1, 2, None, None, None, None, 50.0, None)


def compared(log_ratio, error=0.001, mean_ns=1e9, gate=None):
    half = 1.96 * error
    estimate = difference(
        "b", "a", (log_ratio, log_ratio - half, log_ratio + half), confidence=0.95, pairs=50, detectable=0.01,
        p_value=0.5, standard_error=error,
    )  # fmt: skip
    return Verdict(
        "compare", 1, "h", 10**9, Stopped.KNOWN, 0.95, (summary("a", mean_ns),), (estimate,),
        fail_above=None if gate is None else 0.02, gate=gate,
    )  # fmt: skip


def pooled(verdicts, kind="compare"):
    hosts = [HostResult(f"host{index}", verdict, index) for index, verdict in enumerate(verdicts)]
    return pool(kind, "group", hosts, 0.95, ())


def test_equal_effects_are_put_together_and_machines_speeds_do_not_matter():
    across = pooled([compared(math.log(1.05), mean_ns=ns) for ns in (1e9, 7e9, 3e8)]).across[0]
    assert (across.name, across.reference, across.hosts) == ("b", "a", 3)
    assert across.estimate == pytest.approx(0.05)
    assert across.low <= 0.05 <= across.high
    assert across.between == pytest.approx(0, abs=1e-6)
    assert set(across.answers.values()) == {Answer.SLOWER}


def test_effects_that_differ_make_the_interval_wider_than_any_single_one():
    alike = pooled([compared(math.log(1.05))] * 3).across[0]
    unlike = pooled([compared(math.log(value)) for value in (1.01, 1.05, 1.2)]).across[0]
    assert unlike.high - unlike.low > 10 * (alike.high - alike.low)
    assert unlike.between > 0.01
    assert unlike.differ_p < 0.001 < alike.differ_p


def test_hosts_that_know_nothing_or_are_weak_do_not_count():
    known, unknown = compared(math.log(1.05)), compared(math.inf)
    weak = replace(known, differences=(replace(known.differences[0], weak=True),))
    across = pooled([known, unknown, weak]).across[0]
    assert across.hosts == 1
    assert list(across.answers) == ["host0", "host1", "host2"]
    assert pooled([unknown, weak]).across == ()


def test_a_lost_host_is_kept_and_counts_for_nothing():
    result = pooled([compared(0.05), None])
    assert result.across[0].hosts == 1
    assert len(result.hosts) == 2


def test_one_host_over_the_limit_fails_all():
    within, above, undecided = (compared(0.05, gate=gate) for gate in Gate)
    for verdicts, gate, code in (
        ([within, within], Gate.WITHIN, 0),
        ([within, above, undecided], Gate.ABOVE, 1),
        ([within, undecided], Gate.UNDECIDED, 5),
        ([within, None], Gate.UNDECIDED, 5),
    ):
        result = pooled(verdicts)
        assert (result.gate, result.exit_code) == (gate, code)
    assert "Undecided whether host1 is within the limit of 2.0 %" in pooled([within, undecided]).sentence
    assert pooled([replace(within, undecided="pass"), undecided]).exit_code == 0
    assert pooled([compared(0.05)]).passed is None


def test_times_are_pooled_for_run_only_and_say_who_is_fastest():
    verdicts = [replace(compared(0.0, mean_ns=ns), kind="run", differences=()) for ns in (4e8, 1e8, 2e8)]
    assert pooled(verdicts).times == ()
    (result,) = pooled(verdicts, "run").times
    assert (result.fastest, result.slowest, result.hosts) == ("host1", "host0", 3)
    assert result.typical_ns.value == pytest.approx(2e8, rel=0.01), "the geometric mean"
    unknown = replace(verdicts[0], summaries=(summary("a", 1e8, math.inf),))
    assert pooled([unknown], "run").times == ()


def test_each_hosts_own_intervals_are_wider_so_that_all_hold_together():
    assert per_host(0.95, 1) == pytest.approx(0.95)
    assert 0.99 < per_host(0.95, 10) < 0.996
