"""A simulation on the terminal: how long, where the time of the CPUs went, how long tasks and messages waited."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from becalm.nouns.calibration import Calibration
from becalm.nouns.simulation import NOT_MODELLED, Latency, Simulation
from becalm.wording.calibration import sentence as calibrated
from becalm.wording.measurement import counted, duration
from becalm.wording.simulation import sentence


def on_terminal(found: Simulation) -> RenderableType:
    """The sentence and its tables."""
    first = found.runs[0]
    parts: list[RenderableType] = [Text(sentence(found)), Text()]
    capacity = sum(each.cpus * each.end_ns for each in found.runs)
    shares = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for head in ("time of the CPUs", "share"):
        shares.add_column(head, justify="right" if head == "share" else "left", no_wrap=True)
    for what, name in (("running tasks", "run_ns"), ("switching, waking, moving", "overhead_ns"), ("idle", "idle_ns")):
        total = sum(getattr(each, name) for each in found.runs)
        shares.add_row(what, f"{100 * total / capacity:.1f} %" if capacity else "")
    waits = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for number, head in enumerate(("", "median", "90 %", "99 %", "99.9 %", "longest")):
        waits.add_column(head, justify="right" if number else "left", no_wrap=True)
    waits.add_row("waiting for a CPU", *_quantiles(first.wait))
    if first.messages:
        waits.add_row("message, sent to read", *_quantiles(first.message_latency))
    parts += [shares, Text(), waits, Text()]
    counts = [
        f"{found.typical('switches'):,.0f} switches",
        f"{counted(round(found.typical('preemptions')), 'preemption')} among them",
        counted(round(found.typical("wakeups")), "wake-up"),
        counted(round(found.typical("migrations")), "migration"),
    ]
    parts.append(Text(f"{', '.join(counts)}; fairness {found.typical('fairness'):.3f} (Jain's index, 1 is fair)."))
    parts.append(Text(f"Not modelled: {NOT_MODELLED}.", "dim"))
    return Group(*parts)


def calibration_on_terminal(found: Calibration) -> RenderableType:
    """The sentence, each size, and how to use the costs."""
    sizes = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for number, head in enumerate(("groups", "measured", "simulated", "difference", "")):
        sizes.add_column(head, justify="right" if number < 4 else "left", no_wrap=True)
    for each in found.sizes:
        error = 100 * each.error_ns / each.measured_ns
        real = f"{duration(each.measured_ns)} ± {error:.1f} %"
        miss = f"{100 * each.residual:+.1f} %"
        sizes.add_row(str(each.groups), real, duration(each.simulated_ns), miss, "fitted" if each.fitted else "")
    parts: list[RenderableType] = [Text(calibrated(found)), Text(), sizes, Text()]
    if found.r_squared is not None and found.possible is not None:
        parts.append(
            Text(
                f"R² of measured over simulated times {found.r_squared:.4f}; the noise of the runs leaves "
                f"{found.possible:.4f}. Whatever grows with the groups has an R² near 1: look at the differences."
            )
        )
    parts.append(Text(f"Use it: becalm simulate --host '{found.simulator}' -- hackbench -g 10 -l {found.loops}"))
    parts.append(Text(f"Not modelled: {NOT_MODELLED}.", "dim"))
    return Group(*parts)


def _quantiles(each: Latency) -> list[str]:
    return [duration(ns) for ns in (each.p50_ns, each.p90_ns, each.p99_ns, each.p999_ns, each.largest_ns)]
