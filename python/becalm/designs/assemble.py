"""Assembly of a Design from a kind and some factors: points in natural units, replicates, blocks, random order.

KINDS is the table of kinds; a new kind is a row and its function. A factor with choices takes a column of a two-level
design when it has two choices; the designs for surfaces are repeated for each combination of choices. `--fold` adds a
second block to a two-level design (`foldover`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import msgspec
import numpy as np
from msgspec.structs import replace

from becalm.designs.box_behnken import box_behnken
from becalm.designs.central_composite import composite
from becalm.designs.factorial import (
    MOST_FACTORS,
    Fraction,
    best_fraction,
    confounding,
    fraction,
    full_factorial,
    smallest_fraction,
)
from becalm.designs.foldover import fold_fraction, fold_over, folded_factors
from becalm.designs.plackett_burman import partial_aliasing, plackett_burman
from becalm.designs.sheet import ASIDE
from becalm.designs.words import LETTERS, Word, span
from becalm.errors import UsageError
from becalm.nouns.factor import Factor, check_distinct
from becalm.nouns.options.design import DesignOptions
from becalm.results.design import PLACES, Design, DesignRun
from becalm.stats.arrays import Floats, Ints


class Points(msgspec.Struct, frozen=True):
    """The points of a kind of design, shape (runs, factors): places of numeric factors in coded units, numbers of
    choices.

    `kinds` and `blocks` (from 0) have one entry for each run. `fold`: numbers of the folded factors. `partial`: the
    largest part of an interaction in a factor's effect, for a design that is not a regular fraction.
    """

    points: Floats
    kinds: tuple[str, ...]
    blocks: Ints
    alpha: float | None = None
    cube: Fraction | None = None
    words: tuple[Word, ...] = ()
    fold: tuple[int, ...] = ()
    partial: float | None = None


class DesignKind(msgspec.Struct, frozen=True):
    """A kind of design: its purpose, the function that builds its points, and the options that only some kinds take."""

    what: str
    make: Callable[[tuple[Factor, ...], DesignOptions], Points]
    takes: tuple[str, ...]


def assemble(kind: str, factors: Sequence[Factor], options: DesignOptions, seed: int) -> Design:
    """Return the design, its runs in random order within each block unless the options ask for standard order.

    Raises UsageError for options that the kind of design cannot have.
    """
    if kind not in KINDS:
        raise UsageError(f"There is no design {kind!r}. There are: {', '.join(KINDS)}.")
    chosen = check_distinct(tuple(factors))
    _refuse(kind, chosen, options)
    points = KINDS[kind].make(chosen, options)
    levels = [
        tuple(factor.natural(coordinate) for factor, coordinate in zip(chosen, row, strict=True))
        for row in points.points
    ]
    # Whole numbers rarely lie exactly where the design puts them: the model uses the levels that are set.
    coded = [tuple(factor.coded(level) for factor, level in zip(chosen, row, strict=True)) for row in levels]
    _check_levels(chosen, points.points, np.array(coded))
    order = np.arange(len(levels))
    if options.randomize:
        rng = np.random.default_rng(seed)
        order = np.concatenate(
            [rng.permutation(np.flatnonzero(points.blocks == block)) for block in np.unique(points.blocks)]
        )
    else:
        order = np.argsort(points.blocks, kind="stable")
    runs = tuple(
        DesignRun(
            place, int(index) + 1, int(points.blocks[index]) + 1, points.kinds[index], coded[index], levels[index]
        )
        for place, index in enumerate(order, 1)
    )
    cube = points.cube
    lettered = [factor for factor in chosen if cube is not None and (kind == "factorial" or not factor.categorical)]
    return Design(
        family=kind,
        factors=chosen,
        runs=runs,
        blocks=int(points.blocks.max()) + 1,
        responses=options.responses,
        seed=seed if options.randomize else None,
        alpha=points.alpha,
        letters={LETTERS[index]: factor.name for index, factor in enumerate(lettered)} or None,
        generators=() if cube is None else tuple(f"{LETTERS[i]}={word.text}" for i, word in cube.generators),
        defining=() if cube is None else tuple(word.text for word in cube.defining),
        resolution=cube.resolution if cube is not None else _irregular(points),
        aliases=() if cube is None else tuple(tuple(word.text for word in group) for group in cube.aliases()),
        confounded=tuple(word.text for word in span(points.words)),
        folded=tuple(chosen[index].name for index in points.fold),
        partial=points.partial,
    )


def _irregular(points: Points) -> int | None:
    """Return the resolution of a two-level design that is not a regular fraction."""
    return None if points.partial is None else 3 if points.partial > 0 else 4


def _refuse(kind: str, factors: tuple[Factor, ...], options: DesignOptions) -> None:
    plain = DesignOptions()
    for name, flag in (
        ("alpha", "--alpha"),
        ("resolution", "--resolution"),
        ("cube", "--runs"),
        ("generators", "--generator"),
        ("replicates", "--replicates"),
        ("fold", "--fold"),
    ):
        if name not in KINDS[kind].takes and getattr(options, name) != getattr(plain, name):
            homes = [other for other, row in KINDS.items() if name in row.takes]
            raise UsageError(f"{flag} is for becalm design {' and '.join(homes)}, not for {kind}. Leave it out.")
    heads = [factor.name for factor in factors] + list(options.responses)
    for head in heads:
        if head.lower() in {*PLACES, *ASIDE}:
            raise UsageError(f"{head!r} is the name of a column that every worksheet has. Choose another name.")
    if twice := sorted({head for head in heads if heads.count(head) > 1}):
        raise UsageError(f"{twice[0]!r} would be the name of two columns. Give each column its own name.")
    if wrong := [response for response in options.responses if "=" in response or not response.strip()]:
        raise UsageError(f"The name of a response must not be empty or contain =; {wrong[0]!r} does not fit.")


def _check_levels(factors: tuple[Factor, ...], planned: Floats, actual: Floats) -> None:
    """Raise UsageError for a whole-number factor that has fewer levels than the design plans for it.

    `planned`, `actual`: coded points, shape (runs, factors), before and after rounding to whole numbers.
    """
    for index, factor in enumerate(factors):
        if not factor.whole:
            continue
        places, levels = np.unique(planned[:, index].round(9)), np.unique(actual[:, index].round(9))
        if len(levels) < len(places):
            raise UsageError(
                f"The range of {factor.name} has too few whole numbers for the {len(places)} levels of this design: "
                f"only {len(levels)} would differ. Take a wider range, a design with fewer levels (--alpha "
                "face-centred has three), or becalm design factorial, which has two."
            )


def _refuse_more_choices(factors: tuple[Factor, ...], instead: str = "") -> None:
    if many := [factor for factor in factors if len(factor.choices) > 2]:
        raise UsageError(
            f"A two-level design has two levels, and {many[0].name} has {len(many[0].choices)} choices. Name two of "
            f"them{instead}."
        )


def _factorial(factors: tuple[Factor, ...], options: DesignOptions) -> Points:
    count = len(factors)
    _refuse_more_choices(factors, ", or take becalm design central, which has its points once for each choice")
    if count > MOST_FACTORS:
        raise UsageError(f"A two-level design has {MOST_FACTORS} factors at most, not {count}.")
    ways = [bool(options.generators), options.cube is not None, options.resolution is not None]
    if sum(ways) > 1:
        raise UsageError("--generator, --runs and --resolution each choose the fraction. Leave all but one out.")
    cube = (
        fraction(count, options.generators)
        if options.generators
        else best_fraction(count, options.cube)
        if options.cube is not None
        else smallest_fraction(count, options.resolution)
        if options.resolution is not None
        else full_factorial(count)
    )
    if options.fold:
        if options.blocks > 1:
            raise UsageError("--fold makes two blocks, the design and its foldover. Leave out --blocks.")
        numbers = folded_factors(options.fold, [factor.name for factor in factors])
        design = fold_fraction(cube, numbers)
        return _two_level(
            factors, options, design.cube.points, _halves(design.cube.points), design.cube, design.block, numbers
        )
    words = confounding(cube, options.blocks) if options.blocks > 1 else ()
    block = np.zeros(len(cube.points), dtype=np.int64)
    for place, word in enumerate(words):
        block += (word.column(cube.points) > 0).astype(np.int64) << place
    return _two_level(factors, options, cube.points, block, cube, words)


def _halves(points: Floats) -> Ints:
    """Return the blocks of a design and its foldover."""
    return np.repeat(np.array([0, 1], dtype=np.int64), len(points) // 2)


def _plackett_burman(factors: tuple[Factor, ...], options: DesignOptions) -> Points:
    _refuse_more_choices(factors)
    if options.blocks > 1:
        raise UsageError("A Plackett-Burman design has one block, or two with --fold. Leave out --blocks.")
    points = plackett_burman(len(factors), options.cube)
    numbers = folded_factors(options.fold, [factor.name for factor in factors])
    if numbers:
        points = fold_over(points, numbers)
    block = _halves(points) if numbers else np.zeros(len(points), dtype=np.int64)
    return replace(_two_level(factors, options, points, block, fold=numbers), partial=partial_aliasing(points))


def _two_level(
    factors: tuple[Factor, ...],
    options: DesignOptions,
    points: Floats,
    block: Ints,
    cube: Fraction | None = None,
    words: tuple[Word, ...] = (),
    fold: tuple[int, ...] = (),
) -> Points:
    """Return the points of a two-level design, replicated and with centre points."""
    rows = [(row, "cube", int(b)) for row, b in zip(points, block, strict=True)] * options.replicates
    rows += _centres(factors, options, int(block.max()) + 1)
    # A factor with two choices is numbered 0 and 1, where a range has -1 and 1.
    chosen = np.array([factor.categorical for factor in factors])
    values = np.array([row for row, _, _ in rows])
    values[:, chosen] = (values[:, chosen] + 1) / 2
    return Points(
        values, tuple(kind for _, kind, _ in rows), np.array([b for _, _, b in rows]), None, cube, words, fold
    )


def _centres(factors: tuple[Factor, ...], options: DesignOptions, blocks: int) -> list[tuple[Floats, str, int]]:
    """Return the centre points of a factorial as (point, kind, block): one set for each combination of choices."""
    inside = 0 if options.centre is None else options.centre[0]
    if options.centre is not None and options.centre[1] is not None:
        raise UsageError("A factorial has no axial points: give --centre one number.")
    if inside and all(factor.categorical for factor in factors):
        raise UsageError("Choices have no centre between them, and all factors are choices. Leave out --centre.")
    sides = [(-1.0, 1.0) if factor.categorical else (0.0,) for factor in factors]
    return [
        (np.array(row), "centre", block) for block in range(blocks) for row in product(*sides) for _ in range(inside)
    ]


def _central(factors: tuple[Factor, ...], options: DesignOptions) -> Points:
    centre = None
    if options.centre is not None:
        first, second = options.centre
        # Without blocks a single number is the total.
        centre = (first, second if second is not None else first if options.blocks > 1 else 0)
    numeric = sum(not factor.categorical for factor in factors)
    design = composite(numeric, options.alpha, centre, options.blocks)
    points = Points(design.points, design.kinds, design.blocks, design.alpha, design.cube, design.words)
    return _crossed(factors, points)


def _behnken(factors: tuple[Factor, ...], options: DesignOptions) -> Points:
    if options.centre is not None and options.centre[1] is not None:
        raise UsageError("A Box-Behnken design has no axial points: give --centre one number.")
    numeric = sum(not factor.categorical for factor in factors)
    design = box_behnken(numeric, None if options.centre is None else options.centre[0], options.blocks)
    return _crossed(factors, Points(design.points, design.kinds, design.blocks))


def _crossed(factors: tuple[Factor, ...], numeric: Points) -> Points:
    """Return the points of the numeric factors once for each combination of choices."""
    chosen = [index for index, factor in enumerate(factors) if factor.categorical]
    ranges = [index for index, factor in enumerate(factors) if not factor.categorical]
    combinations = list(product(*(range(len(factors[index].choices)) for index in chosen)))
    points = np.empty((len(numeric.points) * len(combinations), len(factors)))
    points[:, ranges] = np.tile(numeric.points, (len(combinations), 1))
    points[:, chosen] = np.repeat(np.array(combinations, dtype=np.float64), len(numeric.points), axis=0)
    return Points(
        points,
        numeric.kinds * len(combinations),
        np.tile(numeric.blocks, len(combinations)),
        numeric.alpha,
        numeric.cube,
        numeric.words,
    )


KINDS: Mapping[str, DesignKind] = {
    "factorial": DesignKind(
        "two levels of each factor, all combinations or a fraction of them: which factors matter",
        _factorial,
        ("resolution", "cube", "generators", "replicates", "fold"),
    ),
    "plackett-burman": DesignKind(
        "two levels of up to 47 factors, in few more runs than factors: which of many factors matter",
        _plackett_burman,
        ("cube", "replicates", "fold"),
    ),
    "central": DesignKind(
        "central composite: cube, axial and centre points, for a surface of second order", _central, ("alpha",)
    ),
    "box-behnken": DesignKind("three levels and no corners, for a surface of second order", _behnken, ()),
}
"""Every kind of design."""
