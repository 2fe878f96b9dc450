"""CPUs of running processes: every thread bound, and each restored exactly, whoever is killed meanwhile."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.samples import samples
from tests.support.bound_program import CPUS, Program
from tests.support.stepping import Stepped, cuts
from tests.support.talk import Agent, end, guards, holders
from tests.waiting import wait_for

import becalm
from becalm.errors import BecalmError
from becalm.hosts.agent import agent_path

JOURNAL = Path("/var/lib/becalm/journal")

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it changes settings of this machine"),
    pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs to bind a process to one of them"),
]

KILLS = samples(36, 1000)
"""The number of times that agents are killed."""


def narrow(program: Program) -> dict[str, str]:
    return {"process_cpus": f"{program.pid}:{CPUS[0]}"}


def test_every_thread_is_bound_and_has_its_own_again(program: Program) -> None:
    before = program.masks()
    assert sorted(before.values()) == sorted([tuple(CPUS)] * 2 + [(CPUS[-1],)])
    with Agent() as agent:
        done = agent.done("hold", settings=narrow(program))
        assert [change["place"] for change in done["changes"]] == [program.place]
        assert set(program.masks().values()) == {(CPUS[0],)}
        (place,) = agent.done("status")["journal"]["places"]
        assert (place["now"], place["ours"]) == (str(CPUS[0]), str(CPUS[0]))
        assert agent.done("release")["unsettled"] == []
    assert program.masks() == before


def test_threads_born_meanwhile_get_the_cpus_of_the_main_thread(program: Program) -> None:
    before = program.masks()
    program.fork()
    first = program.masks()
    with Agent() as agent:
        agent.done("hold", settings=narrow(program))
        # What it had forked before is not bound.
        assert program.masks() == {**first, **dict.fromkeys(before, (CPUS[0],))}
        program.tell("thread")
        program.fork()
        assert len(program.masks()) == len(first) + 3
        assert sum(mask == (CPUS[0],) for mask in program.masks().values()) == len(before) + 3
    assert program.masks() == {**dict.fromkeys(program.masks(), tuple(CPUS)), **before}


def test_moved_again_within_what_it_had_before(program: Program) -> None:
    before = program.masks()
    with Agent() as agent:
        for cpu in (CPUS[0], CPUS[-1], CPUS[0]):
            agent.done("hold", settings={"process_cpus": f"{program.pid}:{cpu}"})
            assert set(program.masks().values()) == {(cpu,)}
    assert program.masks() == before


def thread_of(program: Program) -> int:
    """Return a thread that is not the first of its process."""
    return next(task for task in program.masks() if task != program.pid)


def test_a_thread_that_somebody_else_binds_is_left_and_the_others_are_not(program: Program) -> None:
    before = program.masks()
    with Agent() as agent:
        agent.done("hold", settings=narrow(program))
        bound = thread_of(program)
        os.sched_setaffinity(bound, {CPUS[-1]})
        answer = agent.done("release")
    theirs = before[bound] != (CPUS[-1],)
    assert bool(answer["unsettled"]) == theirs
    assert program.masks() == {**before, bound: (CPUS[-1],)}


def test_one_that_ends_meanwhile_is_no_error(program: Program) -> None:
    with Agent() as agent:
        agent.done("hold", settings=narrow(program))
        program.close()
        answer = agent.done("release")
    assert answer["unsettled"] == []
    assert not JOURNAL.exists()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("{none}:0", "there is no process"),
        ("{pid}@1:0", "is not the one that was meant"),
        ("{pid}:60000", "60000 are not online"),
        ("{thread}:{first}", "is a thread of process {pid}; name the process"),
        ("2:{first}", "is a thread of the kernel"),
    ],
)
def test_a_process_that_cannot_be_bound_is_refused_in_a_sentence(program: Program, value: str, words: str) -> None:
    second = Path("/proc/2/comm")
    if value.startswith("2:") and not (second.exists() and second.read_text() == "kthreadd\n"):
        pytest.skip("threads of the kernel are not seen here")
    names = {"pid": program.pid, "thread": thread_of(program), "first": CPUS[0], "none": 2**22 - 1}
    with Agent() as agent:
        message = agent.error("hold", settings={"process_cpus": value.format(**names)})["message"]
        assert words.format(**names) in message
    assert not JOURNAL.exists()


def test_it_is_kept_shown_and_restored_by_the_verbs(program: Program) -> None:
    before = program.masks()
    becalm.apply(becalm.profile(settings=narrow(program)))
    assert set(program.masks().values()) == {(CPUS[0],)}
    assert program.place in str(becalm.status())
    with pytest.raises(BecalmError):
        becalm.apply(becalm.profile(settings=narrow(program)))
    becalm.reset()
    assert program.masks() == before


def is_bound(program: Program) -> bool:
    """Return whether all threads of the program are bound to the first CPU."""
    return set(program.masks().values()) == {(CPUS[0],)}


def hold(agent: Agent, program: Program) -> None:
    """Ask for the program to be bound, and then for the end."""
    agent.send("hold", settings=narrow(program))
    agent.send("bye")


@pytest.mark.parametrize("busy", [False, True], ids=["still", "busy"])
def test_killed_at_any_system_call(program: Program, busy: bool) -> None:
    """Agent alone, then agent and guard in either order, before, while and after it is bound."""
    before = program.masks()
    if busy:
        program.tell("busy")
    with Agent() as agent:
        traced = Stepped(agent.pid)
        hold(agent, program)
        assert not traced.run()
    bound = 0
    # The last of each kind come when it is bound.
    for number, moment in enumerate([*cuts(traced.stops, KILLS // 2 - 3), None, None, None]):
        agent = Agent()
        if moment is None:
            agent.done("hold", settings=narrow(program))
        else:
            cutting = Stepped(agent.pid)
            hold(agent, program)
            cutting.run(moment)
        others = guards(None)
        bound += is_bound(program)
        if number % 3 == 1:
            for guard in others:
                end(guard)
        agent.kill()
        if number % 3 == 2:
            for guard in others:
                end(guard)
        wait_for(lambda: not holders(None), "guards have ended")
        if JOURNAL.exists():
            subprocess.run([agent_path(), "restore"], check=True, stdout=subprocess.DEVNULL)
        assert not JOURNAL.exists()
        if busy:
            # What it forked before and lives for a moment is none of ours; what lasts is.
            wait_for(lambda: set(program.masks().values()) <= {tuple(CPUS), (CPUS[-1],)}, "all are free")
        masks = program.masks()
        assert {tid: masks.get(tid) for tid in before} == before, number
    assert busy or bound >= 3, "it was bound when its agent was killed"
