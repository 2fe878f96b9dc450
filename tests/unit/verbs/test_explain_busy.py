"""becalm explain on machines that were busy all along: what may be a reference, and what the kernel's counts decide."""

import re

import numpy as np
import pytest

from becalm.load.delay import OWN_CPU, UNLOADED
from becalm.load.simulated import Level, LoadedMachine, LoadedProgram, Sensitivity, hypercube, simulate
from becalm.nouns.codec import plain
from becalm.nouns.options.load_experiment import PlannedLoads
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.store import Store
from becalm.verbs.explain import explain

FACTS = {"host": {"hostname": "vm"}, "scheduler": {"autogroup": False}}
QUIET, BUSY = LoadedMachine(), LoadedMachine(background=8.0)


def keep(path, levels, machine, *, planned=True, program=None, change=lambda number, load: load):
    """Store a study of one run for each level, its loads changed by `change`; return what explain says of it."""
    program = program or LoadedProgram(io_ms=0.0, sleep_ms=0.0, sensitive=Sensitivity(spinners=1))
    runs, loads = simulate(levels, program, machine, np.random.default_rng(7))
    steps = [{"cpu": level.spinners} if any(level) else {} for level in levels]
    options = {"design": plain(PlannedLoads({}, {}, tuple(steps)))} if planned else {}
    with Store.open(str(path)) as store:
        study = Study("explain" if planned else "run", (Workload.of("gzip"),), options=options)
        number = store.begin(study, FACTS)
        store.append(number, [run._replace(round=run.seq) for run in runs])
        store.append_loads(number, [change(place, load) for place, load in enumerate(loads)])
    explanation = explain(number, store=str(path))
    (case,) = explanation.cases
    return case, [finding for finding in explanation.findings if finding.kind == "loaded_reference"]


def plan(seed=1):
    """Return the levels of 20 steps, four of them without load."""
    return hypercube(20, np.random.default_rng(seed), ("spinners",), idle=4)


def test_steps_without_load_are_the_reference_of_a_quiet_machine(tmp_path):
    case, findings = keep(tmp_path / "s.db", plan(), QUIET)
    assert (case.reference, findings) == (UNLOADED, [])


def test_steps_whose_own_wait_is_counted_are_no_reference(tmp_path):
    case, (finding,) = keep(tmp_path / "s.db", plan(), BUSY)
    assert case.reference == OWN_CPU
    assert case.reference_ns == pytest.approx(200e6, rel=0.05)
    assert min(point.delay.factor for point in case.points) >= 0.99
    assert (finding.numbers["loaded"], finding.numbers["steps"], finding.numbers["used"]) == (4, 4, False)
    assert "4 of 4 steps that gzip was to run without load on vm were loaded" in finding.sentence
    assert "The program's own CPU time is the reference" in finding.sentence


@pytest.mark.parametrize("shows", ["pressure", "steal"])
def test_pressure_or_steal_alone_is_enough(tmp_path, shows):
    """The program itself waits for nobody: it has a CPU of its own, or the hypervisor takes what it takes."""

    def change(number, load):
        if shows == "pressure":
            return load._replace(pressure_cpu_ns=load.interval_ns // 2)
        return load._replace(steal_ns=load.interval_ns // 5)

    program = LoadedProgram(io_ms=0.0, sleep_ms=0.0)
    case, (finding,) = keep(tmp_path / "s.db", plan(), QUIET, program=program, change=change)
    assert (case.reference, finding.numbers["used"]) == (OWN_CPU, False)


def test_the_quiet_ones_of_the_steps_without_load_are_the_reference(tmp_path):
    levels = plan()
    first = next(number for number, level in enumerate(levels) if not any(level))

    def change(number, load):
        return load._replace(wait_ns=load.interval_ns) if number == first else load

    case, (finding,) = keep(tmp_path / "s.db", levels, QUIET, change=change)
    assert (case.reference, finding.numbers["loaded"], finding.numbers["used"]) == (UNLOADED, 1, True)
    assert "1 of 4 steps that gzip was to run without load on vm was loaded" in finding.sentence


@pytest.mark.parametrize("waits", [True, False])
def test_runs_on_one_cpu_are_not_unloaded_for_want_of_a_queue(tmp_path, waits):
    """With a single CPU others use what a slow program leaves: the queue cannot be told by it."""

    def change(number, load):
        return load._replace(queue=None, level=3 if waits else 0, wait_ns=load.wait_ns if waits else None)

    levels = [Level(spinners=float(n % 5)) for n in range(45)]
    machine = LoadedMachine(cpus=1, background=0.0)
    case, _ = keep(tmp_path / "s.db", levels, machine, planned=False, change=change)
    if waits:
        assert case.reference_ns == pytest.approx(200e6, rel=0.1), "the runs next to which nothing happened"
    assert min(point.delay.factor for point in case.points) >= 0.9
    assert all(point.measures["cpu"] is None for point in case.points)


def test_a_step_in_which_others_waited_is_not_as_the_plan_says(tmp_path):
    """Without a sample the plan tells the queue, but not where the machine was busier than that."""

    def change(number, load):
        return load._replace(queue=None, pressure_cpu_ns=load.interval_ns * 94 // 100)

    case, _ = keep(tmp_path / "s.db", plan(), BUSY, change=change)
    free = [point for point in case.points if point.bars and point.measures["queue"] == 0.0]
    assert free == [], "no step was free of others"


def constant(path, spinners, **options):
    """Return what is said of 24 runs that all had the same load."""
    case, _ = keep(path, [Level(spinners=spinners)] * 24, LoadedMachine(background=0.0), planned=False, **options)
    return case


def test_a_counted_wait_is_the_answer_where_no_load_varied(tmp_path):
    case = constant(tmp_path / "s.db", 3.0)
    assert case.forced == "run-queue wait"
    assert re.search(r"gzip on vm: it waited for a CPU for (49|50|51) % of its time", case.sentence)
    assert "counted" in case.sentence
    assert "what differs from run to run is not explained" in case.sentence.lower()
    assert "explains its times" not in case.sentence


def test_a_wait_that_is_small_is_no_answer(tmp_path):
    case = constant(tmp_path / "s.db", 0.0)
    assert case.forced is None
    assert "it waited for a CPU" not in case.sentence


def test_sleep_is_not_taken_for_a_wait_that_others_force(tmp_path):
    program = LoadedProgram(cpu_ms=5.0, io_ms=0.0, sleep_ms=200.0, sensitive=Sensitivity(spinners=1))
    case = constant(tmp_path / "s.db", 3.0, program=program)
    assert case.forced is None
    assert "it waited for a CPU" not in case.sentence


def test_a_named_cause_of_that_wait_stays_the_answer(tmp_path):
    case, _ = keep(tmp_path / "s.db", hypercube(30, np.random.default_rng(2), ("spinners",)), QUIET)
    assert (case.forced, case.attribution.cause) == ("run-queue wait", "CPU")
    assert "load on the CPUs made it slow" in case.sentence


def test_an_imported_study_is_told_how_sysstats_record_comes_in(tmp_path):
    from becalm.errors import UsageError

    path = str(tmp_path / "s.db")
    with Store.open(path) as store:
        number = store.begin(Study("import", (Workload.of("x"),)), {})
    with pytest.raises(UsageError, match=f"sadf -j .*becalm import --study {number} sa.json"):
        explain(number, store=path)
