"""The runs of a loop of a confirmation, in pairs where settings allow it: one arm next to another.

Two programs that run at the same time share the same machine, so only arms that differ in settings of the program
itself are paired. Partners are drawn anew for every two runs, and in the second run both change CPUs. An arm without a
partner runs by itself on one of the two CPUs; arms whose settings choose CPUs run there.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import msgspec
import numpy as np

from becalm.nouns.run import Block, Start, Step

ANYWHERE = Start(-1)
"""The start of a run whose settings choose its CPUs."""

PlannedRun = tuple[Step, Start]


class Pairing(msgspec.Struct, frozen=True):
    """The CPUs of runs at the same time. `kinds`: the kind of each arm, by its position; arms of one kind may run at
    the same time, an arm of kind None runs by itself."""

    cpus: tuple[int, int]
    kinds: Mapping[int, Hashable | None]

    def pairs(self, arms: Sequence[int]) -> bool:
        """Return whether any two of these arms may run at the same time."""
        kinds = [self.kinds.get(arm) for arm in arms]
        return any(kind is not None and kinds.count(kind) > 1 for kind in kinds)


def paired(
    missing: Sequence[tuple[int, Sequence[Step]]], loop: int, pairing: Pairing, rng: np.random.Generator
) -> Block:
    """Return the block of all missing runs of a loop. `missing`: arms with their steps, warm-ups first."""
    runs: list[PlannedRun] = [(step, ANYWHERE) for _, steps in missing for step in steps if step.round < 0]
    left = {arm: [step for step in steps if step.round >= 0] for arm, steps in missing}
    for program in dict.fromkeys(step.workload for steps in left.values() for step in steps):
        counts = {arm: sum(step.workload == program for step in steps) for arm, steps in left.items()}
        groups: dict[Hashable, dict[int, int]] = {}
        for arm, count in counts.items():
            if (kind := pairing.kinds.get(arm)) is None:
                runs += [(Step(program, arm, 0, loop), ANYWHERE)] * count
            else:
                groups.setdefault(kind, {})[arm] = count
        for group in groups.values():
            runs += _group(program, group, loop, pairing.cpus, rng)
    return Block(tuple(step for step, _ in runs), starts=tuple(start for _, start in runs))


def _group(
    program: int, counts: Mapping[int, int], loop: int, cpus: tuple[int, int], rng: np.random.Generator
) -> list[PlannedRun]:
    """Return the missing runs of arms that may run in pairs; `counts`: the number missing for each arm."""
    runs: list[PlannedRun] = []
    for number in range(0, max(counts.values()), 2):
        order = [arm for arm in rng.permutation(list(counts)).tolist() if counts[arm] > number]
        sides = rng.integers(2, size=len(order)).tolist()
        for place in (0, 1):
            present = [(arm, side) for arm, side in zip(order, sides, strict=True) if counts[arm] > number + place]
            for first in range(0, len(present), 2):
                meeting, cpu = present[first : first + 2], cpus[present[first][1] ^ place]
                other = cpus[1 - (present[first][1] ^ place)]
                runs.append((Step(program, meeting[0][0], 0, loop), Start(cpu, with_next=len(meeting) == 2)))
                if len(meeting) == 2:
                    runs.append((Step(program, meeting[1][0], 0, loop), Start(other)))
    return runs
