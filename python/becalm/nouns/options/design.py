"""The options of `design` and `design fit`: the design, and the fit of the filled worksheet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from becalm.errors import UsageError
from becalm.nouns.goal import Goal
from becalm.nouns.option import option
from becalm.nouns.options.measuring import confidence
from becalm.units import fraction

MODELS = ("linear", "2fi", "quadratic", "cubic")
"""The polynomials that can be fitted, each with the terms of those before it."""


def _alpha(value: float | str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return str(value)


def _centre(value: int | str) -> tuple[int, int | None]:
    """Return the numbers in "4" or "2,4": the centre points of the cube's blocks, and of the axial block."""
    first, comma, second = str(value).partition(",")
    try:
        result = int(first), int(second) if comma else None
    except ValueError:
        result = -1, None
    if result[0] < 0 or (result[1] or 0) < 0:
        raise UsageError(f"--centre is a number of runs, or two for cube and axial points: 4 or 2,4, not {value!r}.")
    return result


def _power(value: float | str) -> float | str | None:
    if value in ("none", "auto"):
        return None if value == "none" else "auto"
    if value == "log":
        return 0.0
    try:
        result = float(value)
    except ValueError:
        result = math.nan
    if not math.isfinite(result) or abs(result) > 5:
        raise UsageError(f"--transform is a power from -5 to 5, log, auto or none, not {value!r}.")
    return result


def _goals(texts: Mapping[str, str]) -> dict[str, Goal]:
    return {name: Goal.parse(text, name) for name, text in texts.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignOptions:
    """The options of a design, besides its kind and factors.

    `centre`: the centre points of each of the cube's blocks, and of the axial block, None for the same number.
    """

    alpha: float | str = option(
        "rotatable",
        "Distance of axial points: rotatable, face-centred, inscribed, spherical, orthogonal, or a number.",
        float | str,
        metavar="KIND",
        parse=_alpha,
    )
    resolution: int | None = option(
        None, "Smallest fraction of at least this resolution: 3, 4, 5.", int | None, metavar="N", least=3
    )
    cube: int | None = option(
        None,
        "Best fraction, or Plackett-Burman design, with N runs: 8, 16, 32; 12, 20, 24.",
        int | None,
        name="runs",
        unit="runs",
        metavar="N",
        least=2,
    )
    generators: tuple[str, ...] = option(
        (),
        "Generator of the fraction: E=ABCD; factors are A, B, C, … in order, without I.",
        Sequence[str],
        flag="--generator",
        metavar="E=ABCD",
        parse=tuple,
        repeats=True,
    )
    centre: tuple[int, int | None] | None = option(
        None,
        "Centre points per block (2,4: of cube and axial blocks).",
        int | str | None,
        unit="runs",
        metavar="N",
        shown="as needed",
        parse=_centre,
    )
    blocks: int = option(1, "Number of blocks, such as days or machines.", int, metavar="N", least=1)
    fold: tuple[str, ...] = option(
        (),
        "Add the foldover on this factor, or on all, as a second block.",
        Sequence[str],
        flag="--fold",
        metavar="all|NAME",
        parse=tuple,
        repeats=True,
    )
    replicates: int = option(1, "Number of times to make each two-level run.", int, metavar="N", least=1)
    responses: tuple[str, ...] = option(
        ("y",),
        "Name of the measured value: the heading of an empty column.",
        Sequence[str],
        flag="--response",
        metavar="NAME",
        shown="y",
        parse=tuple,
        repeats=True,
    )
    seed: int | None = option(None, "Seed of the random order.", int | None, metavar="N", shown="random", least=0)
    randomize: bool = option(
        True,
        "Put the runs of each block into random order.",
        bool,
        flag="",
        off="--standard-order",
        off_help="Keep the standard order: for teaching, not for measuring.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions:
    """The options of a fit. `transform`: the power of the response, 0 for the logarithm, None for no transformation."""

    model: str | None = option(
        None,
        "Fit this polynomial: linear, 2fi, quadratic, cubic.",
        str | None,
        metavar="MODEL",
        shown="the simplest that fits",
        choices=(*MODELS,),
    )
    transform: float | str | None = option(
        "none",
        "Power of the response to fit: -5 to 5, log, or auto (Box-Cox).",
        float | str,
        metavar="POWER",
        parse=_power,
    )
    goals: Mapping[str, Goal] | None = option(
        None,
        "Goal of a response: min, max, max:80..97, target:55..57.5..60.",
        Mapping[str, str] | None,
        flag="--goal",
        metavar="NAME=GOAL",
        shown="min",
        parse=_goals,
        repeats=True,
    )
    factors: tuple[str, ...] = option(
        (),
        "Range of a factor, if its column's heading lacks it: time=80..90min.",
        Sequence[str],
        flag="--factor",
        metavar="NAME=RANGE",
        parse=tuple,
        repeats=True,
    )
    responses: tuple[str, ...] = option(
        (),
        "Column to fit.",
        Sequence[str],
        flag="--response",
        metavar="NAME",
        shown="all columns that are not factors",
        parse=tuple,
        repeats=True,
    )
    confidence: float = confidence("Confidence of each interval; what is left is the level of the tests.")
    seed: int = option(0, "Seed for the interval of the optimum's place.", int, metavar="N", least=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SwarmDesignOptions:
    """The options of searches that optimise a swarm's parameters on simulated `models` with `dimensions` factors."""

    models: tuple[str, ...] = option(
        (),
        "Model to search on: bowl, cliff, two-optima.",
        Sequence[str],
        flag="--model",
        metavar="NAME",
        shown="all three",
        parse=tuple,
        repeats=True,
    )
    dimensions: int = option(3, "Number of factors of a model.", int, flag="--factors", metavar="N", least=1)
    noise: float = option("2%", "Noise of one run.", float | str, unit="fraction", metavar="SHARE", parse=fraction)
    evaluations: int = option(60, "Trials per search.", int, metavar="N", least=10)
    searches: int = option(100, "Searches per run of the design.", int, metavar="N", least=1)
    confidence: float = confidence("Confidence of each interval; what is left is the level of the tests.")
    seed: int = option(0, "Seed of the searches and of the order of the runs.", int, metavar="N", least=0)
