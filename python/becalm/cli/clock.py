"""`becalm clock`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.cli.echo import echo
from becalm.errors import UsageError
from becalm.units import duration_ns, join_names


@click.command("clock")
@click.option("--host", default="local", show_default=True, help="Host: local, ssh://NAME, guest:6.12.")
@click.option(
    "--budget",
    type=options.CheckedText("duration", duration_ns),
    help="Time budget for everything.  [default: 5min; 20s with --quick]",
)
@click.option("--quick", is_flag=True, help="Only the usual timers, without the slowest flushes.")
@click.option(
    "--cpu", type=options.Number(True, 0), metavar="N", help="CPU to measure on.  [default: the last one allowed]"
)
@click.option(
    "--timer",
    "timers",
    multiple=True,
    metavar="NAME",
    help="Only this timer (repeatable). Your own: ./libmine.so:read.",
)
@click.option(
    "--flush", "flushes", multiple=True, metavar="NAME", help="Only L1, L2, L3, memory or evicted (repeatable)."
)
@click.option(
    "--filter",
    type=click.Choice(["robust", "forest", "none"]),
    default="robust",
    show_default=True,
    help="Filter for disturbances by the operating system.",
)
@click.option(
    "--search",
    type=click.Choice(["grid", "published"]),
    default="grid",
    show_default=True,
    help="Search for t_min and t_diff.",
)
@click.option("--seed", type=options.Number(True), default=1, show_default=True, help="Seed for the measurement order.")
@click.option(
    "--check",
    type=options.CheckedText("duration", duration_ns),
    help="Check a length of regions. Exit code: 0 can be timed, 1 cannot, 3 unknown.",
)
@click.option("--resume", is_flag=True, help="Resume an interrupted evaluation.")
@click.option("--ticks", type=click.Path(path_type=Path), metavar="FILE", help="Write every timer value as CSV.")
@click.option("--keep", metavar="NAME", help="Store the evaluation under this name.")
@click.option("--stored", metavar="NAME", help="Show a stored evaluation (last: the latest), or a JSON file.")
@click.option(
    "--compare",
    nargs=2,
    metavar="A B",
    help="Compare two stored evaluations, or JSON files.",
)
@click.option(
    "--headers",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write C headers and the Rust crate for timing regions of your own code.",
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
    stored: str | None,
    compare: tuple[str, str] | None,
    headers: Path | None,
    **keywords: Any,
) -> None:
    """Show how short a time, and how small a change, the timers of this machine can measure
    (docs/explanation/clock.md).

    \b
    becalm clock --quick
    becalm clock --check 250ns --quick
    becalm clock --budget 10min --flush memory --timer barrier --report clock.html
    becalm clock --quick --keep monday; becalm clock --compare monday last
    becalm clock --headers include
    """
    out = output.OutputForm.of(keywords)
    _measures_or_not(stored, compare, headers)
    if headers is not None:
        for path in becalm.write_headers(headers):
            echo(str(path))
        echo(f"The Rust crate is in {headers / 'becalm-clock'}. How to use them: docs/how-to/regions.md")
        return
    if compare is not None:
        out.end(becalm.compare_clocks(*compare))
        return
    with out.listener() as heard:
        report = becalm.clock(
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
            stored=stored,
            listener=heard,
        )
    out.end(report)


MEASURING = ("host", "budget", "quick", "cpu", "timers", "flushes", "filter", "search", "seed", "resume")
"""Options of a measurement, which have no effect on a stored evaluation."""


def _measures_or_not(stored: str | None, compare: tuple[str, str] | None, headers: Path | None) -> None:
    """Raise UsageError for an option that would have no effect."""
    if headers is not None:
        name, useless = "--headers", options.typed(*MEASURING, "check", "ticks", "keep", "stored", "compare")
    elif compare is not None:
        name, useless = "--compare", options.typed(*MEASURING, "check", "ticks", "keep", "stored")
    elif stored is not None:
        name, useless = "--stored", options.typed(*MEASURING)
    else:
        return
    if useless:
        raise UsageError(
            f"{name} measures nothing, so {join_names(useless)} has no effect with it. Leave one of them out."
        )
