"""Promises of every host, over the table of hosts: one more row is one more run of these tests.

A tier gives the fixture `trial`, with the parameters `trials(TIER)`.
"""

import contextlib
import functools
import itertools
import json
import os
import signal
import subprocess
import sys
import threading

import pytest
from tests.measuring import loads_of, measure_events, ran
from tests.needs import missing
from tests.waiting import wait_for

from becalm import hosts
from becalm.errors import MachineError, UsageError
from becalm.hosts import Ability, LoadDetail, LoadMade, Loads, MeasureRequest, Noticed, Runs, RunText, Written, runs_of
from becalm.hosts.loaded import LoadedHost
from becalm.hosts.wrapper import BorrowedHost
from becalm.nouns.demand import Demand
from becalm.nouns.run import Block, Step
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload

SIMULATOR = ("sim:cfs", "sim:eevdf")
"""Hosts that start the program becalm-sim."""


def tier(row, name):
    """Return the tier that tries a host: unit in memory, contract this machine and becalm-sim, system all others."""
    if not row.runs:
        return "contract" if name.startswith(SIMULATOR) else "unit"
    return "contract" if row.kind == "local" else "system"


def trials(wanted):
    """Return the parameters of a tier: a row, and a name of its kind or "" for that of the fixture KIND_trial."""
    names = [(row, name) for row in hosts.TABLE for name in row.trials or ("",)]
    return [pytest.param((row, name), id=name or row.kind) for row, name in names if tier(row, name) == wanted]


LIVE = Settings.of({"stat_interval": 37})
"""A setting of the machine that nobody notices: how often statistics of memory are brought up to date, s."""


@pytest.fixture(scope="module")
def guests():
    """Return a function that opens a guest; it boots once for all tests of a module."""
    with contextlib.ExitStack() as stack:
        yield functools.cache(lambda name: stack.enter_context(hosts.open(name)))


@pytest.fixture
def host(trial, guests):
    row, name = trial
    with contextlib.ExitStack() as stack:
        if row.runs == "guest":
            try:
                opened = guests(name)
            except (MachineError, UsageError) as error:
                # Nothing is booted yet: QEMU or the kernel is missing.
                missing(str(error))
        else:
            opened = stack.enter_context(hosts.open(name))
        opened.define([Workload.of(row.program)], [Settings()])
        yield opened


def able(host, ability):
    """Skip the test when a host cannot do something, with its reason."""
    if not host.abilities()[ability]:
        pytest.skip(host.abilities()[ability].sentence)


def value(host, name):
    """Return the present value of a knob."""
    return {row.name: row.value for row in host.knobs()}[name]


def test_every_row_says_what_it_is():
    assert all(row.what for row in hosts.TABLE)
    assert all(callable(row.function(row.opener)) for row in hosts.TABLE)
    assert all(name.startswith(row.kind) for row in hosts.TABLE for name in row.trials)


def test_facts_name_the_host_and_its_abilities(host):
    facts = host.facts()
    assert facts["host"]["hostname"]
    for ability in facts["abilities"]:
        assert ability["have"] is True or ability["reason"], ability
    abilities = {row["name"]: row["have"] for row in facts["abilities"]}
    assert {name: abilities[name] for name in Ability} == {name: can.have for name, can in host.abilities().items()}
    json.dumps(facts)


def test_a_missing_ability_is_refused_with_its_reason(host):
    result = {
        Ability.HOLD: [lambda: host.plan(LIVE), lambda: host.hold(LIVE), host.status, host.restore],
        Ability.KEEP: [lambda: host.keep(LIVE)],
        Ability.REBOOT: [lambda: host.reboot(("nosmt",))],
        Ability.BOOT_ENTRY: [host.boot_entry],
        Ability.LOADED: [lambda: host.loading(Demand(cpu=1)).__enter__(), lambda: LoadedHost(host)],
        Ability.READ_LOAD: [host.read],
        Ability.FOLLOW: [lambda: next(host.follow(os.getpid(), 10**8))],
    }
    for ability, calls in result.items():
        can = host.abilities()[ability]
        for call in calls if not can else ():
            with pytest.raises((UsageError, MachineError)) as caught:
                call()
            assert can.reason.lower() in str(caught.value).lower()


