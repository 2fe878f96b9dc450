"""`becalm clock`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.cli.echo import echo
from becalm.errors import UsageError
from becalm.units import duration_ns, listed


@click.command("clock")
@click.option("--host", default="local", show_default=True, help="Where: local, ssh://name, guest:6.12.")
@click.option(
    "--budget",
    type=options.CheckedText("duration", duration_ns),
    help="Time for everything  [default: 5min, of --quick 20s].",
)
@click.option("--quick", is_flag=True, help="Only the usual timers, without the flushes that take longest.")
@click.option(
    "--cpu", type=options.Number(True, 0), metavar="N", help="Processor that measures  [default: the last one allowed]."
)
@click.option(
    "--timer",
    "timers",
    multiple=True,
    metavar="NAME",
    help="Only this timer; may be repeated. One of your own: ./libmine.so:read.",
)
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
@click.option("--seed", type=options.Number(True), default=1, show_default=True, help="Seed for the measurement order.")
@click.option(
    "--check",
    type=options.CheckedText("duration", duration_ns),
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
@click.option(
    "--headers",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the C headers and the Rust crate there, to time regions of your own code.",
)
@output.options
def command_clock(
    host: str,
    budget: str | None,
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
    headers: Path | None,
    **given: Any,
) -> None:
    """Show how short a time, and how small a change, the timers of this machine can measure
    (docs/explanation/clock.md).

    \b
    becalm clock --quick
    becalm clock --check 250ns --quick
    becalm clock --budget 10min --flush memory --timer barrier --report timers.html
    becalm clock --quick --keep monday; becalm clock --compare monday last
    becalm clock --headers include
    """
    out = output.OutputForm.of(given)
    _measures_or_not(kept, compare, headers)
    if headers is not None:
        for path in becalm.write_headers(headers):
            echo(str(path))
        echo(f"The Rust crate is in {headers / 'becalm-clock'}. How they are used: docs/how-to/regions.md")
        return
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


MEASURING = ("host", "budget", "quick", "cpu", "timers", "flushes", "filter", "search", "seed", "resume")
"""Options of a measurement, which a kept evaluation has no use for."""


def _measures_or_not(kept: str | None, compare: tuple[str, str] | None, headers: Path | None) -> None:
    """Raise UsageError for an option that would have no effect."""
    if headers is not None:
        name, useless = "--headers", options.typed(*MEASURING, "check", "ticks", "keep", "kept", "compare")
    elif compare is not None:
        name, useless = "--compare", options.typed(*MEASURING, "check", "ticks", "keep", "kept")
    elif kept is not None:
        name, useless = "--kept", options.typed(*MEASURING)
    else:
        return
    if useless:
        raise UsageError(f"{name} measures nothing, so {listed(useless)} has no effect with it. Leave one of them out.")
