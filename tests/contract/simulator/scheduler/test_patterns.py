"""Programs made of a few numbers, simulated: they end and do what their numbers say."""

import pytest

import becalm
from becalm.hosts.simulated.scheduler.patterns import TABLE

FREE = "sim:cfs?cpus=4&switch_ns=0&migration_ns=0&wakeup_ns=0"


def ran(text):
    (run,) = becalm.simulate([text], host=FREE).runs
    assert run.finished
    return run


@pytest.mark.parametrize("pattern", [row.name for row in TABLE])
def test_every_pattern_ends_with_its_defaults_under_both(pattern):
    for policy in ("cfs", "eevdf"):
        assert becalm.simulate(f"{pattern}:", host=f"sim:{policy}").runs[0].finished


def test_patterns_do_what_their_numbers_say():
    run = ran("pipeline:stages=3,items=10,work=20us")
    # 3 x 10 items, and each message is written and read: 1 us each.
    assert (run.tasks, run.messages, run.run_ns) == (3, 20, 30 * 20_000 + 40 * 1000)
    run = ran("requests:clients=3,servers=2,requests=5,work=1ms,think=2ms")
    assert (run.tasks, run.messages, run.run_ns) == (5, 30, 15 * 10**6 + 60 * 1000)
    assert ran("spinners:tasks=8,work=3ms").end_ns >= 6 * 10**6
    run = ran("phases:tasks=2,rounds=3,compute=1ms,sleep=4ms")
    assert (run.end_ns, run.run_ns) == (15 * 10**6, 6 * 10**6)


def test_they_are_programs_of_the_host_like_any_other():
    comparison = becalm.compare(["spinners:work=1ms", "spinners:work=2ms"], host="sim:cfs?jitter=0.01", runs=5)
    assert comparison.exit_code == 0
