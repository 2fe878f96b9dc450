"""Measuring that ends before anything can be said."""

import os
import signal

import pytest

from becalm.errors import Interrupted, MachineError, StoreError
from becalm.hosts import Runs
from becalm.hosts import open as open_host
from becalm.hosts.transport import ended
from becalm.verbs.run import run
from becalm.verbs.tune import tune


class Stops:
    """A host on which the person presses Ctrl-C while the first program runs."""

    def __init__(self, inner, after):
        self._inner, self._left = inner, after
        self.name = inner.name

    def measure(self, request):
        for event in self._inner.measure(request):
            if isinstance(event, Runs):
                rows = event.rows[: self._left]
                self._left -= len(rows)
                if rows:
                    yield Runs(rows)
                if self._left == 0:
                    os.kill(os.getpid(), signal.SIGINT)
                    return
            else:
                yield event

    def __getattr__(self, name):
        return getattr(self._inner, name)


def test_ctrl_c_before_the_first_round_is_130(store):
    with open_host("sim:calm") as host, pytest.raises(Interrupted, match="before the first round") as raised:
        run("spin 20ms", host=Stops(host, 1), runs=5, store=store)
    assert raised.value.exit_code == 130


def test_ctrl_c_later_keeps_what_there_is(store):
    with open_host("sim:calm") as host:
        verdict = run("spin 20ms", host=Stops(host, 4), runs=50, store=store)
    assert verdict.summaries[0].runs == 3
    assert (verdict.stopped, verdict.exit_code) == ("interrupted", 0)


class Full(Stops):
    """A host next to whose store the disk is full."""

    def measure(self, request):
        raise StoreError("The disk is full. 2 runs are above.", unsaved="runs")
        yield


def test_runs_that_no_file_takes_are_still_with_the_error_that_a_person_gets(store):
    with open_host("sim:calm") as host, pytest.raises(StoreError, match="are above") as raised:
        run("spin 20ms", host=Full(host, 1), runs=5, store=store)
    assert raised.value.unsaved == "runs"


def test_an_agent_that_ends_says_nothing_of_going_on_with_what_does_not(store):
    class Ends(Stops):
        def measure(self, request):
            yield from super().measure(request)
            if self._left < 990:
                raise ended("guest:6.1", "ended with its machine")

    with open_host("sim:calm") as host, pytest.raises(MachineError) as raised:
        run("spin 20ms", host=Ends(host, 1000), budget="10s", store=store)
    assert str(raised.value).endswith("All runs finished before are stored. See `becalm show 1`.")
    with open_host("sim:calm") as host, pytest.raises(MachineError) as raised:
        tune(["spin 20ms"], host=Ends(host, 1000), store=store)
    assert str(raised.value).endswith("All runs finished before are stored. Go on with: becalm tune --resume 2")
