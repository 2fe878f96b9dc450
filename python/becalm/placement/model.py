"""A model of the costs of programs that share a chip, from the figures of each running alone. It is not a measurement.

Programs share the cache in proportion to the rates at which they read memory lines, and a memory link that becomes
slower as it fills. `read` takes a file of programs (`published()`: the one that comes with becalm), `degradations`
returns the loss of each program of a set, `costs` makes CoRunCosts of all sets that chips may need.
"""

from __future__ import annotations

import importlib.resources
import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from becalm.errors import UsageError
from becalm.files.tables import check_keys, toml
from becalm.files.text import read_text
from becalm.results.place_costs import CoRunCosts, CostOrigin, SetCosts, Task

LINK_GB_S = 20.0
"""The bandwidth of the link to memory. Chosen, not measured: a machine of 2010, or a narrow link."""

LATENCY_CYCLES = 20.0
"""The additional cycles of a line for each unit by which the link's queue grows. Chosen, not measured."""

FULLEST = 0.95
"""The utilisation of the link beyond which the queue does not grow in the model."""

PRECISION = 1e-10
MOST_STEPS = 10_000
MOST_SETS = 200_000
MOST_SIZES = 8
"""The largest number of cache sizes for which a program's CPI may be given."""


class Cache(msgspec.Struct, frozen=True):
    """The shared part of a machine: MB of cache, MB that a program always keeps, GHz, and bytes per line."""

    name: str
    cache_mb: float
    smallest_mb: float
    ghz: float
    line_bytes: int


class Program(msgspec.Struct, frozen=True):
    """The figures of a program alone. `cpi_at`: by size, MB of cache and CPI over the CPI with all of it."""

    name: str
    cpi: float
    lines: float
    demand: float
    solo_s: float
    cpi_at: tuple[tuple[float, float], ...] = ()

    @property
    def sensitivity(self) -> float:
        """The slowdown with the smallest measured part of the cache, less 1."""
        return self.cpi_at[0][1] - 1 if self.cpi_at else 0.0

    @property
    def task(self) -> Task:
        """The program as a task to place; its pressure is the number of lines that it reads per 1,000 instructions."""
        return Task(self.name, self.solo_s, 1, self.lines, self.sensitivity, self.cpi)


class Characterisation(msgspec.Struct, frozen=True):
    """Programs, each measured alone on one machine."""

    cache: Cache
    programs: tuple[Program, ...]

    def named(self, names: Sequence[str]) -> tuple[Program, ...]:
        """Return the programs of these names. Raises UsageError for an unknown one."""
        known = {program.name: program for program in self.programs}
        for name in names:
            if name not in known:
                raise UsageError(
                    f"There is no program {name!r} in the characterisation. There are: {', '.join(known)}."
                )
        return tuple(known[name] for name in names)


def published() -> Characterisation:
    """Return nine programs of SPEC CPU2006 on a Xeon Gold 5120 (published.toml)."""
    return parsed(
        (importlib.resources.files("becalm.placement") / "published.toml").read_text("utf-8"), "published.toml"
    )


def read(path: str | Path) -> Characterisation:
    """Return the programs of a file. Raises UsageError for one that cannot be read or is invalid."""
    return parsed(read_text(path), str(path))


def parsed(text: str, where: str) -> Characterisation:
    """Return the programs of a file's text. Raises UsageError with the place of an error."""
    try:
        document = toml(text)
        check_keys(document, ("machine", "task"), where)
        check_keys(document["machine"], ("name", "cache_mb", "smallest_mb", "ghz", "line_bytes"), f"{where}, [machine]")
        machine, rows = document["machine"], document["task"]
        cache_mb, smallest_mb, ghz = (_number(machine, key, 1e-9) for key in ("cache_mb", "smallest_mb", "ghz"))
        cache = Cache(str(machine["name"]), cache_mb, smallest_mb, ghz, int(_number(machine, "line_bytes", 1)))
        programs = tuple(_program(row) for row in rows)
    except KeyError as error:
        raise UsageError(f"{where} lacks {error}. published.toml inside becalm shows the form.") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{where} describes no programs: {error}.") from None
    names = [program.name for program in programs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"{where} has two tasks that are called {twice[0]}.")
    return Characterisation(cache, programs)


def _program(row: Mapping[str, Any]) -> Program:
    check_keys(row, ("name", "ipc", "lines", "demand", "solo_s", "cpi_at"), f"The task {row.get('name')}")
    at = sorted((float(size), _number(row["cpi_at"], size, 1e-9)) for size in row["cpi_at"])
    return Program(
        str(row["name"]), 1 / _number(row, "ipc", 1e-9), _number(row, "lines"), _number(row, "demand"),
        _number(row, "solo_s", 1e-9), tuple(at),
    )  # fmt: skip


