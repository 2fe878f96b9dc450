"""Workloads of the cache simulator as they are typed, and synthetic streams: `matrixmult:187,5@0 memeater:1M@1`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from becalm.errors import UsageError
from becalm.units import size_bytes

EVENTS = "references and misses of a simulated last-level cache"


@dataclass(frozen=True, slots=True)
class Workload:
    """A row. `form`: its arguments as they are typed; `program`: these to what becalm-sim takes."""

    name: str
    form: str
    words: str
    program: Callable[[Sequence[str]], Mapping[str, Any]]


WORKLOADS = (
    Workload(
        "matrixmult", "N,REPEATS", "products of N × N integers",
        lambda a: {"n": _whole(a[0]), "repeats": _whole(a[1])},
    ),
    Workload("memeater", "SIZE", "increments a buffer for ever", lambda a: {"bytes": size_bytes(a[0])}),
    Workload("cpuburner", "", "touches no memory", lambda _: {}),
    Workload("change", "SIZE", "both in turn, 2 s each", lambda a: {"bytes": size_bytes(a[0])}),
    Workload(
        "phases", "SIZE,SWEEPS,PHASES", "sweeps over data that are new in each phase",
        lambda a: {"bytes": size_bytes(a[0]), "sweeps": _whole(a[1]), "phases": _whole(a[2])},
    ),
    Workload("trace", "FILE", "a trace of valgrind's lackey", lambda a: {"path": a[0]}),
)  # fmt: skip


def _whole(text: str) -> int:
    if not (text.isdecimal() and len(text) < 10):
        raise UsageError(f"{text!r} is no whole number.")
    return int(text)


def task(text: str) -> dict[str, Any]:
    """A workload as it was typed, with the CPU it begins on. Raises UsageError."""
    typed, _, cpu = text.partition("@")
    name, _, rest = typed.partition(":")
    for each in WORKLOADS:
        if each.name == name:
            wanted = len(each.form.split(",")) if each.form else 0
            given = (rest.split(",") if wanted > 1 else [rest]) if rest else []
            if len(given) != wanted:
                raise UsageError(f"{text!r} is not complete: {name}{':' if each.form else ''}{each.form}.")
            return {"program": {name: each.program(given)}, "cpu": _whole(cpu or "0")}
    known = ", ".join(f"{each.name}{':' if each.form else ''}{each.form}" for each in WORKLOADS)
    raise UsageError(f"There is no workload {name!r}. There are: {known}; and each takes @CPU.")
