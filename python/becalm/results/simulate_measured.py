"""The result MeasuredPrograms: the times of programs alone and their speeds in co-runs, as simulators use them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from becalm.files.tables import toml_value
from becalm.nouns.result import Documented

USUAL_BURST_NS = 1_000_000
"""The CPU time between two waits of a program whose waits were not counted."""


def threads_for(busy: float) -> int:
    """Return the fewest threads that keep this number of CPUs busy; up to 5 % more counts as rounding."""
    return max(1, math.ceil(busy - 0.05))


class MeasuredProgram(msgspec.Struct, frozen=True):
    """A program that was measured: its time alone by quantiles, ns, CPUs that it keeps busy, CPU time between two
    waits, ns, and speeds next to others."""

    name: str
    solo: tuple[int, ...]
    busy: float
    alongside: Mapping[str, float]
    burst_ns: int = USUAL_BURST_NS


class MeasuredPrograms(Documented, frozen=True):
    """Programs that were measured alone and in co-runs on a number of CPUs."""

    KIND = "profile"

    cpus: int
    programs: tuple[MeasuredProgram, ...]

    @property
    def toml(self) -> str:
        """The workload as TOML, for `becalm simulate -- FILE.toml`."""
        lines = ["# Written by becalm simulate --measure; more of one: count = 8.", f"cpus = {self.cpus}"]
        for row in self.programs:
            solo = ", ".join(f'"{ns}ns"' for ns in row.solo)
            alongside = ", ".join(f"{toml_value(name)} = {speed}" for name, speed in row.alongside.items())
            threads = threads_for(row.busy)
            lines += ["", "[[measured]]", f"name = {toml_value(row.name)}", f"solo = [{solo}]", f"busy = {row.busy}"]
            lines += [f"threads = {threads}", "count = 1", f'burst = "{row.burst_ns}ns"']
            lines += [f"alongside = {{ {alongside} }}"]
        return "\n".join(lines) + "\n"
