"""Campaigns on this machine: refusals, and programs that fail under load."""

import os
from pathlib import Path

import pytest
from tests.contract.conversation import alive, numbers_in
from tests.waiting import wait_for

from becalm import hosts
from becalm.errors import MachineError, UsageError, WorkloadError
from becalm.load.plan import LoadFactor
from becalm.verbs.load_experiment import load_experiment, room


def test_load_that_this_machine_cannot_have_is_left_out_or_refused():
    with hosts.open("local") as host:
        limits = room(host, "/dev/shm")
        assert "tmpfs" in limits.excluded["disk"]
        assert LoadFactor("cpu", 2.0 * len(os.sched_getaffinity(0))) in limits.factors
        # Also where swap is there, but not enough of it.
        if len(Path("/proc/swaps").read_text().splitlines()) < 2 or os.geteuid() != 0:
            assert "memory" in limits.excluded
        with pytest.raises(MachineError, match="tmpfs"):
            room(host, "/dev/shm", ["disk"])
        with pytest.raises(UsageError, match="heat"):
            room(host, "/var/tmp", ["heat"])


def test_a_program_that_fails_ends_the_load_too(tmp_path):
    """Have the program write down the processes of the load: they are children of its parent's parent, the agent."""
    seen = tmp_path / "seen"
    agent = "agent=$(cut -d ' ' -f 4 /proc/$PPID/stat)"
    script = f"{agent}; echo $(cat /proc/$agent/task/*/children) >> {seen}; exit 3"
    with pytest.raises(WorkloadError, match="exit code 3"):
        load_experiment(["sh", "-c", script], steps=20, loads=["cpu"], store=str(tmp_path / "store.db"))
    pids = numbers_in(seen)
    assert pids
    wait_for(lambda: not any(alive(pid) for pid in pids), "the agent and its load end")


@pytest.mark.parametrize(("option", "word"), [({"host": "null"}, "null"), ({"store": False}, "store")])
def test_invalid_options_of_a_campaign_are_refused(option, word, tmp_path):
    with pytest.raises(UsageError, match=word):
        load_experiment("true", loads=["cpu"], **{"store": str(tmp_path / "s.db"), **option})
