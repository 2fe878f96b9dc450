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
from becalm.wording.compare import duration
from becalm.wording.explain import TITLES, interval, shape, share

SUMMARY = "Bottlenecks"
DELAYS = "Delay factor"
BESIDE = "What the machine did meanwhile"
BARS = "Where the time of the mean run went"


def summary(explanation: Explanation) -> Table:
    """Return the two-way table: programs down, machines across; in each cell the bar with most of the delay."""
    programs = list(dict.fromkeys(case.program for case in explanation.cases))
    machines = list(dict.fromkeys(case.machine for case in explanation.cases))
    cells = {(bottleneck.program, bottleneck.machine): bottleneck for bottleneck in explanation.bottlenecks}
    across: list[str | None] = [*machines, *([None] if len(machines) > 1 else [])]
    down: list[str | None] = [*programs, *([None] if len(programs) > 1 else [])]
    rows = []
    for program in down:
        row = [program or "all programs"]
        for machine in across:
            each = cells.get((program, machine))
            row.append("" if each is None else _cell(each))
        rows.append(tuple(row))
    note = (
        "What most of the delay is in, with its share of all that came on top of the reference; the mean delay factor; "
        "the cause that was named, if one was; n runs. Over several, each has the same weight."
    )
    return Table(SUMMARY, ("", *(m or "all machines" for m in across)), tuple(rows), (), note)


def _cell(bottleneck: Bottleneck) -> str:
    said = f"×{bottleneck.delay:.2f}"
    if bottleneck.bar is not None:
        said = f"{bottleneck.bar} {share(bottleneck.share or 0.0)}, {said}"
    cause = "" if bottleneck.cause is None else f", cause: {bottleneck.cause}"
    return f"{said}{cause}, n = {bottleneck.runs:,}"


def importance(case: Case) -> Table:
    """Return the table of how much each cause explains, with its interval."""
    a = case.attribution
    rows = tuple(
        (
            each.cause,
            share(each.share),
            interval(each),
            share(each.leads),
            f"{each.inflation:.1f}",
            "?" if each.carried is None else share(max(0.0, each.carried)),
        )
        for each in a.shares
    )
    note = (
        "Share: of the differences between runs, by Shapley's value of R² (LMG), load taken as never helping. Leads: "
        "in how many of 1,000 resamples it has the largest share. Inflation: from 5 on it cannot be told from others. "
        "Counted: share of the variation that lies in the waits where this cause shows, which knows of no correlation."
    )
    head = ("cause", "share", "95 %", "leads", "inflation", "counted")
    return Table("What explains the differences", head, rows, (1, 2, 3, 4, 5), note)


def shapes(case: Case) -> Table:
    """Return the shape of the delay over each measure that varied."""
    a = case.attribution
    coefficients = {name: value for each in a.shares for name, value in each.coefficients.items()}
    rows = tuple(
        (
            TITLES[name],
            shape(name, found),
            f"{coefficients.get(name, 0.0):.3g}",
            f"{found.theil_sen:.3g} ({_between(found.low, found.high)})",
            f"{found.rho:+.2f}",
        )
        for name, found in (a.shapes or {}).items()
    )
    left = ""
    if a.still:
        left += f" Hardly varied: {', '.join(TITLES[name] for name in a.still)}."
    if a.missing:
        left += f" Not known: {', '.join(TITLES[name] for name in a.missing)}."
    note = (
        "Delay a unit, of what the measures of other causes leave. The run queue counts what Mund (1996) expects, "
        f"max(1, r/n) - 1: a fit of 1 is as expected. Theil-Sen's slope with 95 %; Spearman's correlation.{left}"
    )
    return Table("Shapes", ("measure", "shape", "fit", "slope", "correlation"), rows, (2, 3, 4), note)


def _between(low: float, high: float) -> str:
    """Return an interval; an end that too few different loads bound is unknown."""
    if math.isinf(low) and math.isinf(high):
        return "interval not known"
    if math.isinf(low) or math.isinf(high):
        return f"at most {high:.3g}" if math.isinf(low) else f"at least {low:.3g}"
    return f"{low:.3g} to {high:.3g}"


def bars(case: Case) -> Table:
    """Return the waterfall of the mean run."""
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
    """Return the delay next to the expected one, and which assumption of the expectation failed."""
    late = [point.delay for point in case.points]
    ends = [each.shared for each in late if each.shared is not None]
    rows = [_spread("observed", [each.factor for each in late])]
    rows += [
        _spread("expected of the run queue, max(1, r/n)", [each.mund for each in late if each.mund is not None]),
        _spread("with fair shares of groups, at least", [low for low, _ in ends]),
        _spread("with fair shares of groups, at most", [high for _, high in ends]),
        _spread(_counting(late), [each.exact for each in late if each.exact is not None]),
    ]
    failed = Counter(re.sub(r"\d+(\.\d+)?", "…", said) for each in late for said in each.failed)
    note = " ".join(
        f"In {count:,} of {len(late):,}: {said}" for said, count in failed.most_common(2) if "…" not in said
    )
    return Table(DELAYS, ("", "mean", "least", "most"), tuple(r for r in rows if r), (1, 2, 3), note)


def _counting(late: Sequence[Delay]) -> str:
    """Return how the wait for a CPU was counted; of several tasks it includes waits for each other."""
    parallel = any(delay.reference == PARALLEL_CPU for delay in late)
    return "estimated, 1 + wait for others / CPU time" if parallel else "counted, 1 + wait / CPU time"


def _spread(name: str, values: Sequence[float]) -> tuple[str, ...]:
    if not values:
        return ()
    return (name, f"{sum(values) / len(values):.2f}", f"{min(values):.2f}", f"{max(values):.2f}")


def beside(case: Case) -> Table:
    """Return the table of what the machine did meanwhile, the program included; unknown measures are left out."""
    rows = []
    for each in case.load:
        measure = find(each.name)
        if not measure.minor or each.most:
            cells = (number(value, measure.unit) for value in (each.mean, each.least, each.most))
            rows.append((measure.label, *cells))
    note = (
        "Of the whole machine, the program included. Packets × MTU: network traffic as Mund (1996) computes it, for "
        "comparison; bytes are counted."
    )
    return Table(BESIDE, ("", "mean", "least", "most"), tuple(rows), (1, 2, 3), note)


def of(case: Case) -> tuple[Table, ...]:
    """Return all tables of a case, some of them without rows."""
    return delays(case), bars(case), importance(case), shapes(case), beside(case)


def studies(explanation: Explanation) -> str:
    """Return the studies that it rests on, briefly."""
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
