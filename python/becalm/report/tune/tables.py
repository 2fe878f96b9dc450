"""The tables of a tune study as text in cells, the same for the terminal, Markdown and HTML."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from becalm.analysis import tune_attribution
from becalm.nouns.domain import Value
from becalm.nouns.factor import Factor
from becalm.nouns.knob import knobs_by_name
from becalm.nouns.objective import find
from becalm.report.design import tables as surface
from becalm.report.table import Table
from becalm.report.tune import response, scaling, sweep_table, time_tables
from becalm.results.design_fit import DesignFit
from becalm.results.tune import AblationEffect, Arm, ArmComparison, Trial, TuneVerdict
from becalm.results.tune_arms import AND, BASELINE, TUNED, WITHOUT
from becalm.wording import tune as sentences
from becalm.wording.metric import quantity
from becalm.wording.numbers import counted, duration, spent
from becalm.wording.tune import TIMED, change, ends, factor, share, value_text

NAMES = {BASELINE: "no settings", TUNED: "chosen settings"}
"""The names of arms in tables, where they differ from the arms' own names."""

KNOBS = "Effect of each setting"
"""The title of the table below which the terminal draws a plot."""

TESTS = "Tests"
"""The title of the table of textbook tests."""

MOST_SETTINGS = 2
"""The number of settings of other programs or hosts that get columns; more get rows, to fit into 80 columns."""


def arm_name(arm: str) -> str:
    """Return the name of an arm in a table or plot."""
    return NAMES.get(arm, arm)


def shown(verdict: TuneVerdict, program: str) -> tuple[Arm, ...]:
    """Return the arms of one program that are compared, baseline and recommended ones first; arms that leave out a
    knob are omitted."""
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
    """Return the note on arms that were measured after the others, so that their reduction has another baseline."""
    good = [arm for arm in shown(verdict, program) if not arm.failed]
    loops = {arm.name: comparison.loops for arm in good if (comparison := against(verdict, arm)) is not None}
    apart = {name: number for name, number in loops.items() if number != next(iter(loops.values()))}
    if not apart:
        return ""
    names, their = " and ".join(arm_name(name) for name in apart), "its" if len(apart) == 1 else "their"
    measured = f"in {counted(max(apart.values()), 'loop')} of {their} own, next to the baseline once more"
    return f" {names}: {measured}, which {their} reduction refers to."


def arm_table(verdict: TuneVerdict, program: str) -> Table:
    """Return the table of spread and mean time of every arm."""
    if timed(verdict):
        arms = [(arm_name(arm.name), arm, against(verdict, arm)) for arm in shown(verdict, program)]
        return time_tables.arm_table(verdict, arms)
    level = f"{100 * verdict.confidence:g} %"
    rows = []
    for arm in shown(verdict, program):
        cells = [arm_name(arm.name), share(arm.spread.value), share(arm.overall)]
        comparison = against(verdict, arm)
        if comparison is None:
            cells += ["", "", duration(arm.mean_ns.value), ""]
        else:
            cells += [
                factor(comparison.ratio),
                ends(comparison.ratio),
                duration(arm.mean_ns.value),
                change(comparison.shift),
            ]
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
    """Return the decision about a knob in a word or two."""
    if not _recommended(effect, verdict):
        return "left out"
    return "expendable" if effect.droppable else "helps" if effect.ratio.low > 1 else "undecided"


def _recommended(effect: AblationEffect, verdict: TuneVerdict) -> bool:
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
    """Return the knobs whose cost in time cannot be measured, with the reason: leaving out one of them shows no cost,
    but to state that it costs nothing would be wrong."""
    unknown = tune_attribution.unattributed_time(verdict.comparisons, verdict.contributions, program)
    mine = [contribution for contribution in verdict.contributions if contribution.program == program]
    return {contribution.knob: why for contribution in mine if (why := _no_cost(contribution, verdict, unknown))}


def knobs(verdict: TuneVerdict, program: str) -> Table:
    """Return the table of the effect and the cost of each chosen knob."""
    if timed(verdict):
        mine = [contribution for contribution in verdict.contributions if contribution.program == program]
        names = [
            (
                f"{contribution.knob} = {level_text(contribution.knob, contribution.value)}",
                decision(contribution, verdict),
            )
            for contribution in mine
        ]
        return time_tables.knobs(verdict, program, KNOBS, names)
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
        f"expendable when that is below {1 + verdict.margin:g} for certain ({level}); undecided ones "
        "stay. Cost: how "
        f"much longer the program takes because of it ({level}); negative: it saves time."
        + (
            " Shared: leaving out only this one shows no cost; the row of several has what they cost together."
            * together
        )
        + (" * with this setting and no other: together they cost less than their sum." * alone)
        + (" Not known: some of these settings do the same, and which was not found." * (unknown and not alone))
    )
    head = ("setting", "without it", level, "cost in time", "")
    return Table(KNOBS, head, rows, (1, 2, 3), note)


