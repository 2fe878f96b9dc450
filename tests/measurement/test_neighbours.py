"""Neighbours on this machine: how long they are waited for, what they use, and how often they are restarted."""

import sys
import time

import pytest
from tests.contract.agent.test_neighbours import AT_WORK_NS, CPUS, measured, near
from tests.contract.conversation import cpu_ns, numbers_in, spinners


@pytest.mark.needs("pgrep")
def test_a_neighbour_that_waits_for_its_cpu_is_not_at_work_yet(agent, marker):
    """Ten others want that CPU, too, and it gets a hundredth: longer than the tenth of a second for which one that
    sleeps is waited for."""
    cpu = CPUS[-1]
    spin = ["nice", "/bin/sh", "-c", "while :; do :; done", f"waits-{marker}"]
    show = f"cat /proc/$(pgrep -f 'waits-[8]{marker[1:]}')/schedstat"
    with spinners(10, cpu):
        rows, texts, _ = measured(agent, ["/bin/sh", "-c", show], [near(*spin, cpus=str(cpu))], output="keep")
    print(f"at work after {texts[0]['stdout'].split()[0]} ns of CPU time")
    assert rows[0]["outcome"] == "ok"
    assert int(texts[0]["stdout"].split()[0]) >= AT_WORK_NS


def test_the_cpu_time_of_a_neighbour_is_not_that_of_the_run(agent):
    rows, _, did = measured(agent, ["sleep", "0.3"], [near(sys.executable, "-c", "while True: pass")])
    (tally,) = did[0]["did"]
    print(f"run {cpu_ns(rows[0]) / 1e6:.1f} ms, neighbour {tally['cpu_ns'] / 1e6:.1f} ms")
    assert cpu_ns(rows[0]) < tally["cpu_ns"]


def test_a_neighbour_that_ends_at_once_is_started_more_and_more_slowly(agent):
    """With pauses of 1, 2, 4, … 100 ms there are few lives in a second; without them there would be hundreds."""
    rows, _, did = measured(agent, ["sleep", "1"], [near("/bin/true", expect=None)])
    (tally,) = did[0]["did"]
    print(f"{tally['restarts']} restarts in a second, {tally['short']} after a short life")
    assert rows[0]["outcome"] == "ok"
    if tally["short"] == tally["restarts"]:
        assert tally["restarts"] < 30
    assert tally["away_ns"] > 0


def test_a_run_begins_a_tenth_of_a_second_after_a_neighbour_that_sleeps(agent, tmp_path):
    """One that uses no CPU time is waited for all the same, and no run takes that into its own time."""
    log = tmp_path / "log"
    started = time.monotonic()
    rows, _, did = measured(agent, ["true"], [near("sh", "-c", f"echo $$ > {log}; exec sleep 600")])
    assert time.monotonic() - started >= 0.1
    assert numbers_in(log)
    assert rows[0]["wall_ns"] < did[0]["did"][0]["kept_ns"]
