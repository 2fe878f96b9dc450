"""The tables of an explanation as text in cells, the same for the terminal, Markdown and HTML."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from becalm.load.delay import PARALLEL_CPU, Delay
from becalm.load.explanation import Bottleneck, Case, Explanation
from becalm.load.metrics import find
from becalm.load.waterfall import REFERENCE
from becalm.report.table import Table
from becalm.report.watch.numbers import number
from becalm.wording.explain import TITLES, interval, shape, share
from becalm.wording.numbers import duration

SUMMARY = "Bottlenecks"
DELAYS = "Delay factor"
ALONGSIDE = "What the machine did meanwhile"
BARS = "Where the time of the mean run went"


def summary(explanation: Explanation) -> Table:
    """Return the table of programs by machines; each cell names the bar with most of the delay."""
    programs = list(dict.fromkeys(case.program for case in explanation.cases))
    machines = list(dict.fromkeys(case.machine for case in explanation.cases))
    cells = {(bottleneck.program, bottleneck.machine): bottleneck for bottleneck in explanation.bottlenecks}
    across: list[str | None] = [*machines, *([None] if len(machines) > 1 else [])]
    down: list[str | None] = [*programs, *([None] if len(programs) > 1 else [])]
    rows = []
    for program in down:
        row = [program or "all programs"]
        for machine in across:
            cell = cells.get((program, machine))
            row.append("" if cell is None else _cell(cell))
        rows.append(tuple(row))
    note = (
        "The part that most of the delay is in, with its share of the time beyond the reference; the mean delay "
        "factor; the cause that was named, if one was; n runs. Over several, each has the same weight."
    )
    return Table(SUMMARY, ("", *(m or "all machines" for m in across)), tuple(rows), (), note)


def _cell(bottleneck: Bottleneck) -> str:
    text = f"×{bottleneck.delay:.2f}"
    if bottleneck.bar is not None:
        text = f"{bottleneck.bar} {share(bottleneck.share or 0.0)}, {text}"
    cause = "" if bottleneck.cause is None else f", cause: {bottleneck.cause}"
    return f"{text}{cause}, n = {bottleneck.runs:,}"


def importance(case: Case) -> Table:
    """Return the table of the share that each cause explains, with its interval."""
    a = case.attribution
    rows = tuple(
        (
            row.cause,
            share(row.share),
            interval(row),
            share(row.leads),
            f"{row.inflation:.1f}",
            "?" if row.carried is None else share(max(0.0, row.carried)),
        )
        for row in a.shares
    )
    note = (
        "Share: of the differences between runs, by Shapley's value of R² (LMG), load taken as never helping. Leads: "
        "in how many of 1,000 resamples it has the largest share. Inflation: from 5 on it cannot be distinguished "
        "from others. "
        "Counted: share of the variation that lies in the waits where this cause shows, which does not rest on "
        "correlation."
    )
    head = ("cause", "share", "95 %", "leads", "inflation", "counted")
    return Table("What explains the differences", head, rows, (1, 2, 3, 4, 5), note)


def shapes(case: Case) -> Table:
    """Return the table of the shape of the delay over each measure that varied."""
    a = case.attribution
    coefficients = {name: value for row in a.shares for name, value in row.coefficients.items()}
    rows = tuple(
        (
            TITLES[name],
            shape(name, response),
            f"{coefficients.get(name, 0.0):.3g}",
            f"{response.theil_sen:.3g} ({_between(response.low, response.high)})",
            f"{response.rho:+.2f}",
        )
        for name, response in (a.shapes or {}).items()
    )
    left = ""
    if a.still:
        left += f" Hardly varied: {', '.join(TITLES[name] for name in a.still)}."
    if a.missing:
        left += f" Not known: {', '.join(TITLES[name] for name in a.missing)}."
    note = (
        "Delay per unit, of what the measures of other causes leave unexplained. The run queue counts what Mund "
        "(1996) expects, "
        f"max(1, r/n) - 1: a fit of 1 is as expected. Theil-Sen's slope with 95 %; Spearman's correlation.{left}"
    )
    return Table("Shapes", ("measure", "shape", "fit", "slope", "correlation"), rows, (2, 3, 4), note)


def _between(low: float, high: float) -> str:
    """Return an interval as text; an end without bound, for too few different loads, is left out."""
    if math.isinf(low) and math.isinf(high):
        return "interval not known"
    if math.isinf(low) or math.isinf(high):
        return f"at most {high:.3g}" if math.isinf(low) else f"at least {low:.3g}"
    return f"{low:.3g} to {high:.3g}"


def bars(case: Case) -> Table:
    """Return the table of the waterfall of the mean run."""
    wall = sum(bar.ns or 0.0 for bar in case.bars)
    rows = []
    for bar in case.bars:
        name = f"{bar.name} ({case.reference})" if bar.name == REFERENCE else bar.name
        parts = "; ".join(f"of which {part.name} {duration(part.ns)}" for part in bar.parts)
        if bar.ns is None:
            rows.append((name, "unknown", "", bar.note))
            continue
        ends = "" if bar.high is None else f"at most {duration(bar.high)}"
        kind = "" if bar.exact else "estimated"
        rows.append((name, duration(bar.ns), share(bar.ns / wall), ", ".join(p for p in (kind, ends, parts) if p)))
    return Table(BARS, ("", "time", "share", ""), tuple(rows), (1, 2), case.refused)


def delays(case: Case) -> Table:
    """Return the table of observed and expected delays, with the assumptions of the expectation that failed."""
    late = [point.delay for point in case.points]
    ends = [delay.shared for delay in late if delay.shared is not None]
    rows = [_spread("observed", [delay.factor for delay in late])]
    rows += [
        _spread("expected of the run queue, max(1, r/n)", [delay.mund for delay in late if delay.mund is not None]),
        _spread("with fair shares of groups, at least", [low for low, _ in ends]),
        _spread("with fair shares of groups, at most", [high for _, high in ends]),
        _spread(_counting(late), [delay.exact for delay in late if delay.exact is not None]),
    ]
    failed = Counter(re.sub(r"\d+(\.\d+)?", "…", assumption) for delay in late for assumption in delay.failed)
    note = " ".join(
        f"In {count:,} of {len(late):,}: {assumption}"
        for assumption, count in failed.most_common(2)
        if "…" not in assumption
    )
    return Table(DELAYS, ("", "mean", "least", "most"), tuple(r for r in rows if r), (1, 2, 3), note)


def _counting(late: Sequence[Delay]) -> str:
    """Return how the wait for a CPU was counted; with several tasks it includes their waits for each other."""
    parallel = any(delay.reference == PARALLEL_CPU for delay in late)
    return "estimated, 1 + wait for others / CPU time" if parallel else "counted, 1 + wait / CPU time"


def _spread(name: str, values: Sequence[float]) -> tuple[str, ...]:
    if not values:
        return ()
    return (name, f"{sum(values) / len(values):.2f}", f"{min(values):.2f}", f"{max(values):.2f}")


def machine_load(case: Case) -> Table:
    """Return the table of the load of the whole machine during the runs; unknown measures are left out."""
    rows = []
    for row in case.load:
        measure = find(row.name)
        if not measure.minor or row.most:
            cells = (number(value, measure.unit) for value in (row.mean, row.least, row.most))
            rows.append((measure.label, *cells))
    note = (
        "Figures are of the whole machine, including the program. Packets × MTU: network traffic as Mund (1996) "
        "computes it, for comparison; bytes are counted."
    )
    return Table(ALONGSIDE, ("", "mean", "least", "most"), tuple(rows), (1, 2, 3), note)


def of(case: Case) -> tuple[Table, ...]:
    """Return all tables of a case; some may be without rows."""
    return delays(case), bars(case), importance(case), shapes(case), machine_load(case)


def studies(explanation: Explanation) -> str:
    """Return the line with the studies that the explanation uses."""
    if len(explanation.studies) == 1:
        return f"Study {explanation.studies[0]}."
    if len(explanation.studies) > 8:
        return f"{len(explanation.studies)} studies, {explanation.studies[0]} to {explanation.studies[-1]}."
    return f"Studies {', '.join(map(str, explanation.studies))}."


def every(explanation: Explanation) -> Iterator[tuple[Case | None, Table]]:
    """Yield all tables with rows, the summary first."""
    if len(explanation.cases) > 1:
        yield None, summary(explanation)
    for case in explanation.cases:
        for table in of(case):
            if table.rows:
                yield case, table
