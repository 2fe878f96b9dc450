"""The wording of comparisons over several layouts, and of builds that cannot be used."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence

from becalm.results.compare import Gate
from becalm.results.layouts import LayoutComparison, LayoutSide
from becalm.wording.compare import stopped
from becalm.wording.metric import quantity
from becalm.wording.numbers import counted, duration, percent, spent

LAYOUT_HEAD = ("program", "seed", "mean", "from old", "noise (sd)")

FEW = 6
"""Layouts of each program below which the interval is much wider for their small number."""

LITTLE = 0.2
"""The share of the variance up to which more rounds hardly narrow an interval: by a tenth at most."""

EXACT = (
    "Instructions are counted, and layout hardly changes them. Compare one build of each: becalm compare --metric "
    "instructions OLD NEW"
)
"""The reason why exact counts are refused."""


def sentence(comparison: LayoutComparison) -> str:
    """Return the answer, what layout alone does, what limits the interval, and what became of a limit."""
    return "\n".join(filter(None, _lines(comparison)))


def _lines(comparison: LayoutComparison) -> Iterator[str]:
    yield answer(comparison)
    yield by_layout(comparison)
    yield limited_by(comparison)
    if comparison.fail_above is not None:
        yield gate(comparison)
    yield stopped(comparison.stopped)


def answer(comparison: LayoutComparison) -> str:
    """Return the difference beyond layout."""
    d = comparison.difference
    half, level, estimate = d.half, f"{100 * d.confidence:g} %", percent(d.estimate, d.half, sign=True)
    basis = f"{_counts(comparison)}, {counted(comparison.rounds, 'round')}, {spent(comparison.elapsed_ns)}"
    ends = f"{percent(d.low, half, sign=True)} to {percent(d.high, half, sign=True)} %"
    of = f" in {d.metric}" if d.metric else ""
    if d.worse is None:
        seen = f"; a difference of {percent(d.detectable)} % would have been seen" if d.detectable > 0 else ""
        return (
            f"No difference{of} beyond layout between {d.name} and {d.reference}: {estimate} % ({level}: {ends}); "
            f"{basis}{seen}."
        )
    low, high = sorted((abs(d.low), abs(d.high)))
    span = f"{level}: {percent(low, half)} to {percent(high, half)} %"
    size = f"{percent(abs(d.estimate), half)} %"
    if d.metric:
        judged = "worse" if d.worse else "better"
        body = f"The {d.metric} of {d.name} is {size} {d.answer} than that of {d.reference}, beyond layout"
        return f"{body}, which is {judged} ({span}); {basis}."
    return f"{d.name} is {size} {d.answer} than {d.reference}, beyond layout ({span}); {basis}."


def _counts(comparison: LayoutComparison) -> str:
    old, new = (len(side.layouts) for side in comparison.sides)
    return f"{old} layouts of each" if old == new else f"{old} and {new} layouts"


def by_layout(comparison: LayoutComparison) -> str:
    """Return the sentence on the effect of layout alone, and on the results of single pairs of builds."""
    if not math.isfinite(comparison.layout_sd):
        return "One round does not tell layout from noise: measure longer."
    lowest, highest = (percent(end, sign=True) for end in (comparison.pair_low, comparison.pair_high))
    pairs = f"one pair of these builds shows anything from {lowest} to {highest} %"
    if comparison.called is not None:
        many = f"{comparison.called} of the {comparison.pairs} pairs would be called different by themselves"
        pairs = f"{pairs}, and {many}"
    if comparison.layout_sd == 0:
        noise = percent(max(side.noise_sd for side in comparison.sides))
        return f"No effect of layout was seen: builds of one program differ by no more than noise (±{noise} %)."
    return f"Layout alone moves a build by ±{percent(comparison.layout_sd)} % (standard deviation): {pairs}."


def limited_by(comparison: LayoutComparison) -> str:
    """Return the sentence on the sources of the remaining uncertainty, and on ways to narrow it."""
    share = comparison.noise_share
    if not math.isfinite(share) or comparison.difference.standard_error == 0:
        return ""
    parts = f"{percent(1 - share, 0.1)} % layout and {percent(share, 0.1)} % noise"
    more = "more layouts would narrow the interval, more rounds hardly"
    if share > LITTLE:
        more = "more rounds or layouts would narrow the interval"
    few = min(len(side.layouts) for side in comparison.sides)
    why = (
        f" {few} layouts are few: with {2 * few} the interval would be about {_gain(few)} as wide." if few < FEW else ""
    )
    return f"The variance of this difference is {parts}: {more}.{why}"


def _gain(layouts: int) -> str:
    """Return the width of an interval with twice as many layouts, as a percentage of the present one."""
    from becalm.stats.student import stdtrit  # Of a few layouts only.

    now, then = (stdtrit(2.0 * (count - 1), 0.975) / math.sqrt(count) for count in (layouts, 2 * layouts))
    return f"{100 * then / now:.0f} %"


def gate(comparison: LayoutComparison) -> str:
    """Return the sentence on the result of `--fail-above`."""
    bound = f"{percent(comparison.fail_above or 0.0)} %"
    d = comparison.difference
    what = f"{d.metric} is not worse by more than" if d.metric else "no slowdown above"
    if comparison.gate is Gate.WITHIN:
        return f"Within the limit: {what} {bound}."
    if comparison.gate is Gate.ABOVE:
        than = f"has a worse {d.metric} than" if d.metric else "is slower than"
        return f"Over the limit: {d.name} {than} {d.reference} by more than {bound}."
    more = "Measure longer, or with more layouts."
    if comparison.layouts_needed is not None:
        more = f"If it is as it looks, --layouts {comparison.layouts_needed} would decide."
    counts = (
        "This counts as a failure; --undecided pass accepts it."
        if comparison.undecided == "fail"
        else "It is accepted (--undecided pass)."
    )
    harm = f"a change of {d.metric} for the worse" if d.metric else "a slowdown"
    return f"Undecided: {harm} above {bound} is neither shown nor ruled out. {more} {counts}"


def typical(comparison: LayoutComparison, value: float) -> str:
    """Return a typical time, or a value of the metric."""
    return duration(value) if comparison.metric is None else quantity(value, comparison.metric.unit)


def head(comparison: LayoutComparison) -> tuple[str, ...]:
    """Return the heads of the table of programs."""
    return ("program", "layouts", "mean", "layout (sd)", "noise (sd)", *_ends(comparison))


def _ends(comparison: LayoutComparison) -> tuple[str, str]:
    return ("fastest", "slowest") if comparison.metric is None else ("best", "worst")


def rows(comparison: LayoutComparison) -> tuple[tuple[str, ...], ...]:
    """Return a row of figures for each program."""
    return tuple(_row(comparison, side) for side in comparison.sides)


def _row(comparison: LayoutComparison, side: LayoutSide) -> tuple[str, ...]:
    values = sorted(layout.typical for layout in side.layouts)
    if comparison.metric is not None and comparison.metric.higher:
        values.reverse()
    shown = [typical(comparison, value) for value in (side.typical, values[0], values[-1])]
    spreads = [f"{percent(spread)} %" if math.isfinite(spread) else "?" for spread in (side.layout_sd, side.noise_sd)]
    return side.name, str(len(side.layouts)), shown[0], *spreads, *shown[1:]


def layout_rows(comparison: LayoutComparison) -> tuple[tuple[str, ...], ...]:
    """Return a row of figures for each build."""
    return tuple(
        (
            side.name,
            str(layout.seed),
            typical(comparison, layout.typical),
            f"{percent(layout.difference, layout.error if layout.error > 0 else None, sign=True)} %",
            f"{percent(layout.error)} %" if math.isfinite(layout.error) else "?",
        )
        for side in comparison.sides
        for layout in side.layouts
    )


def legend(comparison: LayoutComparison) -> str:
    """Return the explanation of the numbers in the table."""
    best, worst = _ends(comparison)
    return (
        f"Mean over the layouts. layout: standard deviation from build to build without noise; noise: that of the mean "
        f"of one build. {best}, {worst}: typical values of single builds."
    )


def building(sides: Sequence[str], layouts: int) -> str:
    """Return the sentence that is printed before the builds begin."""
    return f"Building {sides[0]} and {sides[1]}, each in {counted(layouts, 'layout')}."


def no_seed(side: str, build: str) -> str:
    """Return the error for a build that does not depend on the layout."""
    return (
        f"The build of {side}, {build!r}, has no {{seed}}, so all layouts would be the same. Write it where the linker "
        "takes a seed, for example '-Wl,--shuffle-sections=.text.*={seed}'"
    )


def no_place(side: str, command: str) -> str:
    """Return the error for a program that is the same in all layouts."""
    return (
        f"The command of {side}, {command!r}, has neither {{build}} nor {{seed}}, so all layouts would run the same "
        "program. Write {build}/ before its name, and have the build put it there."
    )


def no_directory(side: str, build: str) -> str:
    """Return the error for a build that does not name the directory of its program."""
    return (
        f"The command of {side} is in {{build}}, and its build, {build!r}, does not name {{build}}. Write it in, for "
        "example: make SEED={seed} OUT={build}"
    )


def not_started(side: str, argv: Sequence[str], reason: str) -> str:
    """Return the error for a build that cannot be started."""
    return f"The build of {side} cannot be started: {argv[0]!r}: {reason}. It is run without a shell; --shell uses one."


def failed(side: str, seed: int, argv: Sequence[str], reason: str) -> str:
    """Return the error for a build that failed."""
    return f"{side} cannot be built with seed {seed}: {reason.rstrip('.')}. The build was: {shlex.join(argv)}"


def nothing_built(side: str, seed: int, argv: Sequence[str]) -> str:
    """Return the error for a build that wrote no program."""
    return (
        f"The build of {side} with seed {seed} ended well, but {shlex.join(argv)!r} contains no file of that build. "
        "Have the "
        "build put the program there."
    )


def all_equal(side: str, layouts: int) -> str:
    """Return the error for a seed that has no effect."""
    return (
        f"All {layouts} builds of {side} are the same file: {{seed}} has no effect. A linker shuffles functions only "
        "if they were compiled with -ffunction-sections."
    )
