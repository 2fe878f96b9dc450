"""Blocks that go on after a lost connection, with an agent that is played: programs that start together stay so."""

from types import SimpleNamespace

import pytest

from becalm.errors import LostError, MachineError, UnsettledError, UsageError
from becalm.hosts import Access, MeasureRequest, Runs
from becalm.hosts.ssh import reconnecting
from becalm.hosts.ssh.address import Address
from becalm.hosts.ssh.connect import Connected
from becalm.hosts.ssh.reconnecting import ReconnectingHost
from becalm.nouns.run import Block, Outcome, Run, Start, Step

STEPS = tuple(Step(index % 2, 0, 0, index // 2) for index in range(6))
PAIRS = tuple(Start(index % 2, with_next=index % 2 == 0) for index in range(6))


def row(step, seq, outcome=Outcome.OK):
    """Return the run of a step."""
    return Run(seq, *step[:2], step.round, 0, 0, 1, *[None] * 8, str(outcome), 0, 0)


class Played:
    """An agent that is lost after some runs of its first block, and measures all of the second."""

    def __init__(self, arrived):
        self.arrived, self.requests = arrived, []
        self.greeting = {"boot_id": "one"}

    def measure(self, request):
        self.requests.append(request)
        rows = [row(step, request.first + index) for index, step in enumerate(request.block.steps)]
        if len(self.requests) > 1:
            yield Runs(rows)
            return
        yield Runs(rows[: self.arrived])
        raise LostError("The line is cut.")


class Returning(ReconnectingHost):
    """A host whose connection is made again at once; `spooled`: the runs that are fetched there. `error`: why it cannot
    be made again, after they were fetched.
    """

    def __init__(self, agent, spooled, error=None):
        self._inner, self.spooled, self.error = agent, spooled, error
        self._stopped = self._holds = self.parted = False
        self._called = "bench"

    def _return(self, error):
        self._fetched = b"", self.spooled
        if self.error is not None:
            raise self.error

    def _define_again(self):
        pass


def measured(arrived, spooled, starts=PAIRS):
    """Return the numbers of the runs that arrive, and the request that is made of the second agent."""
    agent = Played(arrived)
    host = Returning(agent, spooled)
    events = list(host.measure(MeasureRequest(10, Block(STEPS, starts=starts))))
    again = agent.requests[1] if len(agent.requests) > 1 else None
    return [run.seq for event in events for run in event.rows], again


def spool(*outcomes, first=10):
    """Return runs from a number on, which ended so."""
    return [row(STEPS[first - 10 + index], first + index, outcome) for index, outcome in enumerate(outcomes)]


@pytest.mark.parametrize("arrived", [0, 2, 4])
def test_a_block_goes_on_with_the_first_pair_that_has_not_arrived(arrived):
    seqs, again = measured(arrived, [])
    assert seqs == list(range(10, 16))
    assert (again.first, again.block.steps) == (10 + arrived, STEPS[arrived:])
    assert again.block.starts == PAIRS[arrived:]


def test_a_pair_of_which_only_one_program_ended_well_is_repeated_whole():
    seqs, again = measured(0, spool(Outcome.OK, Outcome.OK, Outcome.OK, Outcome.FAILED))
    assert seqs == list(range(10, 16))
    assert again.first == 12
    assert again.block.starts[0].with_next


def test_runs_found_there_are_not_repeated():
    seqs, again = measured(2, spool(*[Outcome.OK] * 4, first=12))
    assert (seqs, again) == (list(range(10, 16)), None)


@pytest.mark.parametrize(
    "error", [LostError("It is gone."), UnsettledError("Not all is restored."), UsageError("No such user.")]
)
def test_runs_fetched_there_arrive_when_the_machine_cannot_be_gone_on_with(error):
    seqs, host = [], Returning(Played(1), spool(Outcome.OK, Outcome.OK, first=11), error)
    with pytest.raises(type(error), match=str(error)):
        seqs.extend(run.seq for event in host.measure(MeasureRequest(10, Block(STEPS))) for run in event.rows)
    assert seqs == [10, 11, 12]


def test_without_pairs_a_block_goes_on_with_any_run():
    seqs, again = measured(1, spool(Outcome.OK, Outcome.OK, first=11), starts=())
    assert (seqs, again.first) == (list(range(10, 16)), 13)


@pytest.mark.parametrize(("done", "whole"), [(0, 0), (1, 0), (2, 2), (3, 2), (6, 6)])
def test_steps_that_start_together_are_done_together(done, whole):
    assert MeasureRequest(0, Block(STEPS, starts=PAIRS)).whole(done) == whole


def test_steps_one_after_the_other_are_done_one_by_one():
    assert MeasureRequest(0, Block(STEPS)).whole(3) == 3


class Following:
    """An agent that notes in `log` that it is closed; its number is that of its connection."""

    def __init__(self, number, log):
        self.number, self.log, self.greeting = number, log, {"pid": 7, "boot_id": "one"}

    def rows(self, rows):
        return list(rows)

    def answer(self):
        """Raise LostError, except of the third one."""
        if self.number == 2:
            return self.number
        raise LostError("The line is cut.")

    def close(self):
        self.log.append(self.number)


@pytest.fixture
def reach(monkeypatch):
    """Return a function that returns a host with played agents; their numbers are noted in its `log` when they are
    closed. `unfetched`: the lines of runs that each connection finds there.
    """
    monkeypatch.setattr(reconnecting, "SshLink", lambda process, *_: SimpleNamespace(number=process, begin=list))

    def reached(*unfetched, say=print):
        log, numbers = [], iter(range(len(unfetched)))
        monkeypatch.setattr(reconnecting, "AgentHost", lambda _, link, *others: Following(link.number, log))
        connection = SimpleNamespace(ask=lambda _: None, seclude=list, address=Address("far"))

        def connect(*_, **__):
            number = next(numbers)
            return Connected(connection, number, None, f"spool-{number}", unfetched[number])

        host = ReconnectingHost(SimpleNamespace(access=Access(say=say), address=Address("far"), reach=connect))
        host.log = log
        return host

    return reached


def test_an_agent_is_closed_whose_place_cannot_be_noted(reach, monkeypatch):
    host = reach(b"", b"")

    def full(*_):
        raise MachineError("Free some disk space.")

    monkeypatch.setattr(reconnecting, "write_spool_entry", full)
    with pytest.raises(LostError, match="Free some disk space"):
        host.come_back(-1, LostError("The line is cut."), host.previous())
    assert host.log == [0, 1]


def test_runs_stay_here_when_the_agent_that_came_with_them_cannot_be_gone_on_with(reach, monkeypatch):
    """The spool there has been removed, so they are kept in becalm's own beside the place of the next agent."""
    lines, written, messages = b'{"event":"runs","rows":[[5]]}\n', [], []
    left, host = [MachineError("Somebody else is busy there.")], reach(b"", lines, b"", say=messages.append)

    def others():
        if left:
            raise left.pop()

    monkeypatch.setattr(reconnecting, "write_spool_entry", lambda _, place, lines: written.append(lines))
    monkeypatch.setattr(host, "_await_others", others)
    monkeypatch.setattr(host, "_pause", lambda *_: None)
    assert host.ask(lambda agent: agent.answer()) == 2
    assert written == [lines, lines]
    assert host.log == [0, 1]
    assert messages[-1].endswith("; 1 finished runs were there.")
