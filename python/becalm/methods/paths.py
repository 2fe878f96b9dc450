"""Lines through a space of factors, along which a search in one variable goes: one row of TABLE each.

A path says what is set at each value of its variable. Beside the rows every factor with a range is a path of its own
name. The two paths of SchedPeriod are algorithms 5.2 and 5.3 of Anderson 2013; their numbers are for 200 tasks, and the
same for others by what they mean: of each task 0.1 ms to 1 s, the bounds of the kernel's minimum granularity.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from becalm.errors import UsageError
from becalm.nouns.domain import Scale
from becalm.nouns.factor import Factor, Level
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings
from becalm.units import listed

TASKS = 200
"""The number of tasks in the published algorithms."""

SLICES = ("slice_ns", "sched_base_slice_ns")
"""The slice on EEVDF: of the program alone (Linux 6.12 and later), else of all tasks."""

CFS = ("sched_latency_ns", "sched_min_granularity_ns", "sched_wakeup_granularity_ns")
"""The knobs that make up SchedPeriod, and the time by which a task that wakes up must be behind."""


@dataclass(frozen=True, slots=True)
class Path:
    """A line: its `variable`, a factor with a range, and the level of each factor at a value of it."""

    name: str
    variable: Factor
    levels: Callable[[float], Mapping[str, float]]

    def settings(self, space: Space, coded: float) -> Settings:
        """Return the settings at a place of the line, from -1 to 1; no factor leaves its range."""
        found = self.levels(float(self.variable.natural(coded)))
        levels: dict[str, Level] = {
            factor.name: min(max(found[factor.name], factor.low), factor.high)
            for factor in space.factors
            if factor.name in found
        }
        return space.at(levels)

    def worded(self, coded: float) -> str:
        """Return a place with its unit, as text."""
        return f"{self.variable.name} {self.variable.worded(self.variable.natural(coded))}"


@dataclass(frozen=True, slots=True)
class PathRow:
    """A path: its name, a description, how it is made of the factors and a number of tasks, and for which factors.
    `make` returns None where one of them is missing. `tasks`: whether the number of tasks matters."""

    name: str
    what: str
    needs: str
    make: Callable[[Mapping[str, Factor], int], Path | None]
    tasks: bool = False


def _slice(factors: Mapping[str, Factor], _: int) -> Path | None:
    for name in SLICES:
        if name in factors:
            return _single(replace(factors[name], scale=Scale.LOG) if factors[name].low > 0 else factors[name])
    return None


def _many_tasks(factors: Mapping[str, Factor], tasks: int) -> Path | None:
    if not factors.keys() >= set(CFS):
        return None
    latency, shortest, waking = (factors[name] for name in CFS)
    # 200 * 1e9 = 2e11, beyond which waking up takes the rest; and a latency that is always too short for all tasks:
    # 200 * 1e5 - 1e5 = 19,900,000.
    least, most = tasks * shortest.low, tasks * shortest.high

    def levels(period: float) -> Mapping[str, float]:
        kept = min(period, most)
        values = (least - shortest.low, kept / tasks, max(0.0, period - most))
        return dict(zip(CFS, values, strict=True))

    return Path("many-tasks", _period(max(least, latency.low), most + waking.high), levels)


def _few_tasks(factors: Mapping[str, Factor], tasks: int) -> Path | None:
    if not factors.keys() >= set(CFS):
        return None
    latency, shortest, waking = (factors[name] for name in CFS)

    def levels(period: float) -> Mapping[str, float]:
        kept = min(period, latency.high)
        whole = kept / tasks if kept < tasks * shortest.low else shortest.low
        return dict(zip(CFS, (kept, whole, max(0.0, period - latency.high)), strict=True))

    return Path("few-tasks", _period(latency.low, latency.high + waking.high), levels)


def _diagonal(factors: Mapping[str, Factor], _: int) -> Path | None:
    ranges = [factor for factor in factors.values() if not factor.categorical]
    if not ranges:
        return None

    def levels(share: float) -> Mapping[str, float]:
        return {each.name: float(each.natural(2 * share - 1)) for each in ranges}

    return Path("diagonal", Factor("share", 0.0, 1.0), levels)


TABLE: tuple[PathRow, ...] = (
    PathRow("slice", "how long a task runs before others get their turn, on a logarithmic scale (EEVDF)",
        listed(SLICES, "or"), _slice),
    PathRow("many-tasks", "SchedPeriod of CFS where there are more tasks than its latency has turns for",
        ", ".join(CFS), _many_tasks, tasks=True),
    PathRow("few-tasks", "SchedPeriod of CFS where all tasks get their turn within its latency",
        ", ".join(CFS), _few_tasks, tasks=True),
    PathRow("diagonal", "all ranges at once, each from its lowest value to its highest", "a range", _diagonal),
)  # fmt: skip


def resolve(name: str, space: Space) -> Path:
    """Return the path of a name: a row or a factor, with :N for the number of tasks, and :log or :linear.

    Without a name, that of the only range. Raises UsageError for an unknown one, with the known ones.
    """
    factors = {factor.name: factor for factor in space.factors}
    head, tasks, scale = _parts(name)
    if not head:
        ranges = [factor for factor in space.factors if not factor.categorical]
        if len(space.factors) != 1 or not ranges:
            raise UsageError(
                f"A golden section goes along one line, and there are {len(space.factors)} factors. Name it: --path "
                f"{_known(space)}; or one factor: --factor {ranges[0].name if ranges else 'KNOB=LOW..HIGH'}."
            )
        head = ranges[0].name
    rows = {row.name: row for row in TABLE}
    if head in factors and not factors[head].categorical and not tasks:
        found = _single(factors[head])
    elif head in rows:
        found = _row(rows[head], factors, tasks, space)
    elif head in factors:
        raise UsageError(f"{head} is no line: it has {'choices' if factors[head].categorical else 'no tasks'}.")
    else:
        near = difflib.get_close_matches(head, [*rows, *factors], n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"There is no path {head!r}.{hint} There are: {_known(space)}.")
    return replace(found, variable=replace(found.variable, scale=scale)) if scale else found


def _row(row: PathRow, factors: Mapping[str, Factor], tasks: int, space: Space) -> Path:
    """Return the path of a row. Raises UsageError where factors are missing."""
    if tasks and not row.tasks:
        raise UsageError(f"--path {row.name} does not depend on the number of tasks: leave :{tasks} out.")
    path = row.make(factors, tasks or TASKS)
    if path is None:
        raise UsageError(f"--path {row.name} needs {row.needs} among what is varied. Here are: {_known(space)}.")
    return path


def _known(space: Space) -> str:
    factors = {factor.name: factor for factor in space.factors}
    rows = [row.name for row in TABLE if row.make(factors, TASKS) is not None]
    return ", ".join([*rows, *(name for name, each in factors.items() if not each.categorical)]) or "none"


def _parts(name: str) -> tuple[str, int, Scale | None]:
    """Name, number of tasks or 0, scale or None."""
    head, *marks = (part.strip() for part in name.split(":"))
    tasks, scale = 0, None
    for mark in marks:
        if mark in ("log", "linear"):
            scale = Scale.LOG if mark == "log" else Scale.LINEAR
        elif mark.isdigit() and 0 < int(mark) <= 1_000_000:
            tasks = int(mark)
        else:
            raise UsageError(f"--path {head}: behind it there may be a number of tasks, :log or :linear, not :{mark}.")
    return head, tasks, scale


def _single(factor: Factor) -> Path:
    return Path(factor.name, factor, lambda value: {factor.name: value})


def _period(low: float, high: float) -> Factor:
    return Factor("SchedPeriod", low, high, "ns", Scale.LINEAR, True)
