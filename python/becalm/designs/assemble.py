"""A Design of a kind and some factors: the points in natural units, repeated, in blocks, in random order.

KINDS is the table of kinds; one more is a row and its function. A factor with choices takes a column of a two-level
design when it has two; the designs for surfaces are made once for each combination of choices. `--fold` adds a second
block to what a two-level kind makes (`foldover`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from becalm.designs.box_behnken import behnken
from becalm.designs.central_composite import composite
from becalm.designs.factorial import MOST_FACTORS, Fraction, confounding, fraction, full, of_runs, smallest
from becalm.designs.foldover import folded, folding, members
from becalm.designs.plackett_burman import partial_aliasing, plackett_burman
from becalm.designs.sheet import ASIDE
from becalm.designs.words import LETTERS, Word, group
from becalm.errors import UsageError
from becalm.nouns.factor import Factor, distinct
from becalm.nouns.options.design import DesignOptions
from becalm.results.design import PLACES, Design, DesignRun
from becalm.stats.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class Points:
    """The points of a kind of design: those of the factors that it varies (for choices their number), their kinds and
    blocks; `fold`: numbers of the factors that were folded, `partial`: the largest part of an interaction in a factor's
    effect, for a design that is not a regular fraction."""

    points: Floats
    kinds: tuple[str, ...]
    blocks: Ints
    alpha: float | None = None
    cube: Fraction | None = None
    words: tuple[Word, ...] = ()
    fold: tuple[int, ...] = ()
    partial: float | None = None


@dataclass(frozen=True, slots=True)
class DesignKind:
    """A kind of design: what it is for, how it is made, and which options it takes besides those of all."""

    what: str
    make: Callable[[tuple[Factor, ...], DesignOptions], Points]
    takes: tuple[str, ...]


def assemble(kind: str, factors: Sequence[Factor], options: DesignOptions, seed: int) -> Design:
    """Return the design, its runs in random order within each block unless it is to stay in standard order.

    Raises UsageError for options that the kind of design cannot have.
    """
    if kind not in KINDS:
        raise UsageError(f"There is no design {kind!r}. There are: {', '.join(KINDS)}.")
    chosen = distinct(tuple(factors))
    _refuse(kind, chosen, options)
    made = KINDS[kind].make(chosen, options)
    levels = [tuple(factor.natural(place) for factor, place in zip(chosen, row, strict=True)) for row in made.points]
    # Whole numbers do not lie where the design wants them: what is set is what counts.
    coded = [tuple(factor.coded(level) for factor, level in zip(chosen, row, strict=True)) for row in levels]
    _apart(chosen, made.points, np.array(coded))
    order = np.arange(len(levels))
    if options.randomize:
        rng = np.random.default_rng(seed)
        order = np.concatenate(
            [rng.permutation(np.flatnonzero(made.blocks == each)) for each in np.unique(made.blocks)]
        )
    else:
        order = np.argsort(made.blocks, kind="stable")
    runs = tuple(
        DesignRun(place, int(index) + 1, int(made.blocks[index]) + 1, made.kinds[index], coded[index], levels[index])
        for place, index in enumerate(order, 1)
    )
    cube = made.cube
    varied = [each for each in chosen if cube is not None and (kind == "factorial" or not each.categorical)]
    return Design(
        family=kind,
        factors=chosen,
        runs=runs,
        blocks=int(made.blocks.max()) + 1,
        responses=options.responses,
        seed=seed if options.randomize else None,
        alpha=made.alpha,
        letters={LETTERS[index]: each.name for index, each in enumerate(varied)} or None,
        generators=() if cube is None else tuple(f"{LETTERS[i]}={word.text}" for i, word in cube.generators),
        defining=() if cube is None else tuple(each.text for each in cube.defining),
        resolution=cube.resolution if cube is not None else _irregular(made),
        aliases=() if cube is None else tuple(tuple(each.text for each in some) for some in cube.aliases()),
        confounded=tuple(each.text for each in group(made.words)),
        folded=tuple(chosen[each].name for each in made.fold),
        partial=made.partial,
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
            homes = [each for each, row in KINDS.items() if name in row.takes]
            raise UsageError(f"{flag} is for becalm design {' and '.join(homes)}, not for {kind}. Leave it out.")
    heads = [factor.name for factor in factors] + list(options.responses)
    for head in heads:
        if head.lower() in {*PLACES, *ASIDE}:
            raise UsageError(f"{head!r} is the name of a column that the file has anyway. Call it otherwise.")
    if twice := sorted({head for head in heads if heads.count(head) > 1}):
        raise UsageError(f"{twice[0]!r} would be the name of two columns. Name each once.")
    if wrong := [response for response in options.responses if "=" in response or not response.strip()]:
        raise UsageError(f"A response has a name without =, not {wrong[0]!r}.")


def _apart(factors: tuple[Factor, ...], wanted: Floats, found: Floats) -> None:
    """Refuse whole-number factors on which places that the design tells apart are one."""
    for index, factor in enumerate(factors):
        if not factor.whole:
            continue
        places, levels = np.unique(wanted[:, index].round(9)), np.unique(found[:, index].round(9))
        if len(levels) < len(places):
            raise UsageError(
                f"{factor.name} has too few whole numbers for the {len(places)} levels of this design: it would have "
                f"{len(levels)}. Take a wider range, a design with fewer levels (--alpha face-centred has three), or "
                "becalm design factorial, which has two."
            )


def _refuse_more_choices(factors: tuple[Factor, ...], instead: str = "") -> None:
    if many := [factor for factor in factors if len(factor.choices) > 2]:
        raise UsageError(
            f"A two-level design has two levels, and {many[0].name} has {len(many[0].choices)} choices. Name two of "
            f"them{instead}."
        )


def _factorial(factors: tuple[Factor, ...], options: DesignOptions) -> Points:
    count = len(factors)
    _refuse_more_choices(factors, ", or take becalm design central, which is made once for each choice")
    if count > MOST_FACTORS:
        raise UsageError(f"A two-level design has {MOST_FACTORS} factors at most, not {count}.")
    ways = [bool(options.generators), options.cube is not None, options.resolution is not None]
    if sum(ways) > 1:
        raise UsageError("--generator, --runs and --resolution each choose the fraction. Leave all but one out.")
    cube = (
        fraction(count, options.generators)
        if options.generators
        else of_runs(count, options.cube)
        if options.cube is not None
        else smallest(count, options.resolution)
        if options.resolution is not None
        else full(count)
    )
    if options.fold:
        if options.blocks > 1:
            raise UsageError("--fold makes two blocks, what was run and its foldover. Leave --blocks out.")
        which = members(options.fold, [factor.name for factor in factors])
        made = folding(cube, which)
        return _two_level(factors, options, made.cube.points, _halves(made.cube.points), made.cube, made.block, which)
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
        raise UsageError("A Plackett-Burman design is in one block, or with --fold in two. Leave --blocks out.")
    points = plackett_burman(len(factors), options.cube)
    which = members(options.fold, [factor.name for factor in factors])
    if which:
        points = folded(points, which)
    block = _halves(points) if which else np.zeros(len(points), dtype=np.int64)
    return replace(_two_level(factors, options, points, block, fold=which), partial=partial_aliasing(points))


def _two_level(
    factors: tuple[Factor, ...],
    options: DesignOptions,
    points: Floats,
    block: Ints,
    cube: Fraction | None = None,
    words: tuple[Word, ...] = (),
    fold: tuple[int, ...] = (),
) -> Points:
    """Return the points of two levels, replicated, with centre points."""
    rows = [(row, "cube", int(b)) for row, b in zip(points, block, strict=True)] * options.replicates
    rows += _centres(factors, options, int(block.max()) + 1)
    # A choice of two is its number, 0 or 1, where a range has -1 and 1.
    chosen = np.array([factor.categorical for factor in factors])
    placed = np.array([row for row, _, _ in rows])
    placed[:, chosen] = (placed[:, chosen] + 1) / 2
    return Points(
        placed, tuple(kind for _, kind, _ in rows), np.array([b for _, _, b in rows]), None, cube, words, fold
    )


def _centres(factors: tuple[Factor, ...], options: DesignOptions, blocks: int) -> list[tuple[Floats, str, int]]:
    """Centre points of a factorial: of its ranges, and of choices at every combination of them."""
    inside = 0 if options.centre is None else options.centre[0]
    if options.centre is not None and options.centre[1] is not None:
        raise UsageError("A factorial has no axial points: give --centre one number.")
    if inside and all(factor.categorical for factor in factors):
        raise UsageError("Choices have no centre between them, and there are no other factors. Leave --centre out.")
    sides = [(-1.0, 1.0) if factor.categorical else (0.0,) for factor in factors]
    return [
        (np.array(row), "centre", block) for block in range(blocks) for row in product(*sides) for _ in range(inside)
    ]


def _central(factors: tuple[Factor, ...], options: DesignOptions) -> Points:
    centre = None
    if options.centre is not None:
        first, second = options.centre
        # Without blocks a single number is all there are.
        centre = (first, second if second is not None else first if options.blocks > 1 else 0)
    numeric = sum(not factor.categorical for factor in factors)
    made = composite(numeric, options.alpha, centre, options.blocks)
    points = Points(made.points, made.kinds, made.blocks, made.alpha, made.cube, made.words)
    return _crossed(factors, points)


def _behnken(factors: tuple[Factor, ...], options: DesignOptions) -> Points:
    if options.centre is not None and options.centre[1] is not None:
        raise UsageError("A Box-Behnken design has no axial points: give --centre one number.")
    numeric = sum(not factor.categorical for factor in factors)
    made = behnken(numeric, None if options.centre is None else options.centre[0], options.blocks)
    return _crossed(factors, Points(made.points, made.kinds, made.blocks))


def _crossed(factors: tuple[Factor, ...], made: Points) -> Points:
    """Return the points once for each combination of choices."""
    chosen = [index for index, each in enumerate(factors) if each.categorical]
    ranges = [index for index, each in enumerate(factors) if not each.categorical]
    combinations = list(product(*(range(len(factors[index].choices)) for index in chosen)))
    points = np.empty((len(made.points) * len(combinations), len(factors)))
    points[:, ranges] = np.tile(made.points, (len(combinations), 1))
    points[:, chosen] = np.repeat(np.array(combinations, dtype=np.float64), len(made.points), axis=0)
    return Points(
        points,
        made.kinds * len(combinations),
        np.tile(made.blocks, len(combinations)),
        made.alpha,
        made.cube,
        made.words,
    )


KINDS: Mapping[str, DesignKind] = {
    "factorial": DesignKind(
        "two levels of each factor, all combinations or a fraction of them: which factors matter",
        _factorial,
        ("resolution", "cube", "generators", "replicates", "fold"),
    ),
    "plackett-burman": DesignKind(
        "two levels of up to 47 factors in few more runs than factors: which of many matter",
        _plackett_burman,
        ("cube", "replicates", "fold"),
    ),
    "central": DesignKind(
        "central composite: cube, axial and centre points, for a surface of second order", _central, ("alpha",)
    ),
    "box-behnken": DesignKind("three levels and no corners, for a surface of second order", _behnken, ()),
}
"""Every kind of design."""
