"""`becalm clock`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.units import duration_ns


@click.command("clock")
@click.option("--host", default="local", show_default=True, help="Where: local, ssh://name, guest:6.12.")
@click.option(
    "--budget",
    type=options.Checked("duration", duration_ns),
    default="5min",
    show_default=True,
    help="Time for everything.",
)
@click.option("--quick", is_flag=True, help="Within 20 s: the usual timers, without the flushes that take longest.")
@click.option("--cpu", type=int, metavar="N", help="Processor that measures  [default: the last one allowed].")
@click.option("--timer", "timers", multiple=True, metavar="NAME", help="Only this timer; may be repeated.")
@click.option(
    "--flush", "flushes", multiple=True, metavar="NAME", help="Only L1, L2, L3, memory or evicted; may be repeated."
)
@click.option(
    "--filter",
    type=click.Choice(["robust", "forest", "none"]),
    default="robust",
    show_default=True,
    help="How the operating system's share is told.",
)
@click.option(
    "--search",
    type=click.Choice(["grid", "published"]),
    default="grid",
    show_default=True,
    help="How t_min and t_diff are found.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Of the order of measurements.")
@click.option(
    "--check",
    type=options.Checked("duration", duration_ns),
    help="Can a region this long be timed? Exit code 0 yes, 1 no, 3 not measurable here.",
)
@click.option("--resume", is_flag=True, help="Go on with an evaluation that was interrupted.")
@click.option(
    "--ticks", type=click.Path(path_type=Path), metavar="FILE", help="Write every value that was read as CSV."
)
@click.option("--keep", metavar="NAME", help="Keep the evaluation under this name.")
@click.option(
    "--kept", metavar="NAME", help="Measure nothing: take what was kept (last: the latest), or a report's .json."
)
@click.option(
    "--compare",
    nargs=2,
    metavar="A B",
    help="Two that were kept, or two .json, side by side: of two machines, or of one at two times.",
)
@output.options
def command_clock(
    host: str,
    budget: str,
    quick: bool,
    cpu: int | None,
    timers: tuple[str, ...],
    flushes: tuple[str, ...],
    filter: str,
    search: str,
    seed: int,
    check: str | None,
    resume: bool,
    ticks: Path | None,
    keep: str | None,
    kept: str | None,
    compare: tuple[str, str] | None,
    **given: Any,
) -> None:
    """How short a time, and how small a change, the timers of this machine can show (docs/explanation/clock.md).

    \b
    becalm clock --quick
    becalm clock --check 250ns --quick
    becalm clock --budget 10min --flush memory --timer barrier --report timers.html
    becalm clock --quick --keep monday; becalm clock --compare monday last
    """
    out = output.Output.of(given)
    if compare is not None:
        out.end(becalm.compare_clocks(*compare))
        return
    with out.listener() as heard:
        found = becalm.clock(
            host=host,
            budget=budget,
            quick=quick,
            cpu=cpu,
            timers=timers,
            flushes=flushes,
            filter=filter,
            search=search,
            seed=seed,
            check=check,
            resume=resume,
            ticks=ticks,
            keep=keep,
            kept=kept,
            listener=heard,
        )
    out.end(found)
