"""Fixtures for tests of several folders: recorded facts and a host that replays them, a store of their own, a study."""

import json

import pytest
from tests.directories import use_directories
from tests.places import ROOT
from tests.unit.analysis import confirmations
from tests.unit.analysis.confirmations import PROGRAM, TRUTH, verdict
from tests.unit.small_machine import FAST, MODEL, Repeatable, Trouble

from becalm import hosts
from becalm.analysis import tune_confirmation
from becalm.hosts import Loads, Runs
from becalm.hosts.simulated import machine
from becalm.load.record import Load
from becalm.nouns.run import Run
from becalm.results.doctor import Noise
from becalm.results.tune import TuneVerdict

HOSTS = ROOT / "tests" / "data" / "hosts"
NAMES = ("laptop-intel", "server-amd", "guest-kvm", "container-arm")


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def facts_of():
    return lambda name: json.loads((HOSTS / f"{name}.facts.json").read_text())


@pytest.fixture
def facts(name, facts_of):
    return facts_of(name)


@pytest.fixture
def floor():
    def make(**changes):
        values = {
            "runs": 600, "elapsed_s": 4.5, "median_ns": 7_000_000.0, "cv": 0.02, "robust_cv": 0.015, "lag_one": 0.93,
            "worst": 0.4, "wait_share": 0.0, "processor_share": 0.96, "steal_share": 0.0, "others_cpus": 0.0,
            "detectable": 0.002, "program_ns": 20e6, "budget_s": 30.0,
        }  # fmt: skip
        return Noise(**{**values, **changes})

    return make


class Replay:
    """A host of two CPUs whose kernel takes one ns an iteration, times `noise` of the run's number. Others have used
    `busy_ns` by the end, all of it in the last block."""

    name = "local"

    def __init__(self, facts, noise=lambda number: 1.0, busy_ns=0):
        self._facts, self._noise, self._busy_ns = facts, noise, busy_ns
        self.opened = self.closed = self.stops = 0
        self.iterations = []
        self._now_ns = 10**18
        self._number = 0

    def __enter__(self):
        self.opened += 1
        return self

    def __exit__(self, *exc):
        self.closed += 1

    def facts(self):
        return self._facts

    def define(self, workloads, settings):
        (iterations,) = {workload.iterations for workload in workloads if workload.kernel == "add"}
        self.iterations.append(iterations)
        return [""] * len(workloads)

    def measure(self, request):
        began_ns, own_ns = self._now_ns, 0
        for index, step in enumerate(request.block.steps):
            wall_ns = round(self.iterations[-1] * self._noise(self._number))
            self._number += 1
            started_ns = self._now_ns
            if not (request.block.starts and request.block.starts[index].with_next):
                self._now_ns += wall_ns + 50_000
            run = Run(
                request.first + index, step.workload, 0, step.round, 0, started_ns, wall_ns, wall_ns, 0, 0,
                *(None,) * 5, "ok", 0, 0,
            )  # fmt: skip
            yield Runs([run])
            own_ns += wall_ns
        if request.detail != "none":
            last, lasted_ns = request.first + len(request.block.steps) - 1, self._now_ns - began_ns
            others_ns, self._busy_ns = self._busy_ns, 0
            busy_ns = own_ns + 50_000 * len(request.block.steps) + others_ns
            counted = {"busy_ns": busy_ns, "idle_ns": 2 * lasted_ns - busy_ns, "irq_ns": 0, "softirq_ns": 0}
            yield Loads([Load(request.first, last, began_ns, lasted_ns, cpus=2, steal_ns=0, **counted)])

    def overhead(self, runs):
        return [500_000] * runs, [540_000 + 1000 * (index % 3) for index in range(runs)]

    def stop(self):
        self.stops += 1

    def close(self):
        self.closed += 1


@pytest.fixture
def replay(monkeypatch):
    def install(*args, **options):
        host = Replay(*args, **options)
        monkeypatch.setattr(hosts, "open", lambda name, access=None: host)
        return host

    return install


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store for each test."""
    return use_directories(monkeypatch, tmp_path)


@pytest.fixture
def trouble(tmp_path, monkeypatch, store):
    """The faults of the host of the next studies; none yet."""
    models, wrong = {}, Trouble()
    for name, text in (("small", MODEL), ("fast", FAST)):
        path = tmp_path / f"{name}.toml"
        path.write_text(text)
        models[f"sim:{name}"] = machine.read(path)
    real = hosts.open

    def opened(name="local", access=None):
        return Repeatable(models[name], wrong) if name in models else real(name, access)

    monkeypatch.setattr(hosts, "open", opened)
    return wrong


@pytest.fixture(scope="session")
def study() -> TuneVerdict:
    """A search that went well: two knobs help, two may go."""
    return verdict(tune_confirmation.judge(confirmations.confirmation(TRUTH), (PROGRAM,), margin=0.25))
