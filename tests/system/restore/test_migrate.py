"""`becalm migrate` on this machine: all threads are moved and restored, however it ends, killed at any system call."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.needs import missing
from tests.samples import samples
from tests.support.bound_program import CPUS, Program
from tests.support.stepping import Stepped, cuts
from tests.support.talk import guards, holders
from tests.waiting import wait_for

import becalm
from becalm.errors import RefusedError, UsageError
from becalm.hosts.agent import agent_path
from becalm.hosts.recorded import MEANS
from becalm.study import migrate_once, migrate_waiting

JOURNAL = Path("/var/lib/becalm/journal")

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it changes settings of this machine"),
    pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs to move a process to one of them"),
]

KILLS = samples(20, 1000)
"""The number of times that becalm is killed, in all ways together."""

MOVED = [(cpu,) for cpu in CPUS]


def test_all_threads_are_moved_and_those_that_come_meanwhile_restored_too(program: Program) -> None:
    before = program.masks()
    seen = []

    def meanwhile(sentence: str) -> None:
        program.tell("thread")
        program.fork()
        seen.append((sentence, program.masks()))

    done = becalm.migrate(program.pid, CPUS[0], duration="10ms", say=meanwhile)
    ((sentence, masks),) = seen
    assert set(masks.values()) == {(CPUS[0],)}
    assert len(masks) == len(before) + 3
    assert sentence.endswith("It lasts for 0.01 s, or until Ctrl-C.")
    assert (done.threads, done.cpus) == (3, (CPUS[0],))
    assert program.masks() == {**dict.fromkeys(program.masks(), tuple(CPUS)), **before}
    assert not JOURNAL.exists()


def test_kept_it_stays_until_reset(program: Program) -> None:
    before = program.masks()
    becalm.migrate(program.pid, "least-loaded", keep=True)
    assert set(program.masks().values()) in [{mask} for mask in MOVED]
    becalm.reset()
    assert program.masks() == before


def test_two_processes_are_moved_one_after_the_other_and_a_third_is_refused(program: Program) -> None:
    before = program.masks()
    with contextlib.closing(Program()) as other:
        theirs = other.masks()
        becalm.migrate(program.pid, CPUS[0], duration="1ms")
        becalm.migrate(other.pid, CPUS[-1], duration="1ms")
        assert (program.masks(), other.masks()) == (before, theirs)
        becalm.migrate(program.pid, CPUS[0], keep=True)
        with pytest.raises(becalm.BecalmError, match="becalm migrate"):
            becalm.migrate(other.pid, CPUS[-1], keep=True)
        assert other.masks() == theirs
        becalm.reset()
        assert program.masks() == before


def test_one_that_ends_meanwhile_ends_the_move(program: Program) -> None:
    done = becalm.migrate(program.pid, CPUS[0], say=lambda _: program.close())
    assert done.remarks[-1] == f"Process {program.pid} has ended."
    assert not JOURNAL.exists()
    with pytest.raises(UsageError, match="There is no process"):
        becalm.migrate(program.pid, CPUS[0])


def test_a_process_bound_to_one_cpu_is_moved_to_another_and_bound_again(program: Program) -> None:
    for tid in program.masks():
        os.sched_setaffinity(tid, {CPUS[0]})
    before = program.masks()
    seen = []
    becalm.migrate(program.pid, CPUS[-1], duration="10ms", say=lambda _: seen.append(program.masks()))
    assert set(seen[0].values()) == {(CPUS[-1],)}
    assert program.masks() == before
    assert not JOURNAL.exists()


@pytest.fixture
def confined(program: Program) -> Iterator[Program]:
    """Yield a program in a control group that has the first CPU only."""
    top = Path("/sys/fs/cgroup/cpuset")
    if not (top / "cpuset.cpus").exists():
        pytest.skip("cpuset is not on cgroup v1 here")
    group = top / "becalm-test-confined"
    group.mkdir()
    try:
        (group / "cpuset.cpus").write_text(str(CPUS[0]))
        (group / "cpuset.mems").write_text((top / "cpuset.mems").read_text())
        (group / "cgroup.procs").write_text(str(program.pid))
        yield program
    finally:
        (top / "cgroup.procs").write_text(str(program.pid))
        group.rmdir()


def test_a_cpu_outside_of_the_programs_control_group_is_refused(confined: Program) -> None:
    before = confined.masks()
    with pytest.raises(
        RefusedError, match=f"only the CPUs {CPUS[0]}, because of its affinity and its cpuset, and not {CPUS[-1]}"
    ):
        becalm.migrate(confined.pid, CPUS[-1])
    assert confined.masks() == before
    assert not JOURNAL.exists()


AGAIN = """exec sh -c 'sleep 0.01; eval "$AGAIN"'"""
"""A shell that begins itself again for ever."""


@pytest.mark.parametrize("by", MEANS)
def test_at_the_beginning_of_a_program_it_is_moved_by_what_every_machine_can_count(
    by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if JOURNAL.exists():
        pytest.skip(f"settings are on: {JOURNAL} is there")
    # The time is that of its events, and it runs before whatever else is busy. It may still begin after the limit.
    monkeypatch.setattr(migrate_once, "wait", partial(migrate_waiting.wait, clock=lambda: 0))
    environment = {**os.environ, "AGAIN": AGAIN}
    with subprocess.Popen(["sh", "-c", AGAIN], env=environment, preexec_fn=partial(os.nice, -20)) as child:
        try:
            done = becalm.migrate(child.pid, CPUS[0], at_sweetspot=True, events="faults", by=by, duration="1ms")
            assert os.sched_getaffinity(child.pid) == set(CPUS)
        except RefusedError as error:
            if "BPF" not in str(error):
                raise
            missing(f"{error} (make bpf)") if "built without" in str(error) else pytest.skip(str(error))
        finally:
            child.kill()
    assert done.waited.why in ("spot", "hard_limit")
    if done.waited.why == "spot":
        assert done.waited.decided.kind == 0
        assert "at a sweet spot of type 0: a program begins" in done.sentence
    assert done.waited.events.endswith(" by BPF") == (by == "bpf")


def test_pages_are_counted_where_there_are_no_counters_and_all_is_restored(program: Program) -> None:
    before = program.masks()
    seen = []
    options = {"at_sweetspot": True, "events": "ws_turnover", "limit": "20ms", "duration": "1ms"}
    done = becalm.migrate(program.pid, CPUS[0], **options, say=lambda _: seen.append(program.masks()))
    assert set(seen[0].values()) == {(CPUS[0],)}
    assert done.waited.why in ("spot", "hard_limit")
    assert not done.waited.bounded
    assert program.masks() == before
    assert not JOURNAL.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda letter: letter.name)
def test_ctrl_c_and_other_ends_of_the_command_put_it_back(program: Program, number: signal.Signals) -> None:
    before = program.masks()
    words = [sys.executable, "-m", "becalm", "migrate", str(program.pid), str(CPUS[0])]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        assert f"Process {program.pid} (python" in command.stderr.readline()
        assert set(program.masks().values()) == {(CPUS[0],)}
        command.send_signal(number)
        text, _ = command.communicate()
    if number == signal.SIGINT:
        assert (command.returncode, text) == (0, f"Process {program.pid} has its CPUs back.\n")
    wait_for(lambda: not holders(None))
    assert program.masks() == before
    assert not JOURNAL.exists()


def start(pid: int, gate: int | None = None, **options: str) -> int:
    """Start a becalm that moves a process; return its number. Starting Python would take longer than all the rest.

    `gate`: a pipe from which it reads a byte first.
    """
    child = os.fork()
    if child == 0:
        try:
            if gate is not None:
                os.read(gate, 1)
            becalm.migrate(pid, CPUS[0], **options)
        finally:
            os._exit(1)
    return child


def traced(pid: int) -> Stepped:
    """Start a becalm that moves a process for a moment, and that does nothing before it is traced."""
    gate, opens = os.pipe()
    try:
        stepped = Stepped(start(pid, gate, duration="1ms"))
        os.write(opens, b"x")
    finally:
        os.close(gate)
        os.close(opens)
    return stepped


def kill(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def agents(pid: int) -> list[int]:
    """Return the agents of a becalm that we started."""
    result = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            name, _, rest = (entry / "stat").read_text().rpartition(") ") if entry.name.isdigit() else ("", "", "")
            if name.endswith("(becalm-agent") and int(rest.split()[1]) == pid:
                result.append(int(entry.name))
    return result


def pipes(pid: int) -> set[str]:
    pids = set()
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                pids.add(os.readlink(entry.path))
    return {agent for agent in pids if agent.startswith("pipe:")}


def guards_of(pid: int) -> list[int]:
    """Return its guards, which are not its children any more, but share a pipe with the agent."""
    return [guard for guard in guards(None) if any(pipes(guard) & pipes(agent) for agent in agents(pid))]


def children() -> set[int]:
    """Return the children of this process, without those that only see interrupts back: guards that are done, and
    keepers."""
    result = set()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            name, _, rest = (entry / "stat").read_text().rpartition(") ") if entry.name.isdigit() else ("", "", "")
            watching = name.endswith(("(becalm-guard", "(becalm-keeper"))
            if rest and not watching and int(rest.split()[1]) == os.getpid():
                result.add(int(entry.name))
    return result


@pytest.fixture
def orphans() -> Iterator[None]:
    """Adopt what a killed child has started as children of this process (PR_SET_CHILD_SUBREAPER, prctl(2))."""
    prctl = ctypes.CDLL(None).prctl
    assert prctl(36, 1, 0, 0, 0) == 0
    yield
    prctl(36, 0, 0, 0, 0)


def ended(others: set[int]) -> bool:
    """Return whether we have no children but these; collect those that have ended, guards among them."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            parent = int((entry / "stat").read_text().rpartition(") ")[2].split()[1]) if entry.name.isdigit() else 0
            if parent == os.getpid() and int(entry.name) not in others:
                os.waitpid(int(entry.name), os.WNOHANG)
    return children() <= others


