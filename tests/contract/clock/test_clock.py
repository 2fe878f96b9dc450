"""The evaluation of this machine's timers, with its own clock: events, reasons, an end; no assertion about speed."""

import json
import os

import pytest
from click.testing import CliRunner

from becalm.cli.main import becalm as command
from becalm.errors import MachineError, UsageError
from becalm.hosts.timer_evaluation import evaluate

NO_CHAIN = "A multiplication took"
"""The beginning of the engine's message that additions take an unexpected time, as next to load on the same core: then
no work has a known length, and nothing is measured, or not that cell."""

ASKED = {"budget_ns": 200_000_000, "filter": "robust", "search": "grid", "seed": 1}


def evaluated(**options):
    """Return the events of an evaluation, or None where the machine is so busy that there is no chain of additions."""
    try:
        return list(evaluate({**ASKED, **options}))
    except MachineError as refused:
        if NO_CHAIN not in str(refused):
            raise
        return None


def test_an_evaluation_reports_trust_then_cells_then_the_end():
    events = evaluated(timers=["barrier", "clock_gettime call"], flushes=["L1", "L2"])
    if events is None:
        pytest.skip(NO_CHAIN)
    assert events[0]["event"] == "trust"
    assert events[-1]["event"] == "done"
    cells = [event for event in events if event["event"] == "cell"]
    absent = {event["flush"] for event in events if event["event"] == "absent"}
    assert {cell["flush"] for cell in cells} | absent == {"L1", "L2"}
    for cell in cells:
        assert (cell["t_min"] is None) == bool(cell["no_t_min"])


def test_an_unknown_timer_is_refused_in_a_sentence():
    with pytest.raises(UsageError, match="sundial is not a timer; there are: barrier"):
        list(evaluate({**ASKED, "timers": ["sundial"]}))


def test_the_command_prints_json(own_directories):
    words = ["clock", "--budget", "200ms", "--timer", "barrier", "--flush", "L1", "--json"]
    done = CliRunner().invoke(command, words)
    if isinstance(done.exception, MachineError) and NO_CHAIN in str(done.exception):
        pytest.skip(NO_CHAIN)
    assert done.exit_code == 0, done.output
    value = json.loads(done.stdout)
    timers = [cell["timer"] for cell in value["cells"]]
    assert timers == ["barrier"] or NO_CHAIN in value["absences"][0]["reason"]


@pytest.mark.xdist_group("settings")
def test_a_processor_that_taskset_left_out_is_refused():
    own = sorted(os.sched_getaffinity(0))
    if len(own) < 2:
        pytest.skip("there is one processor")
    os.sched_setaffinity(0, own[:1])
    try:
        with pytest.raises(MachineError, match=f"Processor {own[1]} cannot be used: this process may use {own[0]}"):
            list(evaluate({**ASKED, "cpu": own[1]}))
    finally:
        os.sched_setaffinity(0, own)
