"""What every host promises, over the table of hosts: one more row is one more run of these tests."""

import contextlib
import functools
import itertools

import pytest
from tests.machine.far import Far
from tests.measuring import ran, told
from tests.needs import missing, need_module

from becalm import hosts
from becalm.errors import MachineError, UsageError
from becalm.nouns.run import Step
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload

PROGRAMS = {"sim": "spin 1ms"}
"""What a kind runs that does not run `true`."""
NAMES = {"sim": ("sim:drift", "sim:laptop-a"), "guest": ("guest:6.1",)}
MARKS = {
    "local": [pytest.mark.machine],
    "ssh": [pytest.mark.machine],
    "guest": [pytest.mark.machine, pytest.mark.guest],
    "cluster": [pytest.mark.machine],
}
WORKING = [
    pytest.param(name, marks=MARKS.get(row.kind, ()))
    for row in hosts.TABLE
    for name in NAMES.get(row.kind, (row.kind,))
]


@pytest.fixture(scope="module")
def far(tmp_path_factory):
    """Another machine, for the host that reaches one."""
    path = tmp_path_factory.mktemp("far")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(path / "config"))
        made = Far(path / "machine")
        yield made.name
    made.close()


@pytest.fixture(scope="module")
def machines():
    """Guests boot in seconds, not in milliseconds: one for all tests."""
    with contextlib.ExitStack() as stack:
        yield functools.cache(lambda name: stack.enter_context(hosts.open(name)))


@pytest.fixture(scope="module")
def worker():
    """A worker of a cluster on this machine; one for all tests."""
    need_module("distributed")
    from becalm.hosts.cluster import opened

    with opened("local:1", print) as (name,):
        yield name


@pytest.fixture(params=WORKING)
def host(request, machines):
    kind = request.param.partition(":")[0]
    with contextlib.ExitStack() as stack:
        if kind == "guest":
            try:
                opened = machines(request.param)
            except (MachineError, UsageError) as error:
                # Nothing is booted yet: QEMU or the kernel is missing.
                missing(str(error))
        else:
            elsewhere = {"ssh": "far", "cluster": "worker"}.get(kind)
            name = request.getfixturevalue(elsewhere) if elsewhere else request.param
            opened = stack.enter_context(hosts.open(name))
        opened.define([Workload.of(PROGRAMS.get(kind, "true"))], [Settings()])
        yield opened


def test_facts_name_the_host_and_its_abilities(host):
    facts = host.facts()
    assert facts["host"]["hostname"]
    for ability in facts["abilities"]:
        assert ability["have"] is True or ability["reason"], ability


def test_runs_come_in_order_with_the_numbers_asked_for(host):
    rows = ran(host, *(Step(0, 0, 16, number) for number in range(-1, 9)), first=5)
    assert [run.seq for run in rows] == list(range(5, 15))
    assert [run.round for run in rows] == list(range(-1, 9))
    assert all(run.outcome == "ok" and run.wall_ns > 0 and run.padding == 16 for run in rows)
    starts = [run.started_ns for run in rows]
    assert starts == sorted(starts)
    assert all(a.started_ns + a.wall_ns <= b.started_ns for a, b in itertools.pairwise(rows))


def test_who_can_start_again_can_be_asked_for_a_boot(host):
    if host.abilities()[hosts.Ability.REBOOT]:
        assert [run.outcome for run in ran(host, fresh_boot=True)] == ["ok"]
        assert host.boot_ns is not None


def test_loads_come_after_their_runs_or_not_at_all(host):
    """A host may know nothing of what else the machine did; what it tells belongs to runs that were delivered."""
    delivered, loads = [], []
    block = [Step(0, 0, 0, number) for number in range(5)]
    for event in told(host, *block, first=7, detail=hosts.LoadDetail.TOTALS):
        delivered.extend(run.seq for run in hosts.runs_of([event]))
        if isinstance(event, hosts.Loads):
            loads.extend(event.loads)
            assert event.series == ()
            assert all(set(range(load.first, load.last + 1)) <= set(delivered) for load in event.loads)
    assert delivered == list(range(7, 12))
    spans = [(load.first, load.last) for load in loads]
    assert spans == sorted(spans)
    assert all(load.interval_ns > 0 and load.scope in ("leader", "group", "tree") for load in loads)
    assert sum(last - first + 1 for first, last in spans) in (0, len(block)), "each run once"


def test_overhead_gives_as_many_values_as_asked(host):
    bare, own = host.overhead(3)
    assert len(bare) == len(own) == 3


def test_stop_between_blocks_does_no_harm(host):
    host.stop()
    assert len(ran(host)) == 1


def test_every_row_has_words():
    assert all(row.what for row in hosts.TABLE)