WAYS = {
    "becalm": lambda becalm: kill([becalm]),
    "agent, then becalm": lambda becalm: kill([*agents(becalm), becalm]),
    "guard, then becalm": lambda becalm: kill([*guards_of(becalm), becalm]),
    "everything": lambda becalm: kill([becalm, *guards_of(becalm), *agents(becalm)]),
}


@pytest.mark.parametrize("way", WAYS)
def test_killed_at_any_system_call_every_thread_has_its_own_again(program: Program, orphans: None, way: str) -> None:
    before, others = program.masks(), children()
    whole = traced(program.pid)
    assert not whole.run()
    wait_for(lambda: ended(others), "its processes have ended")
    bound, kills = 0, max(2, KILLS // len(WAYS) // 2)
    # Half of them die at a system call, also while they begin, the others when all is moved.
    for moment in [*cuts(whole.stops, kills), *[None] * kills]:
        if moment is None:
            child = start(program.pid)
            wait_for(lambda: set(program.masks().values()) == {(CPUS[0],)}, "it is moved")
        else:
            cut = traced(program.pid)
            cut.run(moment)
            child = cut.pid
        bound += set(program.masks().values()) == {(CPUS[0],)}
        WAYS[way](child)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)
        # An agent that was just being started was not there to be killed, and has not heard that nobody needs it.
        wait_for(lambda: ended(others) and not holders(None), "its processes have ended")
        if JOURNAL.exists():
            subprocess.run([agent_path(), "restore"], check=True, stdout=subprocess.DEVNULL)
        assert program.masks() == before, moment
        assert not JOURNAL.exists()
    assert bound >= kills, "it was moved when becalm was killed"