def _number(row: Mapping[str, Any], key: str, least: float = 0.0) -> float:
    value = row[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < least:
        raise ValueError(f"{key} is {value!r}, not a number of at least {least:g}")
    return float(value)


def degradations(programs: Sequence[Program], cache: Cache) -> tuple[float, ...]:
    """Return the loss of each of the programs that share a chip."""
    return tuple(map(float, of_sets(programs, [range(len(programs))], cache)[0]))


def of_sets(programs: Sequence[Program], sets: Sequence[Sequence[int]], cache: Cache) -> NDArray[np.float64]:
    """Return the losses of the members of each set (rows, all of one size): the model's fixed point, by half steps.

    Raises UsageError where the cache is too small for so many programs.
    """
    chosen = np.array([list(members) for members in sets], dtype=int)
    count = chosen.shape[1]
    free = cache.cache_mb - cache.smallest_mb * count
    if free < 0:
        raise UsageError(
            f"{count} programs do not fit into {cache.cache_mb:g} MB of cache with at least {cache.smallest_mb:g} MB "
            "for each."
        )
    alone = np.array([program.cpi for program in programs])[chosen]
    lines = np.array([program.lines for program in programs])[chosen]
    knots = tuple(
        np.array(curve)[chosen] for curve in zip(*(_curve(program, cache) for program in programs), strict=True)
    )
    traffic = lines / 1000 * cache.line_bytes * cache.ghz / LINK_GB_S
    queue_alone = _queue(traffic / alone)
    cpi = alone.copy()
    for _ in range(MOST_STEPS):
        rate = lines / cpi
        whole = rate.sum(axis=1, keepdims=True)
        share = np.divide(rate, whole, out=np.full_like(rate, 1 / count), where=whole > 0)
        slower = _relative(np.log(cache.smallest_mb + free * share), *knots)
        queue = _queue((traffic / cpi).sum(axis=1, keepdims=True))
        new = alone * slower + LATENCY_CYCLES * lines / 1000 * np.maximum(0.0, queue - queue_alone)
        step = (new - cpi) / 2
        cpi = cpi + step
        if np.abs(step).max() < PRECISION:
            break
    result: NDArray[np.float64] = 1 - alone / cpi
    return result


def _queue(load: Any) -> Any:
    """Return the factor on the wait of a line on a link with a utilisation (M/M/1)."""
    return 1 / (1 - np.minimum(load, FULLEST))


def _curve(program: Program, cache: Cache) -> tuple[list[float], list[float], float]:
    """Return a program's CPI by size of its cache, relative to the CPI with all of the cache.

    The curve is linear in the logarithm of the size, and constant below the smallest size. It consists of the
    logarithms of sizes, the slopes that begin there (the last is 0), and the value at the smallest size.
    """
    points = [(math.log(size), ratio) for size, ratio in program.cpi_at if size < cache.cache_mb]
    points.append((math.log(cache.cache_mb), 1.0))
    sizes, ratios = [point[0] for point in points], [point[1] for point in points]
    slopes = [(b - a) / (y - x) for x, y, a, b in zip(sizes, sizes[1:], ratios, ratios[1:], strict=False)]
    missing = MOST_SIZES - len(slopes)
    if missing < 0:
        raise UsageError(f"{program.name} has {len(slopes)} cache sizes. The model takes at most {MOST_SIZES}.")
    return [*sizes, *[sizes[-1]] * missing], [*slopes, *[0.0] * missing], ratios[0]


def _relative(size: Any, sizes: Any, slopes: Any, first: Any) -> Any:
    widths = np.diff(sizes, axis=2)
    risen = np.clip(size[..., None] - sizes[..., :-1], 0.0, widths)
    return first + (risen * slopes).sum(axis=2)


def costs(programs: Sequence[Program], cache: Cache, sizes: Sequence[int]) -> CoRunCosts:
    """Return the modelled costs of every set of these sizes. Raises UsageError for more sets than fit."""
    count = sum(math.comb(len(programs), size) for size in set(sizes))
    if count > MOST_SETS:
        raise UsageError(
            f"{len(programs)} tasks have {count:,} sets, more than the limit of {MOST_SETS:,}. Use the costs of pairs."
        )
    names = [program.name for program in programs]
    costses: list[SetCosts] = []
    for size in sorted({siz for siz in sizes if 0 < siz <= len(programs)}):
        sets = list(combinations(range(len(programs)), size))
        for chosen, lost in zip(sets, of_sets(programs, sets, cache), strict=True):
            costses.append(SetCosts(tuple(names[index] for index in chosen), tuple(map(float, lost))))
    return CoRunCosts(CostOrigin.MODEL, tuple(costses))