def test_a_knob_that_is_not_there_is_refused_and_names_itself(host, trial):
    program = [Workload.of(trial[0].program)]

    def tried(settings):
        host.define(program, [Settings.of(settings)], dangerous=True)
        return ran(host)

    with pytest.raises(UsageError, match="niec"):
        tried({"niec": 1})
    absent = [knob for knob in host.knobs() if not knob.supported]
    assert all(knob.reason for knob in absent)
    for knob in [ability for ability in absent if ability.tuned_value is not None and ability.scope != "boot"][:3]:
        with pytest.raises((UsageError, MachineError), match=knob.name):
            tried({knob.name: knob.tuned_value})
    assert len(tried({})) == 1, "and nothing is left of that"


def test_runs_come_in_order_with_the_numbers_asked_for(host):
    rows = ran(host, *(Step(0, 0, 16, number) for number in range(-1, 9)), first=5)
    assert [run.seq for run in rows] == list(range(5, 15))
    assert [run.round for run in rows] == list(range(-1, 9))
    assert all(run.outcome == "ok" and run.wall_ns > 0 and run.padding == 16 for run in rows)
    starts = [run.started_ns for run in rows]
    assert starts == sorted(starts)
    assert all(a.started_ns + a.wall_ns <= b.started_ns for a, b in itertools.pairwise(rows))


def test_events_come_in_the_order_of_what_happened(host):
    """The output of a run comes before the run, loads after the runs that they cover, and observed settings at the
    end."""
    delivered, written = [], set()
    events = list(
        measure_events(host, *(Step(0, 0, 0, number) for number in range(5)), first=7, detail=LoadDetail.TOTALS)
    )
    for event in events:
        match event:
            case Runs(rows):
                delivered += [run.seq for run in rows]
            case RunText(seq):
                assert seq not in delivered
                written.add(seq)
            case Loads(loads, series):
                assert series == ()
                assert all(set(range(load.first, load.last + 1)) <= set(delivered) for load in loads)
            case Noticed():
                assert event is events[-1]
            case _:
                assert isinstance(event, Written)
    assert delivered == list(range(7, 12))
    assert written <= set(delivered)
    spans = [(load.first, load.last) for load in loads_of(events)]
    assert spans == sorted(spans)
    assert all(load.interval_ns > 0 and load.scope in ("leader", "group", "tree") for load in loads_of(events))
    assert sum(last - first + 1 for first, last in spans) in (0, 5), "each run once"


def test_nothing_is_told_that_was_not_asked_for(host):
    assert loads_of(measure_events(host, *(Step(0, 0, 0, number) for number in range(3)))) == []


def alongside(host, demand, *steps):
    """Measure runs next to load; return them and the real load."""
    block = Block(steps, alongside=demand)
    events = list(LoadedHost(host, settle_s=0).measure(MeasureRequest(0, block)))
    loads = [event.load for event in events if isinstance(event, LoadMade)]
    return list(runs_of(events)), loads


AT_WORK = r"""
used() {
    ticks=0
    for stat in /proc/[0-9]*/stat; do
        read -r line <$stat || continue
        case $line in *"(becalm-load) "*)
            set -- ${line##*) }
            [ ${17} = 3 ] && ticks=$((ticks + ${12} + ${13})) ;;
        esac
    done 2>/dev/null
}
used; begun=$ticks
while used; [ $ticks -le $begun ]; do :; done
"""
"""A program that ends when load with a nice value of 3 has used CPU time (proc_pid_stat(5), fields 14, 15 and 19)."""


