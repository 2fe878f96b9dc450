"""The evaluation of timers, by a process that only looks like the agent: what it tells, and how it ends."""

import pytest

from becalm.errors import MachineError, UsageError
from becalm.hosts import timer_evaluation
from becalm.hosts.events import RunText, Written


class Elsewhere:
    """A host on which a program writes this."""

    name = "elsewhere"

    def __init__(self, *events, cpu=2):
        self.events, self.cpu = events, cpu

    def facts(self):
        return {"cpu": {"count": self.cpu}}

    def define(self, workloads, settings):
        self.argv = workloads[0].argv

    def measure(self, request):
        yield from self.events


def test_another_machine_s_agent_starts_itself_and_its_lines_are_put_together():
    host = Elsewhere(
        Written("stdout", '{"event": "trust"}\n{"eve'), Written("stdout", 'nt": "done"}\n'), RunText(0, "", "")
    )
    assert [event["event"] for event in timer_evaluation.evaluate_on(host, {"seed": 3})] == ["trust", "done"]
    assert host.argv == ("/proc/self/exe", "clock", '{"seed": 3}')


def test_failures_on_another_machine_are_reported():
    refused = Elsewhere(Written("stdout", '{"event": "error", "usage": true, "message": "sundial is not a timer"}\n'))
    with pytest.raises(UsageError, match="sundial"):
        list(timer_evaluation.evaluate_on(refused, {}))
    with pytest.raises(MachineError, match=r"on the host: becalm-agent: \{\} is not a request"):
        list(timer_evaluation.evaluate_on(Elsewhere(RunText(0, "becalm-agent: {} is not a request", "")), {}))
    with pytest.raises(UsageError, match="elsewhere has no processor"):
        list(timer_evaluation.evaluate_on(Elsewhere(cpu=None), {}))
    with pytest.raises(MachineError, match="ended early"):
        list(timer_evaluation.evaluate_on(Elsewhere(Written("stdout", '{"event": "trust"}\n{"ev')), {}))
