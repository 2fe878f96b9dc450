"""The tables of a tune study as text in cells, the same for the terminal, Markdown and HTML."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from becalm.analysis import tune_attribution
from becalm.nouns.domain import Value
from becalm.nouns.factor import Factor
from becalm.nouns.knob import known
from becalm.nouns.objective import find
from becalm.report.design import tables as surface
from becalm.report.table import Table
from becalm.report.tune import response, scaling, sweep_table, time_tables
from becalm.results.design_fit import DesignFit
from becalm.results.tune import AblationEffect, Arm, ArmComparison, Trial, TuneVerdict
from becalm.results.tune_arms import AND, BASELINE, TUNED, WITHOUT
from becalm.wording import tune as sentences
from becalm.wording.compare import counted, duration, spent
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


def shown(verdict: TuneVerdict, program: str) -> tuple[Arm, ...]:
    """Return the arms of one program that are compared, baseline and recommended first, those "without" a knob left
    out."""
    first = [BASELINE, *(comparison.arm for comparison in sentences.headline(verdict)), TUNED]
    mine = [arm for arm in verdict.arms if arm.program == program and arm.runs]
    ranked = sorted(mine, key=lambda arm: first.index(arm.name) if arm.name in first else len(first))
    return tuple(arm for arm in ranked if arm.name in first or not arm.name.startswith(WITHOUT))


def against(verdict: TuneVerdict, arm: Arm) -> ArmComparison | None:
    """Return the comparison of an arm with the baseline."""
    return next((s for s in verdict.comparisons if s.arm == arm.name and s.program == arm.program), None)


def timed(verdict: TuneVerdict) -> bool:
    """Return whether times were minimised, and not spreads."""
    return verdict.objective == TIMED


def _apart(verdict: TuneVerdict, program: str) -> str:
    """Return the note on arms measured after the others: their reduction is not that of the spreads in the table."""
    good = [arm for arm in shown(verdict, program) if not arm.failed]
    loops = {arm.name: each.loops for arm in good if (each := against(verdict, arm)) is not None}
    apart = {name: number for name, number in loops.items() if number != next(iter(loops.values()))}
    if not apart:
        return ""
    names, their = " and ".join(arm_name(name) for name in apart), "its" if len(apart) == 1 else "their"
    measured = f"in {counted(max(apart.values()), 'loop')} of {their} own, beside the baseline once more"
    return f" {names}: {measured}, which {their} reduction refers to."


def compared(verdict: TuneVerdict, program: str) -> Table:
    """Return the table of spread and mean time of every arm."""
    if timed(verdict):
        arms = [(arm_name(arm.name), arm, against(verdict, arm)) for arm in shown(verdict, program)]
        return time_tables.compared(verdict, arms)
    level = f"{100 * verdict.confidence:g} %"
    rows = []
    for arm in shown(verdict, program):
        cells = [arm_name(arm.name), share(arm.spread.value), share(arm.overall)]
        each = against(verdict, arm)
        if each is None:
            cells += ["", "", duration(arm.mean_ns.value), ""]
        else:
            cells += [factor(each.ratio), ends(each.ratio), duration(arm.mean_ns.value), change(each.shift)]
        rows.append(tuple(cells))
    note = (
        f"Spread: {find(verdict.objective).definition} consecutive runs, in a typical loop. All runs: the same of all "
        "runs of the measurement together, drift included. Reduction: spread without settings over spread with them, "
        f"with its {level} interval. Every figure is from fresh runs, none from the search.{_apart(verdict, program)}"
    )
    head: tuple[str, ...] = ("", "spread", "all runs", "reduction", level, "mean time", "change")
    if verdict.metric is not None:
        head = (*head, verdict.metric.name)
        rows = [
            (*row, "" if arm.metric is None else quantity(arm.metric.value, verdict.metric.unit))
            for row, arm in zip(rows, shown(verdict, program), strict=True)
        ]
        note = f"Spread and reduction are those of {verdict.metric.name}, which the program prints. {note}"
    return Table("Before and after", head, tuple(rows), tuple(range(1, len(head))), note)


def decision(effect: AblationEffect, verdict: TuneVerdict) -> str:
    """Return the decision about a knob, in a word or two."""
    if not _kept(effect, verdict):
        return "left out"
    return "expendable" if effect.droppable else "helps" if effect.ratio.low > 1 else "undecided"


def _kept(effect: AblationEffect, verdict: TuneVerdict) -> bool:
    return not verdict.settings or any(knob in verdict.settings for knob in effect.knob.split(AND))


def _cost(effect: AblationEffect, verdict: TuneVerdict, unknown: bool) -> str:
    if effect.alone is not None:
        return f"{sentences.give_or_take(effect.alone)} *"
    if AND in effect.knob and any(other.alone is not None for other in verdict.contributions):
        return sentences.give_or_take(effect.cost) if tune_attribution.costs(effect) else ""
    return _no_cost(effect, verdict, unknown) or sentences.give_or_take(effect.cost)


def _no_cost(effect: AblationEffect, verdict: TuneVerdict, unknown: bool) -> str:
    if tune_attribution.shared(effect, verdict.contributions):
        return "shared"
    return "not known" if unknown and effect.cost.low <= 0 <= effect.cost.high else ""


def no_cost(verdict: TuneVerdict, program: str) -> dict[str, str]:
    """Return the knobs without a measurable cost in time of their own, and why: leaving them out alone shows none, and
    that they cost nothing would be wrong."""
    unknown = tune_attribution.unattributed_time(verdict.comparisons, verdict.contributions, program)
    mine = [contribution for contribution in verdict.contributions if contribution.program == program]
    return {each.knob: why for each in mine if (why := _no_cost(each, verdict, unknown))}


def knobs(verdict: TuneVerdict, program: str) -> Table:
    """Return the table of the effect and cost of each chosen knob."""
    if timed(verdict):
        mine = [contribution for contribution in verdict.contributions if contribution.program == program]
        told = [(f"{each.knob} = {level_text(each.knob, each.value)}", decision(each, verdict)) for each in mine]
        return time_tables.knobs(verdict, program, KNOBS, told)
    level = f"{100 * verdict.confidence:g} %"
    unknown = tune_attribution.unattributed_time(verdict.comparisons, verdict.contributions, program)
    together = any(AND in contribution.knob for contribution in verdict.contributions)
    alone = any(contribution.alone is not None for contribution in verdict.contributions)
    rows = tuple(
        (
            f"{contribution.knob} = {value_text(contribution.value)}",
            factor(contribution.ratio),
            ends(contribution.ratio),
            _cost(contribution, verdict, unknown),
            decision(contribution, verdict),
        )
        for contribution in verdict.contributions
        if contribution.program == program
    )
    note = (
        "Without it: how many times as large the spread is when only this setting is left out; above 1 it helps. It is "
        f"expendable when that is below {1 + verdict.margin:g} for certain ({level}); undecided ones are "
        "kept. Cost: how "
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


def textbook(verdict: TuneVerdict, program: str) -> Table:
    """Return the table of well-known tests of all runs: one row a test, one column an arm."""
    mine = [each for each in (against(verdict, arm) for arm in shown(verdict, program)) if each is not None]

    def f(comparison: ArmComparison) -> str:
        return (
            "undefined"
            if math.isnan(comparison.f)
            else factor(comparison.f)
            if math.isfinite(comparison.f)
            else "infinite"
        )

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
    of = response.name(verdict) if timed(verdict) else "spread"
    note = (
        "Against the baseline. p: probability of so large a difference when there is none. Paired loops: of the "
        f"{of}, by flipping signs; holds whatever the noise. The others "
        "are the textbook tests on all runs, which take runs for independent: on a machine that drifts they see "
        "differences where none are (docs/reference/tune-report.md). F: larger variance over smaller one, of time over "
        "mean, and its degrees of freedom."
    )
    head = ("", *(arm_name(each.arm) for each in mine))
    return Table(TESTS, head, rows if mine else (), tuple(range(1, len(head))), note)


def transfer(verdict: TuneVerdict) -> Table:
    """Return the table of settings tried on other programs or hosts: one row each, one column for where they were
    found."""
    rows = tuple(dict.fromkeys(each.row for each in verdict.transfer))
    columns = tuple(dict.fromkeys(each.column for each in verdict.transfer))
    ratios = {(each.row, each.column): each.ratio for each in verdict.transfer}

    def cell(row: str, column: str) -> str:
        ratio = ratios.get((row, column))
        return "" if ratio is None else f"{factor(ratio)} ({ends(ratio)})"

    title = "On other programs or machines"
    what, worse, of = "smaller the spread", "larger", "reduction"
    if timed(verdict):
        what, worse, of = ("shorter a run", "longer", "times shorter")
        if verdict.metric is not None:
            what, worse, of = (f"better {verdict.metric.name}", "worse", "times better")
    level = f"{100 * verdict.confidence:g} %"
    note = f"How many times {what} is with the settings, with {level} interval; below 1 it is {worse}."
    if len(columns) > MOST_SETTINGS:
        listed = ((*place, factor(ratio), ends(ratio)) for place, ratio in ratios.items())
        return Table(title, ("", "settings of", of, level), tuple(listed), (2, 3), note)
    body = tuple((row, *(cell(row, column) for column in columns)) for row in rows)
    head = ("", *(f"settings of {column}" for column in columns))
    note += " A row is what was measured, a column where its settings were found."
    return Table(title, head, body, tuple(range(1, len(columns) + 1)), note)


def trials(verdict: TuneVerdict) -> Table:
    """Return the table of the trials of a search for the fastest settings: a column for each of them."""
    if not timed(verdict):
        return Table("What was tried", (), ())
    chosen = (
        [trial for trial in verdict.trials if trial.best or trial.spread is None] if _many(verdict) else verdict.trials
    )
    names = tuple(dict.fromkeys(name for trial in verdict.trials for name in trial.settings))
    rows = tuple(
        (
            f"{each.number} *" if each.best else str(each.number),
            lost(each) if each.spread is None else response.shown(verdict, each.spread),
            *(level_text(name, each.settings[name]) if name in each.settings else "" for name in names),
        )
        for each in chosen
    )
    some = (
        f" Of {len(verdict.trials)} trials those that were chosen or have no value; --json has all."
        if _many(verdict)
        else ""
    )
    note = f"Few runs each: noisy numbers, of which the lowest is lucky. Empty: as it was. * those chosen.{some}"
    return Table("What was tried", ("trial", response.name(verdict), *names), rows, tuple(range(2 + len(names))), note)


def lost(trial: Trial) -> str:
    """Return the text in place of the value of a trial that has none."""
    return "failed" if trial.ended_ns is None else f"ended after {duration(trial.ended_ns)}"


def level_text(knob: str, value: Value) -> str:
    """Return a value in a unit that is easy to read: "146.7 ms" for 146704694 ns."""
    row = known().get(knob)
    numbers = None if row is None else row.domain.range
    if numbers is None or isinstance(value, (bool, str)) or not numbers.low <= value <= numbers.high:
        return value_text(value)
    return Factor(knob, float(numbers.low), float(numbers.high), numbers.unit).worded(value, 4)


MANY = 60
"""Trials beyond which only those are listed that were best or failed."""


def _many(verdict: TuneVerdict) -> bool:
    return len(verdict.trials) > MANY


def excluded(verdict: TuneVerdict) -> Table:
    """Return the table of knobs that were not tried."""
    by_reason: dict[str, list[str]] = {}
    for each in verdict.excluded:
        by_reason.setdefault(each.reason, []).append(each.knob)
    rows = tuple((reason, ", ".join(knobs)) for reason, knobs in by_reason.items())
    return Table("Not tried", ("because", "settings"), rows)


def facts(verdict: TuneVerdict) -> str:
    """Return how it was found, in one line."""
    trials = counted(len(verdict.trials), "trial")
    failed = "".join(f", {each}" for each in unfinished(verdict))
    again = f" Show again: becalm show {verdict.study}." if verdict.study is not None else ""
    which = f"Study {verdict.study}. " if verdict.study is not None else ""
    return (
        f"{which}Search: {verdict.method}, {trials}{failed}, {counted(verdict.search_runs, 'run')}; then "
        f"{counted(verdict.confirm_runs, 'fresh run')}, interleaved; {spent(verdict.elapsed_ns)} on {verdict.host}, "
        f"seed {verdict.seed}.{again}"
    )


def unfinished(verdict: TuneVerdict) -> list[str]:
    """Return the number of trials without a value, and why; empty where all have one."""
    slow = sum(trial.ended_ns is not None for trial in verdict.trials)
    failed = sum(trial.spread is None for trial in verdict.trials) - slow
    return [f"{count} {why}" for count, why in ((failed, "failed"), (slow, "ended early")) if count]


def every(verdict: TuneVerdict) -> Iterator[tuple[str, Table]]:
    """Yield all tables that have rows, each with the program it is about (empty: all)."""
    yield from terminal(verdict)
    yield from (("", table) for table in fitted(verdict, surface.every))
    if (tried := trials(verdict)).rows:
        yield "", tried


def scaled(verdict: TuneVerdict) -> Table:
    """Return the table of the scaling curve, where the programs are one."""
    made = scaling.curve(verdict) if timed(verdict) else None
    return Table("Scaling", (), ()) if made is None else scaling.table(made, f"{100 * verdict.confidence:g} %")


def terminal(verdict: TuneVerdict) -> Iterator[tuple[str, Table]]:
    """Yield the tables that do not need a page."""
    for table in (scaled(verdict), sweep_table.curve(verdict)):
        if table.rows:
            yield "", table
    for program in verdict.programs:
        for table in (compared(verdict, program), knobs(verdict, program), textbook(verdict, program)):
            if table.rows:
                yield program, table
    for table in (transfer(verdict), excluded(verdict)):
        if table.rows:
            yield "", table


def fitted(verdict: TuneVerdict, some: Callable[[DesignFit], Iterator[Table]]) -> Iterator[Table]:
    """Yield the tables of what was fitted to the trials of a search."""
    if verdict.fit is not None:
        yield from some(verdict.fit)