def p_text(value: float) -> str:
    """Return a p value with two digits, or an upper bound."""
    if math.isnan(value):
        return ""
    return "< 0.0001" if value < 1e-4 else f"{value:.2g}" if value < 0.095 else f"{value:.2f}"


def textbook(verdict: TuneVerdict, program: str) -> Table:
    """Return the table of well-known tests of all runs: one row per test, one column per arm."""
    candidates = (against(verdict, arm) for arm in shown(verdict, program))
    comparisons = [comparison for comparison in candidates if comparison is not None]

    def f(comparison: ArmComparison) -> str:
        return (
            "undefined"
            if math.isnan(comparison.f)
            else factor(comparison.f)
            if math.isfinite(comparison.f)
            else "infinite"
        )

    rows = (
        ("paired loops, p", *(p_text(comparison.p_value) for comparison in comparisons)),
        ("F", *map(f, comparisons)),
        ("F, degrees", *("{}, {}".format(*comparison.f_df) for comparison in comparisons)),
        ("F, p", *(p_text(comparison.f_p) for comparison in comparisons)),
        ("Levene, p", *(p_text(comparison.levene_p) for comparison in comparisons)),
        ("Brown-Forsythe, p", *(p_text(comparison.brown_forsythe_p) for comparison in comparisons)),
        ("mean: Welch, p", *(p_text(comparison.welch_p) for comparison in comparisons)),
        ("mean: Student, p", *(p_text(comparison.student_p) for comparison in comparisons)),
    )
    of = response.name(verdict) if timed(verdict) else "spread"
    note = (
        "Against the baseline. p: probability of so large a difference when there is none. Paired loops: of the "
        f"{of}, by flipping signs; valid for any noise. The others "
        "are the textbook tests on all runs, which assume independent runs: on a machine that drifts they see "
        "differences where there are none (docs/reference/tune-report.md). F: larger variance over smaller one, of "
        "time over mean, and its degrees of freedom."
    )
    head = ("", *(arm_name(comparison.arm) for comparison in comparisons))
    return Table(TESTS, head, rows if comparisons else (), tuple(range(1, len(head))), note)


def transfer(verdict: TuneVerdict) -> Table:
    """Return the table of settings tried on other programs or hosts, with a row for each of these, and a column for
    where the settings were found."""
    rows = tuple(dict.fromkeys(entry.row for entry in verdict.transfer))
    columns = tuple(dict.fromkeys(entry.column for entry in verdict.transfer))
    ratios = {(entry.row, entry.column): entry.ratio for entry in verdict.transfer}

    def cell(row: str, column: str) -> str:
        ratio = ratios.get((row, column))
        return "" if ratio is None else f"{factor(ratio)} ({ends(ratio)})"

    title = "On other programs or machines"
    better, worse, of = "smaller the spread", "larger", "reduction"
    if timed(verdict):
        better, worse, of = ("shorter a run", "longer", "times shorter")
        if verdict.metric is not None:
            better, worse, of = (f"better {verdict.metric.name}", "worse", "times better")
    level = f"{100 * verdict.confidence:g} %"
    note = f"How many times {better} is with the settings, with {level} interval; below 1 it is {worse}."
    if len(columns) > MOST_SETTINGS:
        listed = ((*place, factor(ratio), ends(ratio)) for place, ratio in ratios.items())
        return Table(title, ("", "settings of", of, level), tuple(listed), (2, 3), note)
    body = tuple((row, *(cell(row, column) for column in columns)) for row in rows)
    head = ("", *(f"settings of {column}" for column in columns))
    note += " Rows: what was measured; columns: where the settings were found."
    return Table(title, head, body, tuple(range(1, len(columns) + 1)), note)


