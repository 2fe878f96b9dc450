"""The values of what programs waited for a CPU, and who caused it: Level, LEVELS, Culprit, Suspects,
Waiting."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import msgspec

from becalm.load.cpu_competition import MATERIAL
from becalm.load.others import ProcessUse, QuotaCounts
from becalm.stats.culprits import Basis


class Level(StrEnum):
    """The kind of a culprit: one process, all processes of one name, or a control group."""

    PROCESS = "process"
    NAME = "name"
    GROUP = "group"


LEVELS: tuple[tuple[Level, Callable[[ProcessUse], object]], ...] = (
    (Level.PROCESS, lambda use: (use.pid, use.name)),
    (Level.NAME, lambda use: use.name),
    (Level.GROUP, lambda use: use.group or (use.pid, use.name)),
)
"""The levels at which culprits are named, each with the function by which processes are put together."""


class Culprit(msgspec.Struct, frozen=True):
    """A process, or several, that caused a share of the waits, with a lower and an upper bound.

    - `level`: the kind of culprit
    - `pid`: None for several processes or an ended one
    - `group`: the control group
    - `count`: the number of processes
    - `used_ns`: the CPU time that they used
    - `basis`: the argument by which they were found
    """

    level: Level
    name: str
    pid: int | None
    group: str
    count: int
    used_ns: float
    share: float
    low: float
    high: float
    basis: Basis


class Suspects(msgspec.Struct, frozen=True):
    """Names that together caused a share of the waits, at least `low`; the share of each is unknown."""

    names: tuple[str, ...]
    low: float


class Waiting(msgspec.Struct, frozen=True):
    """The waits of some runs, in ns over all of them.

    - `wall_ns`: the time of the runs, times the tasks at work at the same time
    - `lost_ns`: all waits and stolen time: the sum of `others_ns`, `own_ns`, `quota_ns`, `hypervisor_ns` and
      `unknown_ns`
    - `unknown_ns`: waits either for others or for the program itself
    - `quota_cpus`: the tightest quota, in CPUs, if there is one; `cpus`: the CPUs that the programs could use
    - `quotas`: the counts of each quota, from the innermost control group to the root
    - `several`: whether more than one thread or process took part
    - `scope`: the part of the programs whose waits are known (`Load.scope`)
    - `blocks`: the number of readings of the others' CPU time
    """

    runs: int
    wall_ns: float
    lost_ns: float
    others_ns: float
    own_ns: float
    quota_ns: float
    hypervisor_ns: float
    unknown_ns: float
    culprits: tuple[Culprit, ...] = ()
    suspects: Suspects | None = None
    cpus: float | None = None
    quota_cpus: float | None = None
    quotas: tuple[QuotaCounts, ...] = ()
    several: bool = False
    scope: str = "leader"
    blocks: int = 0

    @property
    def material(self) -> bool:
        """Whether the waits are worth reporting."""
        return self.lost_ns >= MATERIAL * self.wall_ns > 0
