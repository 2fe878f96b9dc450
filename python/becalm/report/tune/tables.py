"""The tables of a tune study as text in cells, the same for the terminal, Markdown and HTML."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from becalm.analysis import attribution
from becalm.nouns.design_fit import DesignFit
from becalm.nouns.domain import Value
from becalm.nouns.factor import Factor
from becalm.nouns.knob import known
from becalm.nouns.objective import find
from becalm.nouns.tune_verdict import AblationEffect, Arm, ArmComparison, Trial, TuneVerdict
from becalm.nouns.tuned_arm import AND, BASELINE, TUNED, WITHOUT
from becalm.report.design import tables as surface
from becalm.report.table import Table
from becalm.report.tune import response, scaling, sweep_table, time_tables
from becalm.wording import tune as sentences
from becalm.wording.measurement import counted, duration, spent
from becalm.wording.metric import quantity
from becalm.wording.tune import TIMED, change, ends, factor, share, value_text

NAMES = {BASELINE: "no settings", TUNED: "chosen settings"}
"""The names of arms in tables, where they differ from their own."""

KNOBS = "What each setting does"
"""Title of the table that the terminal draws a picture below."""

TESTS = "Tests"
"""Title of the table of textbook tests."""

MOST_SETTINGS = 2
"""The number of settings of other places that have columns; more stand below each other, so that 80 columns do."""


def arm_name(arm: str) -> str:
    """Return the name of an arm in a table or picture."""
    return NAMES.get(arm, arm)


def shown(found: TuneVerdict, program: str) -> tuple[Arm, ...]:
    """Return the arms of one program that are compared, baseline and recommended first, those "without" a knob left
    out."""
    first = [BASELINE, *(each.arm for each in sentences.headline(found)), TUNED]
    mine = [arm for arm in found.arms if arm.program == program and arm.runs]
    ranked = sorted(mine, key=lambda arm: first.index(arm.name) if arm.name in first else len(first))
    return tuple(arm for arm in ranked if arm.name in first or not arm.name.startswith(WITHOUT))


def against(found: TuneVerdict, arm: Arm) -> ArmComparison | None:
    """Return the comparison of an arm with the baseline."""
    return next((s for s in found.comparisons if s.arm == arm.name and s.program == arm.program), None)


def timed(found: TuneVerdict) -> bool:
    """Return whether times were minimised, and not spreads."""
    return found.objective == TIMED


def _apart(found: TuneVerdict, program: str) -> str:
    """Return the note on arms measured after the others: their reduction is not that of the spreads in the table."""
    good = [arm for arm in shown(found, program) if not arm.failed]
    loops = {arm.name: each.loops for arm in good if (each := against(found, arm)) is not None}
    apart = {name: number for name, number in loops.items() if number != next(iter(loops.values()))}
    if not apart:
        return ""
    names, their = " and ".join(arm_name(name) for name in apart), "its" if len(apart) == 1 else "their"
    measured = f"in {counted(max(apart.values()), 'loop')} of {their} own, beside the baseline once more"
    return f" {names}: {measured}, which {their} reduction refers to."


def compared(found: TuneVerdict, program: str) -> Table:
    """Return the table of spread and mean time of every arm."""
    if timed(found):
        arms = [(arm_name(arm.name), arm, against(found, arm)) for arm in shown(found, program)]
        return time_tables.compared(found, arms)
    level = f"{100 * found.confidence:g} %"
    rows = []
    for arm in shown(found, program):
        cells = [arm_name(arm.name), share(arm.spread.value), share(arm.overall)]
        each = against(found, arm)
        if each is None:
            cells += ["", "", duration(arm.mean_ns.value), ""]
        else:
            cells += [factor(each.ratio), ends(each.ratio), duration(arm.mean_ns.value), change(each.shift)]
        rows.append(tuple(cells))
    note = (
        f"Spread: {find(found.objective).definition} consecutive runs, in a typical loop. All runs: the same of all "
        "runs of the measurement together, drift included. Reduction: spread without settings over spread with them, "
        f"with its {level} interval. Every figure is from fresh runs, none from the search.{_apart(found, program)}"
    )
    head: tuple[str, ...] = ("", "spread", "all runs", "reduction", level, "mean time", "change")
    if found.metric is not None:
        head = (*head, found.metric.name)
        rows = [
            (*row, "" if arm.metric is None else quantity(arm.metric.value, found.metric.unit))
            for row, arm in zip(rows, shown(found, program), strict=True)
        ]
        note = f"Spread and reduction are those of {found.metric.name}, which the program prints. {note}"
    return Table("Before and after", head, tuple(rows), tuple(range(1, len(head))), note)


def decision(each: AblationEffect, found: TuneVerdict) -> str:
    """Return the decision about a knob, in a word or two."""
    if not _kept(each, found):
        return "left out"
    return "expendable" if each.droppable else "helps" if each.ratio.low > 1 else "undecided"


def _kept(each: AblationEffect, found: TuneVerdict) -> bool:
    return not found.settings or any(knob in found.settings for knob in each.knob.split(AND))


def _cost(each: AblationEffect, found: TuneVerdict, unknown: bool) -> str:
    if each.alone is not None:
        return f"{sentences.give_or_take(each.alone)} *"
    if AND in each.knob and any(other.alone is not None for other in found.contributions):
        return sentences.give_or_take(each.cost) if attribution.costs(each) else ""
    return _no_cost(each, found, unknown) or sentences.give_or_take(each.cost)


def _no_cost(each: AblationEffect, found: TuneVerdict, unknown: bool) -> str:
    if attribution.shared(each, found.contributions):
        return "shared"
    return "not known" if unknown and each.cost.low <= 0 <= each.cost.high else ""


def no_cost(found: TuneVerdict, program: str) -> dict[str, str]:
    """Return the knobs without a measurable cost in time of their own, and why: leaving them out alone shows none, and
    that they cost nothing would be wrong."""
    unknown = attribution.unattributed_time(found.comparisons, found.contributions, program)
    mine = [each for each in found.contributions if each.program == program]
    return {each.knob: why for each in mine if (why := _no_cost(each, found, unknown))}


def knobs(found: TuneVerdict, program: str) -> Table:
    """Return the table of the effect and cost of each chosen knob."""
    if timed(found):
        mine = [each for each in found.contributions if each.program == program]
        told = [(f"{each.knob} = {level_text(each.knob, each.value)}", decision(each, found)) for each in mine]
        return time_tables.knobs(found, program, KNOBS, told)
    level = f"{100 * found.confidence:g} %"
    unknown = attribution.unattributed_time(found.comparisons, found.contributions, program)
    together = any(AND in each.knob for each in found.contributions)
    alone = any(each.alone is not None for each in found.contributions)
    rows = tuple(
        (
            f"{each.knob} = {value_text(each.value)}",
            factor(each.ratio),
            ends(each.ratio),
            _cost(each, found, unknown),
            decision(each, found),
        )
        for each in found.contributions
        if each.program == program
    )
    note = (
        "Without it: how many times as large the spread is when only this setting is left out; above 1 it helps. It is "
        f"expendable when that is below {1 + found.margin:g} for certain ({level}); undecided ones are kept. Cost: how "
        f"much longer the program takes because of it ({level}); negative: it saves time."
        + (" Shared: leaving out it alone shows no cost; the row of several has what they cost together." * together)
        + (" * with this setting and no other: together they cost less than their sum." * alone)
        + (" Not known: some of these settings do the same, and which was not found." * (unknown and not alone))
    )
    head = ("setting", "without it", level, "cost in time", "")
    return Table(KNOBS, head, rows, (1, 2, 3), note)


def p_text(value: float) -> str:
    """Return a p value as text: two digits, or an upper bound."""
    if math.isnan(value):
        return ""
    return "< 0.0001" if value < 1e-4 else f"{value:.2g}" if value < 0.095 else f"{value:.2f}"


def textbook(found: TuneVerdict, program: str) -> Table:
    """Return the table of well-known tests of all runs: one row a test, one column an arm."""
    mine = [each for each in (against(found, arm) for arm in shown(found, program)) if each is not None]

    def f(each: ArmComparison) -> str:
        return "undefined" if math.isnan(each.f) else factor(each.f) if math.isfinite(each.f) else "infinite"

    rows = (
        ("paired loops, p", *(p_text(each.p_value) for each in mine)),
        ("F", *map(f, mine)),
        ("F, degrees", *("{}, {}".format(*each.f_df) for each in mine)),
        ("F, p", *(p_text(each.f_p) for each in mine)),
        ("Levene, p", *(p_text(each.levene_p) for each in mine)),
        ("Brown-Forsythe, p", *(p_text(each.brown_forsythe_p) for each in mine)),
        ("mean: Welch, p", *(p_text(each.welch_p) for each in mine)),
        ("mean: Student, p", *(p_text(each.student_p) for each in mine)),
    )
    of = response.name(found) if timed(found) else "spread"
    note = (
        "Against the baseline. p: probability of so large a difference when there is none. Paired loops: of the "
        f"{of}, by flipping signs; holds whatever the noise. The others "
        "are the textbook tests on all runs, which take runs for independent: on a machine that drifts they see "
        "differences where none are (docs/reference/tune-report.md). F: larger variance over smaller one, of time over "
        "mean, and its degrees of freedom."
    )
    head = ("", *(arm_name(each.arm) for each in mine))
    return Table(TESTS, head, rows if mine else (), tuple(range(1, len(head))), note)


def transfer(found: TuneVerdict) -> Table:
    """Return the table of settings tried on other programs or hosts: one row each, one column for where they were
    found."""
    rows = tuple(dict.fromkeys(each.row for each in found.transfer))
    columns = tuple(dict.fromkeys(each.column for each in found.transfer))
    ratios = {(each.row, each.column): each.ratio for each in found.transfer}

    def cell(row: str, column: str) -> str:
        ratio = ratios.get((row, column))
        return "" if ratio is None else f"{factor(ratio)} ({ends(ratio)})"

    title = "On other programs or machines"
    what, worse, of = "smaller the spread", "larger", "reduction"
    if timed(found):
        what, worse, of = ("shorter a run", "longer", "times shorter")
        if found.metric is not None:
            what, worse, of = (f"better {found.metric.name}", "worse", "times better")
    level = f"{100 * found.confidence:g} %"
    note = f"How many times {what} is with the settings, with {level} interval; below 1 it is {worse}."
    if len(columns) > MOST_SETTINGS:
        listed = ((*place, factor(ratio), ends(ratio)) for place, ratio in ratios.items())
        return Table(title, ("", "settings of", of, level), tuple(listed), (2, 3), note)
    body = tuple((row, *(cell(row, column) for column in columns)) for row in rows)
    head = ("", *(f"settings of {column}" for column in columns))
    note += " A row is what was measured, a column where its settings were found."
    return Table(title, head, body, tuple(range(1, len(columns) + 1)), note)


def trials(found: TuneVerdict) -> Table:
    """Return the table of the trials of a search for the fastest settings: a column for each of them."""
    if not timed(found):
        return Table("What was tried", (), ())
    chosen = [each for each in found.trials if each.best or each.spread is None] if _many(found) else found.trials
    names = tuple(dict.fromkeys(name for each in found.trials for name in each.settings))
    rows = tuple(
        (
            f"{each.number} *" if each.best else str(each.number),
            lost(each) if each.spread is None else response.shown(found, each.spread),
            *(level_text(name, each.settings[name]) if name in each.settings else "" for name in names),
        )
        for each in chosen
    )
    some = (
        f" Of {len(found.trials)} trials those that were chosen or have no value; --json has all."
        if _many(found)
        else ""
    )
    note = f"Few runs each: noisy numbers, of which the lowest is lucky. Empty: as it was. * those chosen.{some}"
    return Table("What was tried", ("trial", response.name(found), *names), rows, tuple(range(2 + len(names))), note)


def lost(each: Trial) -> str:
    """Return the text in place of the value of a trial that has none."""
    return "failed" if each.ended_ns is None else f"ended after {duration(each.ended_ns)}"


def level_text(knob: str, value: Value) -> str:
    """Return a value in a unit that is easy to read: "146.7 ms" for 146704694 ns."""
    row = known().get(knob)
    numbers = None if row is None else row.domain.range
    if numbers is None or isinstance(value, (bool, str)) or not numbers.low <= value <= numbers.high:
        return value_text(value)
    return Factor(knob, float(numbers.low), float(numbers.high), numbers.unit).worded(value, 4)


MANY = 60
"""Trials beyond which only those are listed that were best or failed."""


def _many(found: TuneVerdict) -> bool:
    return len(found.trials) > MANY


def excluded(found: TuneVerdict) -> Table:
    """Return the table of knobs that were not tried."""
    by_reason: dict[str, list[str]] = {}
    for each in found.excluded:
        by_reason.setdefault(each.reason, []).append(each.knob)
    rows = tuple((reason, ", ".join(knobs)) for reason, knobs in by_reason.items())
    return Table("Not tried", ("because", "settings"), rows)


def facts(found: TuneVerdict) -> str:
    """Return how it was found, in one line."""
    trials = counted(len(found.trials), "trial")
    failed = "".join(f", {each}" for each in unfinished(found))
    again = f" Show again: becalm show {found.study}." if found.study is not None else ""
    which = f"Study {found.study}. " if found.study is not None else ""
    return (
        f"{which}Search: {found.method}, {trials}{failed}, {counted(found.search_runs, 'run')}; then "
        f"{counted(found.confirm_runs, 'fresh run')}, interleaved; {spent(found.elapsed_ns)} on {found.host}, "
        f"seed {found.seed}.{again}"
    )


def unfinished(found: TuneVerdict) -> list[str]:
    """Return the number of trials without a value, and why; empty where all have one."""
    slow = sum(each.ended_ns is not None for each in found.trials)
    failed = sum(each.spread is None for each in found.trials) - slow
    return [f"{count} {why}" for count, why in ((failed, "failed"), (slow, "ended early")) if count]


def every(found: TuneVerdict) -> Iterator[tuple[str, Table]]:
    """Yield all tables that have rows, each with the program it is about (empty: all)."""
    yield from terminal(found)
    yield from (("", table) for table in fitted(found, surface.every))
    if (tried := trials(found)).rows:
        yield "", tried


def scaled(found: TuneVerdict) -> Table:
    """Return the table of the scaling curve, where the programs are one."""
    made = scaling.curve(found) if timed(found) else None
    return Table("Scaling", (), ()) if made is None else scaling.table(made, f"{100 * found.confidence:g} %")


def terminal(found: TuneVerdict) -> Iterator[tuple[str, Table]]:
    """Yield the tables that do not need a page."""
    for table in (scaled(found), sweep_table.curve(found)):
        if table.rows:
            yield "", table
    for program in found.programs:
        for table in (compared(found, program), knobs(found, program), textbook(found, program)):
            if table.rows:
                yield program, table
    for table in (transfer(found), excluded(found)):
        if table.rows:
            yield "", table


def fitted(found: TuneVerdict, some: Callable[[DesignFit], Iterator[Table]]) -> Iterator[Table]:
    """Yield the tables of what was fitted to the trials of a search."""
    if found.fit is not None:
        yield from some(found.fit)