def trials(verdict: TuneVerdict) -> Table:
    """Return the table of the trials of a search for the fastest settings, with a column for each setting."""
    if not timed(verdict):
        return Table("Trials", (), ())
    chosen = (
        [trial for trial in verdict.trials if trial.best or trial.spread is None] if _many(verdict) else verdict.trials
    )
    names = tuple(dict.fromkeys(name for trial in verdict.trials for name in trial.settings))
    rows = tuple(
        (
            f"{trial.number} *" if trial.best else str(trial.number),
            lost(trial) if trial.spread is None else response.shown(verdict, trial.spread),
            *(level_text(name, trial.settings[name]) if name in trial.settings else "" for name in names),
        )
        for trial in chosen
    )
    some = (
        f" Shown are those of {len(verdict.trials)} trials that were chosen or have no value; --json has all."
        if _many(verdict)
        else ""
    )
    note = f"Few runs each, so the numbers are noisy and the lowest is lucky. Empty: unchanged. *: chosen.{some}"
    return Table("Trials", ("trial", response.name(verdict), *names), rows, tuple(range(2 + len(names))), note)


def lost(trial: Trial) -> str:
    """Return the text in place of the value of a failed trial."""
    return "failed" if trial.ended_ns is None else f"ended after {duration(trial.ended_ns)}"


def level_text(knob: str, value: Value) -> str:
    """Return a value in a unit that is easy to read, such as "146.7 ms" for 146704694 ns."""
    row = knobs_by_name().get(knob)
    numbers = None if row is None else row.domain.range
    if numbers is None or isinstance(value, (bool, str)) or not numbers.low <= value <= numbers.high:
        return value_text(value)
    return Factor(knob, float(numbers.low), float(numbers.high), numbers.unit).worded(value, 4)


MANY = 60
"""The number of trials above which only the best and the failed ones are listed."""


def _many(verdict: TuneVerdict) -> bool:
    return len(verdict.trials) > MANY


def excluded(verdict: TuneVerdict) -> Table:
    """Return the table of knobs that were not tried."""
    by_reason: dict[str, list[str]] = {}
    for knob in verdict.excluded:
        by_reason.setdefault(knob.reason, []).append(knob.knob)
    rows = tuple((reason, ", ".join(knobs)) for reason, knobs in by_reason.items())
    return Table("Not tried", ("because", "settings"), rows)


def facts(verdict: TuneVerdict) -> str:
    """Return a line on how the settings were found."""
    trials = counted(len(verdict.trials), "trial")
    failed = "".join(f", {count}" for count in unfinished(verdict))
    again = f" Show again: becalm show {verdict.study}." if verdict.study is not None else ""
    which = f"Study {verdict.study}. " if verdict.study is not None else ""
    return (
        f"{which}Search: {verdict.method}, {trials}{failed}, {counted(verdict.search_runs, 'run')}; then "
        f"{counted(verdict.confirm_runs, 'fresh run')}, interleaved; {spent(verdict.elapsed_ns)} on {verdict.host}, "
        f"seed {verdict.seed}.{again}"
    )


def unfinished(verdict: TuneVerdict) -> list[str]:
    """Return the number of trials without a value by reason; empty where all have one."""
    slow = sum(trial.ended_ns is not None for trial in verdict.trials)
    failed = sum(trial.spread is None for trial in verdict.trials) - slow
    return [f"{count} {why}" for count, why in ((failed, "failed"), (slow, "ended early")) if count]


def every(verdict: TuneVerdict) -> Iterator[tuple[str, Table]]:
    """Yield all tables that have rows, each with its program (empty for all of them)."""
    yield from terminal(verdict)
    yield from (("", table) for table in fitted(verdict, surface.every))
    if (tried := trials(verdict)).rows:
        yield "", tried


def scaled(verdict: TuneVerdict) -> Table:
    """Return the table of the scaling curve, where the programs form one."""
    curve = scaling.curve(verdict) if timed(verdict) else None
    return Table("Scaling", (), ()) if curve is None else scaling.table(curve, f"{100 * verdict.confidence:g} %")


def terminal(verdict: TuneVerdict) -> Iterator[tuple[str, Table]]:
    """Yield the tables that the terminal shows, each with its program."""
    for table in (scaled(verdict), sweep_table.curve(verdict)):
        if table.rows:
            yield "", table
    for program in verdict.programs:
        for table in (arm_table(verdict, program), knobs(verdict, program), textbook(verdict, program)):
            if table.rows:
                yield program, table
    for table in (transfer(verdict), excluded(verdict)):
        if table.rows:
            yield "", table


def fitted(verdict: TuneVerdict, some: Callable[[DesignFit], Iterator[Table]]) -> Iterator[Table]:
    """Yield the tables of the surface fitted to the trials of a search."""
    if verdict.fit is not None:
        yield from some(verdict.fit)
