"""Recording on a machine that does nothing else, where no record is lost: by counters and by BPF."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.contract.agent.test_recording import (  # noqa: F401
    GROWS,
    check_process,
    check_program,
    complete,
    host,
    recording_of,
    waiting,
)
from tests.system.programs.test_recording_by_bpf import able, by  # noqa: F401
from tests.waiting import HANG_LIMIT_S

from becalm import hosts
from becalm.hosts.recorded import MEANS, Recording


@pytest.mark.parametrize("means", MEANS)
def test_nothing_of_a_process_is_lost(host, means):  # noqa: F811
    assert complete(check_process(host, able(host, means)))


@pytest.mark.parametrize("means", MEANS)
def test_nothing_of_a_program_is_lost(host, means):  # noqa: F811
    rows, end = check_program(host, able(host, means))
    assert complete(rows)
    assert end.trouble == {"lost": 0, "shared": 0, "unread": 0, "offline": 0}


def test_programs_in_the_kernel_and_counters_record_the_same(host, by):  # noqa: F811
    """Two agents record one program at once: it comes, leaves and faults in both when it did."""
    child = waiting(GROWS)
    begun = threading.Barrier(3, timeout=HANG_LIMIT_S)

    def recorded(machine, recording):
        events = machine.record(recording, child.pid)
        first = next(events)
        begun.wait()
        return recording_of([first, *events])[1:]

    with hosts.open("local") as alongside, ThreadPoolExecutor() as both:
        other = both.submit(recorded, alongside, Recording("faults", 1_000_000))
        this = both.submit(recorded, host, Recording("faults", 1_000_000, by=by))
        begun.wait()
        child.communicate(b"\n")
        (seen, end), (expected, of_other) = this.result(HANG_LIMIT_S), other.result(HANG_LIMIT_S)
    assert end.trouble == of_other.trouble == {"lost": 0, "shared": 0, "unread": 0, "offline": 0}
    assert visits(seen, child.pid) == visits(expected, child.pid)
    assert sum(faults for _, faults in visits(seen, child.pid)) > 30 * 200


def visits(rows, task):
    """Return the stretches from a task's arrival to its departure, with the counts meanwhile, one after the other."""
    result, came = [], {}
    for row in rows:
        switch = row["what"].get("switch", {}) if isinstance(row["what"], dict) else {}
        if switch.get("out") == task and row["cpu"] in came:
            result.append((row["cpu"], row["references"] - came.pop(row["cpu"])))
        if switch.get("to") == task:
            came[row["cpu"]] = row["references"]
    return result
