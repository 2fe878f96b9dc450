"""Simulated campaigns: a model of a program under load with a known cause, to test whether that cause is found.

A campaign is a list of levels (the load injected during each run), given as data. The model produces what an agent
would count: a Run and a Load for each level, with noise, background load, sampled queue, and waits. Used by tests and
bench/explain.py. Public: Level, Sensitivity, LoadedMachine, LoadedProgram, simulate, hypercube, CAUSES_OF.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from becalm.load.background_load import MIB
from becalm.load.delay import mund
from becalm.load.record import Load
from becalm.nouns.run import Outcome, Run

MS = 1e6


class Level(NamedTuple):
    """The injected load of one run: runnable spinners, MiB/s paged out, MiB/s of disk and network, NFS calls/s."""

    spinners: float = 0.0
    page_outs: float = 0.0
    disk: float = 0.0
    network: float = 0.0
    nfs: float = 0.0


MOST = Level(8.0, 40.0, 200.0, 400.0, 500.0)
"""The highest levels of `hypercube` by default."""


class Sensitivity(NamedTuple):
    """The delay of a program at the level MOST, in units of its unloaded time; `spinners` is the share of Mund's
    expectation that occurs (1: equal shares, 0: it never waits)."""

    spinners: float = 0.0
    page_outs: float = 0.0
    disk: float = 0.0
    network: float = 0.0
    nfs: float = 0.0


DRAWS = 20

CAUSES_OF = {"spinners": "CPU", "page_outs": "memory", "disk": "disk", "network": "network", "nfs": "NFS"}
"""The cause to be named for each injected load."""


class LoadedMachine(msgspec.Struct, frozen=True):
    """A simulated machine.

    - `noise`: run-to-run spread of CPU time, a share
    - `burst`: how often something unrecorded slows a run, and by how much
    - `background`: mean runnable tasks of others
    - `level`: as `Load.level`
    """

    cpus: int = 2
    noise: float = 0.02
    burst: tuple[float, float] = (0.05, 0.15)
    background: float = 0.1
    level: int = 3


class LoadedProgram(msgspec.Struct, frozen=True):
    """A program without load, per run: `cpu_ms` on the CPU, `io_ms` waiting for disk, `sleep_ms` otherwise asleep, and
    its own MiB and calls."""

    cpu_ms: float = 200.0
    io_ms: float = 10.0
    sleep_ms: float = 5.0
    disk_mib: float = 4.0
    sensitive: Sensitivity = msgspec.field(default_factory=Sensitivity)

    @property
    def wall_ms(self) -> float:
        """The unloaded wall time."""
        return self.cpu_ms + self.io_ms + self.sleep_ms


def simulate(
    levels: Sequence[Level], program: LoadedProgram, machine: LoadedMachine, rng: np.random.Generator
) -> tuple[list[Run], list[Load]]:
    """Return a run for each level, in order, each with its Load."""
    runs, loads, clock = [], [], 1_700_000_000_000_000_000
    for seq, level in enumerate(levels):
        run, load = _one(seq, level, program, machine, rng, clock)
        clock += load.interval_ns + 5_000_000
        runs.append(run)
        loads.append(load)
    return runs, loads


def _one(
    seq: int, level: Level, program: LoadedProgram, machine: LoadedMachine, rng: np.random.Generator, clock: int
) -> tuple[Run, Load]:
    often, longer = machine.burst
    cpu = program.cpu_ms * math.exp(machine.noise * rng.standard_normal())
    others = level.spinners + rng.exponential(machine.background)
    sensitive, base = program.sensitive, program.wall_ms
    wait = cpu * sensitive.spinners * (mund(1 + others, machine.cpus) - 1) * math.exp(0.05 * rng.standard_normal())
    paged, disk, net, nfs = (
        base * share * amount / most * math.exp(0.1 * rng.standard_normal())
        for share, amount, most in zip(sensitive[1:], level[1:], MOST[1:], strict=True)
    )
    hit = base * rng.exponential(longer) if rng.random() < often else 0.0
    wall = cpu + wait + program.io_ms + disk + paged + net + nfs + hit + program.sleep_ms * math.exp(
        0.2 * rng.standard_normal()
    )  # fmt: skip
    seconds = wall / 1e3
    queue = rng.poisson(20 * seconds * (1 + others)) / (20 * seconds) * 0.25 + (1 + others) * 0.75
    busy = min(machine.cpus * wall, cpu + others * wall)

    def amount(rate: float, noise: float) -> int:
        return int(max(0.0, rate + rng.exponential(noise)) * seconds * MIB)

    swapped, moved = amount(level.page_outs, 0.0), amount(level.disk, 0.1)
    deep = machine.level >= 3
    load = Load(
        first=seq,
        last=seq,
        started_ns=clock,
        interval_ns=int(wall * MS),
        cpus=machine.cpus,
        busy_ns=int(busy * MS),
        idle_ns=int((machine.cpus * wall - busy) * MS),
        steal_ns=0,
        queue=queue,
        samples=int(20 * seconds),
        swap_out_bytes=swapped,
        swap_in_bytes=swapped // 2,
        refaults=swapped // 8192,
        direct_reclaims=swapped // 65536,
        disk_read_bytes=int(program.disk_mib * MIB) + moved // 2 + swapped // 2,
        disk_write_bytes=moved // 2 + swapped,
        net_in_bytes=amount(level.network / 2, 0.01),
        net_out_bytes=amount(level.network / 2, 0.01),
        loopback_bytes=0,
        nfs_calls=int((level.nfs + rng.exponential(0.2)) * seconds),
        level=machine.level,
        scope="tree",
        exec_ns=int(cpu * MS),
        wait_ns=int(wait * MS),
        block_ns=int((program.io_ms + disk + paged) * MS) if deep else None,
        swapin_ns=int(paged * MS) if deep else None,
        thrashing_ns=int(0.9 * paged * MS) if deep else None,
        reclaim_ns=0 if deep else None,
        tasks=1,
    )
    ns = (int(wall * MS), int(0.9 * cpu * MS), int(0.1 * cpu * MS), int(wait * MS))
    return Run(seq, 0, 0, seq, 0, clock, *ns, None, None, None, None, None, str(Outcome.OK), 0, 0), load


def hypercube(
    count: int, rng: np.random.Generator, names: Sequence[str] = Level._fields, most: Level = MOST, idle: int = 5
) -> list[Level]:
    """Return a Latin hypercube: each load takes each of its levels once, in random order, and `idle` runs have no load.

    Of DRAWS such designs (McKay, Beckman & Conover 1979, Technometrics 21:239) it is the one whose loads are least
    correlated (Iman & Conover 1982). The order of the runs is random, too.
    """
    loaded = count - idle
    steps = (np.arange(loaded) + 1) / loaded
    tried = [np.array([rng.permutation(steps) for _ in names]) for _ in range(DRAWS)]
    best = min(tried, key=lambda design: float(np.abs(np.corrcoef(design) - np.eye(len(names))).max()))
    drawn = [
        Level(**{name: float(best[row, i]) * getattr(most, name) for row, name in enumerate(names)})
        for i in range(loaded)
    ]
    every = [*drawn, *[Level()] * idle]
    return [every[i] for i in rng.permutation(len(every))]