def test_load_is_made_alongside_programs_where_they_run(host):
    able(host, Ability.LOADED)
    # What a program leaves behind is ended after each run, and the load is not.
    host.define([Workload.of(["sh", "-c", f"sleep 9000 & {AT_WORK}"]), Workload.of("true")], [Settings()])
    rows, (result,) = alongside(host, Demand(cpu=1, nice=3), Step(0, 0, 0, 0), Step(0, 0, 0, 1))
    assert [run.outcome for run in rows] == ["ok", "ok"]
    assert (result.failure, len(result.shares)) == (None, 1)
    assert result.wall_ns > 0
    assert result.cpu_ns("cpu") > 0
    assert alongside(host, None, Step(1, 0, 0, 0))[1] == []
    # Another one, left in the middle by an error, has ended: there is room for the next.
    with pytest.raises(ZeroDivisionError), host.loading(Demand(syscalls=1)):
        raise ZeroDivisionError
    with host.loading(Demand(syscalls=1)) as load:
        assert load.end().done("syscalls") >= 0


def test_load_that_a_host_cannot_make_is_refused_in_a_sentence(host):
    able(host, Ability.LOADED)
    with pytest.raises((MachineError, UsageError), match=r"no such|not a directory|nowhere"):
        alongside(host, Demand(disk_directory="/nowhere"), Step(0, 0, 0, 0))
    assert len(ran(host)) == 1


def test_a_block_that_is_left_in_the_middle_does_no_harm(host):
    for event in measure_events(host, *(Step(0, 0, 0, number) for number in range(50))):
        if isinstance(event, Runs):
            break
    host.stop()
    assert [run.seq for run in ran(host, first=90)] == [90]


def test_an_interrupted_block_ends_and_what_was_finished_has_been_told(host, trial):
    """From another thread, as soon as there is something; where a block takes no time it may be over by then."""
    steps = [Step(0, 0, 0, number) for number in range(2000)]
    if trial[0].program == "true":
        # A run of 100 ms is told at once, and the next one ends only when it is interrupted.
        host.define([Workload.of("sleep 0.11"), Workload.of("sleep 9000")], [Settings()])
        steps = [Step(0, 0, 0, 0), Step(1, 0, 0, 1)]
    seen = []
    for event in measure_events(host, *steps):
        seen += runs_of([event])
        if len(seen) == len(list(runs_of([event]))) and seen:
            stopping = threading.Thread(target=host.stop)
            stopping.start()
            stopping.join()
    done = [run for run in seen if run.outcome == "ok"]
    assert [run.seq for run in seen] == list(range(len(seen)))
    assert {run.outcome for run in seen[len(done) :]} <= {"aborted"}
    assert done
    assert trial[0].program != "true" or len(done) == 1
    assert [run.seq for run in ran(host, first=3000)] == [3000], "the next block is whole"


def test_stop_between_blocks_does_no_harm(host):
    host.stop()
    assert len(ran(host)) == 1


def test_equal_seeds_give_equal_runs_on_simulations(trial):
    row, name = trial
    if row.runs:
        pytest.skip("Real programs take the time they take.")
    settings = [Settings()]

    def rows(cuts):
        with hosts.open(name) as host:
            knobs = [knob for knob in host.knobs() if knob.supported and knob.tuned_value is not None]
            settings[1:] = [Settings.of({knob.name: knob.tuned_value}) for knob in knobs[:1]]
            host.define([Workload.of(row.program)], settings)
            steps = [Step(0, index % len(settings), 0, index) for index in range(60)]
            parts = [steps[start:end] for start, end in itertools.pairwise(cuts)]
            return [run for part in parts for run in ran(host, *part, first=part[0].round, stop_on_failure=False)]

    assert rows([0, 60]) == rows([0, 60]) == rows([0, 7, 8, 60])


def test_overhead_gives_as_many_values_as_asked(host):
    bare, own = host.overhead(3)
    assert len(bare) == len(own) == 3


def test_a_host_that_can_restart_makes_a_boot_when_asked(host):
    able(host, Ability.REBOOT)
    assert [run.outcome for run in ran(host, fresh_boot=True)] == ["ok"]
    assert host.boot_ns is not None


