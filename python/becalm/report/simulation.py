"""A simulation on the terminal: how long, where the time of the CPUs went, how long tasks and messages waited."""

from __future__ import annotations

from collections.abc import Iterator

from rich import table as rich_table
from rich.console import Group, RenderableType
from rich.text import Text

from becalm.nouns.calibration import Calibration
from becalm.nouns.simulation import NOT_MODELLED, Latency, Simulation
from becalm.report import simulation_figures
from becalm.report.design.terminal import grid
from becalm.report.page import Part, filled
from becalm.report.table import Table
from becalm.wording.calibration import sentence as calibrated
from becalm.wording.measurement import counted, duration


def on_terminal(found: Simulation, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the sentence and its tables."""
    del columns
    parts: list[RenderableType] = [Text(found.sentence, "" if plain else "bold")]
    parts += [grid(table, plain) for table in tables(found)]
    parts += [Text(), Text(counts(found)), Text(f"Not modelled: {found.not_modelled}.", "" if plain else "dim")]
    return Group(*parts)


def tables(found: Simulation) -> Iterator[Table]:
    """Yield the tables of the CPUs' time, and of the waits of tasks and messages."""
    capacity = sum(each.cpus * each.end_ns for each in found.runs)
    rows = []
    for what, name in (("running tasks", "run_ns"), ("switching, waking, moving", "overhead_ns"), ("idle", "idle_ns")):
        total = sum(getattr(each, name) for each in found.runs)
        rows.append((what, f"{100 * total / capacity:.1f} %" if capacity else ""))
    yield Table("", ("time of the CPUs", "share"), tuple(rows), (1,))
    first = found.runs[0]
    waits = [("waiting for a CPU", *_quantiles(first.wait))]
    if first.messages:
        waits.append(("message, sent to read", *_quantiles(first.message_latency)))
    yield Table("", ("", "median", "90 %", "99 %", "99.9 %", "longest"), tuple(waits), (1, 2, 3, 4, 5))


def counts(found: Simulation) -> str:
    """Return the counts of events, and the fairness."""
    said = [
        f"{found.typical('switches'):,.0f} switches",
        f"{counted(round(found.typical('preemptions')), 'preemption')} among them",
        counted(round(found.typical("wakeups")), "wake-up"),
        counted(round(found.typical("migrations")), "migration"),
    ]
    return f"{', '.join(said)}; fairness {found.typical('fairness'):.3f} (Jain's index, 1 is fair)."


def as_html(found: Simulation) -> str:
    """Return the page."""
    shares, waits = tables(found)
    parts = []
    if found.timeline is not None and found.timeline.spans:
        parts.append(Part("Who ran where", tuple(simulation_figures.timelines(found, found.timeline))))
        waited = tuple(simulation_figures.waits(found.runs[0]))
        parts.append(Part("How long they waited", waited, waits))
    else:
        parts.append(Part("How long they waited", (), waits))
    parts.append(Part("Where the time of the CPUs went", (), shares))
    title, *lines = found.sentence.splitlines()
    return filled(
        "parts.html",
        title=title,
        lines=(*lines, counts(found), f"Not modelled: {found.not_modelled}."),
        parts=parts,
        findings=(),
        facts="",
    )


def calibration_on_terminal(found: Calibration) -> RenderableType:
    """Return the sentence, each size, and how to use the costs."""
    sizes = rich_table.Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    whole = found.bootstrapped
    heads = ["groups", "measured", "simulated", "difference", *(["as a whole"] if whole else []), ""]
    for number, head in enumerate(heads):
        sizes.add_column(head, justify="right" if number < len(heads) - 1 else "left", no_wrap=True)
    for each in found.sizes:
        error = 100 * each.error_ns / each.measured_ns
        real = f"{duration(each.measured_ns)} ± {error:.1f} %"
        miss = f"{100 * each.residual:+.1f} %"
        said = [*(["fitted"] if each.fitted else []), *([each.policy] if each.policy != "other" else [])]
        model = f"{duration(each.simulated_ns)} ± {100 * each.simulated_error_ns / each.simulated_ns:.1f} %"
        row = [str(each.groups), real, model, miss]
        if whole is not None:
            played = whole.time(each.groups) if each.policy == "other" else None
            row.append("" if played is None else f"{100 * (played / each.measured_ns - 1):+.1f} %")
        sizes.add_row(*row, ", ".join(said))
    parts: list[RenderableType] = [Text(calibrated(found)), Text(), sizes, Text()]
    if found.r_squared is not None and found.possible is not None:
        parts.append(
            Text(
                f"R² of measured over simulated times {found.r_squared:.4f}{_adjusted(found.adjusted)}; the noise of "
                f"the runs leaves {found.possible:.4f}. Whatever grows with the groups has an R² near 1: look at the "
                "differences."
            )
        )
    if whole is not None and whole.r_squared is not None:
        parts.append(
            Text(
                f"As a whole: groups as [[measured]] programs, by the time of one and the speed {whole.speed:.3f} "
                f"beside another; R² {whole.r_squared:.4f}{_adjusted(whole.adjusted)}."
            )
        )
    if found.outcome != "failed":
        parts.append(
            Text(f"Use it: becalm simulate --host '{found.simulator}' --seeds 10 -- hackbench -g 10 -l {found.loops}")
        )
    parts.append(Text(f"Not modelled: {NOT_MODELLED}.", "dim"))
    return Group(*parts)


def _adjusted(value: float | None) -> str:
    return "" if value is None else f" (adjusted {value:.4f})"


def _quantiles(each: Latency) -> list[str]:
    return [duration(ns) for ns in (each.p50_ns, each.p90_ns, each.p99_ns, each.p999_ns, each.largest_ns)]
