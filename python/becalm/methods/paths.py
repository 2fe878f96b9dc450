"""Lines through a space of factors, along which a search in one variable goes: the rows of TABLE.

A path has the levels of all factors for each value of its variable. Besides the rows every factor with a range is a
path of its own name. The two paths of SchedPeriod are algorithms 5.2 and 5.3 of Anderson 2013, whose numbers are for
200 tasks. For other numbers of tasks they are scaled: 0.1 ms to 1 s for each task, the bounds of the kernel's minimum
granularity.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping

import msgspec
from msgspec.structs import replace

from becalm.errors import UsageError
from becalm.nouns.domain import Scale
from becalm.nouns.factor import Factor, Level
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings
from becalm.units import join_names

TASKS = 200
"""The number of tasks in the published algorithms."""

SLICES = ("slice_ns", "sched_base_slice_ns")
"""The knobs for the slice on EEVDF: that of the program only (Linux 6.12 and later), else that of all tasks."""

CFS = ("sched_latency_ns", "sched_min_granularity_ns", "sched_wakeup_granularity_ns")
"""The two knobs that make up SchedPeriod, and the one for the lag after which a waking task preempts."""


class Path(msgspec.Struct, frozen=True):
    """A line: its `variable`, a factor with a range, and the function from its values to the factors' levels."""

    name: str
    variable: Factor
    levels: Callable[[float], Mapping[str, float]]

    def settings(self, space: Space, coded: float) -> Settings:
        """Return the settings at a position of the line, from -1 to 1; levels are clamped to the factors' ranges."""
        values = self.levels(float(self.variable.natural(coded)))
        levels: dict[str, Level] = {
            factor.name: min(max(values[factor.name], factor.low), factor.high)
            for factor in space.factors
            if factor.name in values
        }
        return space.at(levels)

    def worded(self, coded: float) -> str:
        """Return a position in words, with the unit of the variable."""
        return f"{self.variable.name} {self.variable.worded(self.variable.natural(coded))}"


class PathRow(msgspec.Struct, frozen=True):
    """A path: its name, a description, and the function that makes it from the factors and a number of tasks.

    `needs`: the required factors, in words; `make` returns None if one is missing. `tasks`: whether the path depends on
    the number of tasks.
    """

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
    # For 200 tasks: above 200 * 1e9 = 2e11 the rest goes to the wakeup granularity. The latency is always too short for
    # all tasks: 200 * 1e5 - 1e5 = 19,900,000.
    least, most = tasks * shortest.low, tasks * shortest.high

    def levels(period: float) -> Mapping[str, float]:
        shared = min(period, most)
        values = (least - shortest.low, shared / tasks, max(0.0, period - most))
        return dict(zip(CFS, values, strict=True))

    return Path("many-tasks", _period(max(least, latency.low), most + waking.high), levels)


def _few_tasks(factors: Mapping[str, Factor], tasks: int) -> Path | None:
    if not factors.keys() >= set(CFS):
        return None
    latency, shortest, waking = (factors[name] for name in CFS)

    def levels(period: float) -> Mapping[str, float]:
        latency_ns = min(period, latency.high)
        granularity = latency_ns / tasks if latency_ns < tasks * shortest.low else shortest.low
        return dict(zip(CFS, (latency_ns, granularity, max(0.0, period - latency.high)), strict=True))

    return Path("few-tasks", _period(latency.low, latency.high + waking.high), levels)


def _diagonal(factors: Mapping[str, Factor], _: int) -> Path | None:
    ranges = [factor for factor in factors.values() if not factor.categorical]
    if not ranges:
        return None

    def levels(share: float) -> Mapping[str, float]:
        return {factor.name: float(factor.natural(2 * share - 1)) for factor in ranges}

    return Path("diagonal", Factor("share", 0.0, 1.0), levels)


TABLE: tuple[PathRow, ...] = (
    PathRow("slice", "how long a task runs before others get their turn, on a logarithmic scale (EEVDF)",
        join_names(SLICES, "or"), _slice),
    PathRow("many-tasks", "SchedPeriod of CFS with more tasks than get a turn within its latency",
        ", ".join(CFS), _many_tasks, tasks=True),
    PathRow("few-tasks", "SchedPeriod of CFS with so few tasks that all get a turn within its latency",
        ", ".join(CFS), _few_tasks, tasks=True),
    PathRow("diagonal", "all ranges at once, each from its lowest value to its highest", "a range", _diagonal),
)  # fmt: skip


def resolve(name: str, space: Space) -> Path:
    """Return the path of a name: a row or a factor, with :N for the number of tasks, and :log or :linear.

    Without a name it is the path of the only factor. Raises UsageError for an unknown name, with all names.
    """
    factors = {factor.name: factor for factor in space.factors}
    head, tasks, scale = _split_name(name)
    if not head:
        ranges = [factor for factor in space.factors if not factor.categorical]
        if len(space.factors) != 1 or not ranges:
            raise UsageError(
                f"A golden section searches along one line, and there are {len(space.factors)} factors. Name a "
                f"line: --path {_path_names(space)}; or one factor: --factor "
                f"{ranges[0].name if ranges else 'KNOB=LOW..HIGH'}."
            )
        head = ranges[0].name
    rows = {row.name: row for row in TABLE}
    if head in factors and not factors[head].categorical and not tasks:
        path = _single(factors[head])
    elif head in rows:
        path = _row(rows[head], factors, tasks, space)
    elif head in factors:
        raise UsageError(f"{head} is not a line: it has {'choices' if factors[head].categorical else 'no tasks'}.")
    else:
        near = difflib.get_close_matches(head, [*rows, *factors], n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"There is no path {head!r}.{hint} There are: {_path_names(space)}.")
    return replace(path, variable=replace(path.variable, scale=scale)) if scale else path


def _row(row: PathRow, factors: Mapping[str, Factor], tasks: int, space: Space) -> Path:
    """Return the path of a row. Raises UsageError if factors are missing."""
    if tasks and not row.tasks:
        raise UsageError(f"--path {row.name} does not depend on the number of tasks: leave :{tasks} out.")
    path = row.make(factors, tasks or TASKS)
    if path is None:
        raise UsageError(
            f"--path {row.name} needs {row.needs} among the varied settings. There are: {_path_names(space)}."
        )
    return path


def _path_names(space: Space) -> str:
    factors = {factor.name: factor for factor in space.factors}
    rows = [row.name for row in TABLE if row.make(factors, TASKS) is not None]
    return ", ".join([*rows, *(name for name, factor in factors.items() if not factor.categorical)]) or "none"


def _split_name(name: str) -> tuple[str, int, Scale | None]:
    """Return the name, the number of tasks or 0, and the scale or None, of a typed path. Raises UsageError."""
    head, *marks = (part.strip() for part in name.split(":"))
    tasks, scale = 0, None
    for mark in marks:
        if mark in ("log", "linear"):
            scale = Scale.LOG if mark == "log" else Scale.LINEAR
        elif mark.isdigit() and 0 < int(mark) <= 1_000_000:
            tasks = int(mark)
        else:
            raise UsageError(f"--path {head} may be followed by a number of tasks, :log or :linear, not by :{mark}.")
    return head, tasks, scale


def _single(factor: Factor) -> Path:
    return Path(factor.name, factor, lambda value: {factor.name: value})


def _period(low: float, high: float) -> Factor:
    return Factor("SchedPeriod", low, high, "ns", Scale.LINEAR, True)