def test_readings_are_of_the_interval_between_them(host):
    """The length of an interval is compared in tests/contract/test_scripted_clock.py."""
    able(host, Ability.READ_LOAD)
    assert host.read().load is None, "the first one ends no interval"
    load = host.read().load
    assert load.interval_ns > 0
    assert load.cpus >= 1


def test_settings_are_on_while_they_are_held_and_as_before_afterwards(host):
    able(host, Ability.HOLD)
    able(host, Ability.MACHINE_SETTINGS)
    before = value(host, "stat_interval")
    planned = host.plan(LIVE)
    assert [(change.knob, change.before, change.after, change.changes) for change in planned.changes] == [
        ("stat_interval", before, "37", True)
    ]
    assert value(host, "stat_interval") == before, "planning writes nothing"
    with host.hold(LIVE) as held:
        assert [change.knob for change in held.changes] == ["stat_interval"]
        assert value(host, "stat_interval") == "37"
    assert value(host, "stat_interval") == before
    assert not host.status().anything


def test_settings_that_were_held_are_as_before_after_an_exception(host):
    able(host, Ability.HOLD)
    able(host, Ability.MACHINE_SETTINGS)
    before, during = value(host, "stat_interval"), []
    with contextlib.suppress(ZeroDivisionError), host.hold(LIVE):
        during.append(value(host, "stat_interval"))
        raise ZeroDivisionError
    assert during == ["37"]
    assert value(host, "stat_interval") == before


def test_settings_of_steps_are_off_after_settling(host, trial):
    able(host, Ability.MACHINE_SETTINGS)
    knob = next(row for row in host.knobs() if row.name == "stat_interval" or not trial[0].runs)
    host.define([Workload.of(trial[0].program)], [Settings(), Settings.of({knob.name: knob.tuned_value or 37})])
    assert [run.settings for run in ran(host, (0, 1), (0, 0), (0, 1))] == [1, 0, 1]
    host.settle()
    assert value(host, knob.name) == knob.value


HELD = """
import sys
from becalm import hosts
from becalm.nouns.settings import Settings

with hosts.open(sys.argv[1]) as host, host.hold(Settings.of({"stat_interval": 37})):
    print("on", flush=True)
    sys.stdin.read()
"""


def test_settings_are_as_before_after_a_kill(trial):
    """After a kill of becalm itself, without any warning, the agent there or its guard restores everything."""
    row, name = trial
    if not row.trials and row.kind == "cluster":
        pytest.skip("Names of workers are known to the process that has opened the cluster.")
    if row.runs == "guest":
        pytest.skip("A guest ends with becalm.")
    with hosts.open(name) as host:
        able(host, Ability.HOLD)
        able(host, Ability.MACHINE_SETTINGS)
        before = value(host, "stat_interval")
        command = [sys.executable, "-c", HELD, name]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holding:
            assert holding.stdout.readline() == b"on\n"
            assert value(host, "stat_interval") == "37"
            holding.send_signal(signal.SIGKILL)
        wait_for(lambda: value(host, "stat_interval") == before)
        wait_for(lambda: host.status().busy is None)
        assert not host.status().anything


def test_a_host_that_is_lent_stays_open_and_has_nothing_left_on(host, trial):
    before = value(host, "stat_interval") if host.abilities()[Ability.HOLD] else None
    with hosts.open(host) as lent:
        assert isinstance(lent, BorrowedHost)
        assert lent.name == host.name
        if host.abilities()[Ability.HOLD] and host.abilities()[Ability.MACHINE_SETTINGS]:
            lent.define([Workload.of(trial[0].program)], [LIVE])
            assert len(ran(lent)) == 1
    if before is not None:
        assert value(host, "stat_interval") == before
    host.define([Workload.of(trial[0].program)], [Settings()])
    assert len(ran(host)) == 1


def test_a_host_that_is_lent_is_reached_as_it_is(host):
    with pytest.raises(UsageError, match="open already, so sudo comes too late"):
        hosts.open(host, hosts.Access(sudo=True))
