"""Load next to the blocks that ask for it: begun before them, ended after them, whatever happens in between."""

from contextlib import contextmanager

import pytest
from tests.measuring import ran

from becalm.errors import MachineError, UsageError
from becalm.hosts import Ability, LoadMade, MeasureRequest, Runs
from becalm.hosts.abilities import YES
from becalm.hosts.loaded import LoadedHost
from becalm.hosts.null import NullHost
from becalm.nouns.demand import Demand, LoadResult
from becalm.nouns.run import Block, Step


class Log(list):
    """A log of events, in order. `failure`: why the load that is played ends before its time; `meanwhile`: is called
    when it has begun."""

    failure = None

    def meanwhile(self):
        pass


class Played:
    """Load that is being made."""

    def __init__(self, log):
        self.log = log

    def end(self):
        return LoadResult("signal", 1, (), None, self.log.failure, "")


class Able(NullHost):
    """A host that can make load; it writes down what it makes and when it measures."""

    def __init__(self, log):
        super().__init__()
        self._abilities |= {Ability.LOADED: YES}
        self.log = log

    @contextmanager
    def loading(self, demand):
        self.log.append(("begin", demand))
        self.log.meanwhile()
        try:
            yield Played(self.log)
        finally:
            self.log.append("closed")

    def measure(self, request):
        self.log.append("runs")
        yield from super().measure(request)

    def stop(self):
        self.log.append("stop")


@pytest.fixture
def log():
    return Log()


def request_of(host, alongside):
    return host.measure(MeasureRequest(0, Block((Step(0, 0, 0, 0),), alongside=alongside)))


def test_load_is_there_for_its_block_alone(log):
    host, demand = LoadedHost(Able(log), settle_s=0), Demand(cpu=2)
    assert [type(event) for event in request_of(host, demand)] == [Runs, LoadMade]
    assert log == [("begin", demand), "runs", "closed"]
    log.clear()
    assert [type(event) for event in request_of(host, None)] == [Runs]
    assert log == ["runs"]


def test_load_ends_when_measuring_fails_or_is_left(log):
    class Failing(Able):
        def measure(self, request):
            yield from super().measure(request)
            raise MachineError("It is gone.")

    with pytest.raises(MachineError, match="gone"):
        list(request_of(LoadedHost(Failing(log), settle_s=0), Demand(cpu=1)))
    assert log[-1] == "closed"
    log.clear()
    events = request_of(LoadedHost(Able(log), settle_s=0), Demand(cpu=1))
    next(events)
    events.close()
    assert log[-2:] == ["stop", "closed"], "whoever leaves in the middle need not wait for the rest"


def test_load_that_did_not_last_is_an_error_after_what_was_measured(log):
    log.failure = "its process was killed."
    seen = []
    with pytest.raises(MachineError, match="did not last: its process was killed"):
        seen.extend(request_of(LoadedHost(Able(log), settle_s=0), Demand(cpu=1)))
    assert [type(event) for event in seen] == [Runs, LoadMade]


def test_a_stop_before_the_first_run_ends_the_block(log):
    host = LoadedHost(Able(log), settle_s=60)
    log.meanwhile = host.stop
    assert list(request_of(host, Demand(cpu=1))) == []
    assert "runs" not in log
    assert log[-1] == "closed"


def test_a_host_that_can_make_none_is_refused():
    with pytest.raises(UsageError, match=r"Not available on null: known load alongside programs\."):
        LoadedHost(NullHost())
    assert len(ran(NullHost())) == 1
