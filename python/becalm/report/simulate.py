"""A simulation on the terminal: its time, how the CPUs spent it, and how long tasks and messages waited."""

from __future__ import annotations

from collections.abc import Iterator

from rich import table as rich_table
from rich.console import Group, RenderableType
from rich.text import Text

from becalm.report import simulate_figures
from becalm.report.design.terminal import grid
from becalm.report.page import Part, filled
from becalm.report.table import Table
from becalm.results.simulate import NOT_MODELLED, Latency, Simulation
from becalm.results.simulate_calibration import Calibration
from becalm.wording.numbers import counted, duration
from becalm.wording.simulate_calibration import sentence as calibrated


def on_terminal(simulation: Simulation, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the sentence and its tables."""
    del columns
    parts: list[RenderableType] = [Text(simulation.sentence, "" if plain else "bold")]
    for table in tables(simulation):
        parts += [Text(), grid(table, plain)]
    parts += [
        Text(),
        Text(counts(simulation)),
        Text(f"Not modelled: {simulation.not_modelled}.", "" if plain else "dim"),
    ]
    return Group(*parts)


def tables(simulation: Simulation) -> Iterator[Table]:
    """Yield the tables of the CPUs' time, and of the waits of tasks and messages."""
    capacity = sum(run.cpus * run.end_ns for run in simulation.runs)
    rows = []
    for use, name in (("running tasks", "run_ns"), ("switching, waking, moving", "overhead_ns"), ("idle", "idle_ns")):
        total = sum(getattr(run, name) for run in simulation.runs)
        rows.append((use, f"{100 * total / capacity:.1f} %" if capacity else ""))
    yield Table("", ("time of the CPUs", "share"), tuple(rows), (1,))
    first = simulation.runs[0]
    waits = [("waiting for a CPU", *_quantiles(first.wait))]
    if first.messages:
        waits.append(("message, sent to read", *_quantiles(first.message_latency)))
    yield Table("", ("", "median", "90 %", "99 %", "99.9 %", "longest"), tuple(waits), (1, 2, 3, 4, 5))


def counts(simulation: Simulation) -> str:
    """Return the line with the counts of events and the fairness."""
    events = [
        f"{simulation.typical('switches'):,.0f} switches",
        f"{counted(round(simulation.typical('preemptions')), 'preemption')} among them",
        counted(round(simulation.typical("wakeups")), "wake-up"),
        counted(round(simulation.typical("migrations")), "migration"),
    ]
    return f"{', '.join(events)}; fairness {simulation.typical('fairness'):.3f} (Jain's index, 1 is fair)."


def as_html(simulation: Simulation) -> str:
    """Return the page."""
    shares, waits = tables(simulation)
    parts = []
    if simulation.timeline is not None and simulation.timeline.spans:
        parts.append(Part("Tasks on the CPUs", tuple(simulate_figures.timelines(simulation, simulation.timeline))))
        waited = tuple(simulate_figures.waits(simulation.runs[0]))
        parts.append(Part("Waiting times", waited, waits))
    else:
        parts.append(Part("Waiting times", (), waits))
    parts.append(Part("Where the time of the CPUs went", (), shares))
    title, *lines = simulation.sentence.splitlines()
    return filled(
        "parts.html",
        title=title,
        lines=(*lines, counts(simulation), f"Not modelled: {simulation.not_modelled}."),
        parts=parts,
        findings=(),
        facts="",
    )


def calibration_on_terminal(calibration: Calibration) -> RenderableType:
    """Return the sentence, the table of sizes, and how to use the costs."""
    sizes = rich_table.Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    whole = calibration.bootstrapped
    heads = ["groups", "measured", "simulated", "difference", *(["as a whole"] if whole else []), ""]
    for number, head in enumerate(heads):
        sizes.add_column(head, justify="right" if number < len(heads) - 1 else "left", no_wrap=True)
    for size in calibration.sizes:
        error = 100 * size.error_ns / size.measured_ns
        real = f"{duration(size.measured_ns)} ± {error:.1f} %"
        miss = f"{100 * size.residual:+.1f} %"
        labels = [*(["fitted"] if size.fitted else []), *([size.policy] if size.policy != "other" else [])]
        model = f"{duration(size.simulated_ns)} ± {100 * size.simulated_error_ns / size.simulated_ns:.1f} %"
        row = [str(size.groups), real, model, miss]
        if whole is not None:
            played = whole.time(size.groups) if size.policy == "other" else None
            row.append("" if played is None else f"{100 * (played / size.measured_ns - 1):+.1f} %")
        sizes.add_row(*row, ", ".join(labels))
    parts: list[RenderableType] = [Text(calibrated(calibration)), Text(), sizes, Text()]
    if calibration.r_squared is not None and calibration.possible is not None:
        parts.append(
            Text(
                "R² of measured over simulated times "
                f"{calibration.r_squared:.4f}{_adjusted(calibration.adjusted)}; the noise of "
                f"the runs leaves {calibration.possible:.4f}. Whatever grows with the groups has an R² "
                "near 1: look at the "
                "differences."
            )
        )
    if whole is not None and whole.r_squared is not None:
        parts.append(
            Text(
                f"As a whole: groups as [[measured]] programs, by the time of one and the speed {whole.speed:.3f} "
                f"alongside another; R² {whole.r_squared:.4f}{_adjusted(whole.adjusted)}."
            )
        )
    if calibration.outcome != "failed":
        parts.append(
            Text(
                f"Use it: becalm simulate --host '{calibration.simulator}' --seeds 10 -- hackbench -g 10 "
                f"-l {calibration.loops}"
            )
        )
    parts.append(Text(f"Not modelled: {NOT_MODELLED}.", "dim"))
    return Group(*parts)


def _adjusted(value: float | None) -> str:
    return "" if value is None else f" (adjusted {value:.4f})"


def _quantiles(latency: Latency) -> list[str]:
    return [
        duration(ns) for ns in (latency.p50_ns, latency.p90_ns, latency.p99_ns, latency.p999_ns, latency.largest_ns)
    ]
