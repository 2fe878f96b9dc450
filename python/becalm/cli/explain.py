"""`becalm explain`."""

from __future__ import annotations

from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.errors import UsageError

PLAN = (becalm.LoadExperimentOptions, becalm.SessionOptions, becalm.CommandLine, becalm.Workload)
"""Values whose options are for a plan of loads; but for the store, which all have."""


@click.command("explain")
@click.argument("studies", nargs=-1)
@click.option("--program", metavar="TEXT", help="Programs with TEXT in their name, of all studies or those given.")
@click.option("--last", is_flag=True, help="The last study  [default without studies and --program].")
@click.option(
    "--designed",
    is_flag=True,
    help="First run a program under known loads, by plan: --designed -- COMMAND.",
)
@options.of(*PLAN, without=("allow_reboot",))
@output.options
def command_explain(studies: tuple[str, ...], designed: bool, program: str | None, last: bool, **keywords: Any) -> None:
    """Report what made stored runs slow: which other load, or that this is not known.

    \b
    becalm explain
    becalm explain 12 13 --report report.html
    becalm explain --program gzip
    becalm explain --designed -- ./program
    becalm explain --designed --host ssh://bench -- ./program
    """
    if last and studies:
        raise UsageError("--last and numbers of studies contradict each other. Leave one out.")
    out, store = output.OutputForm.of(keywords), keywords["store"]
    chosen = options.keywords(keywords, *PLAN)
    if designed:
        if program is not None or last:
            raise UsageError("--designed makes a study of its own: leave --program and --last out.")
        studies = (str(_measured(studies, chosen, out)),)
    elif plan := sorted(set(chosen) - {"store"}):
        raise UsageError(f"{_flag(plan[0])} is for a plan of loads: becalm explain --designed -- COMMAND.")
    found = becalm.explain(*studies, program=program, last=last, store=store, warned=output.warned)
    out.end(found)


def _measured(command: tuple[str, ...], chosen: dict[str, Any], out: output.OutputForm) -> int:
    """Measure a program beside known loads; the number of the study."""
    if not command:
        raise UsageError("Which program? For example: becalm explain --designed -- ./program")
    with out.listener(quiet=out.as_json) as heard:
        done = becalm.load_experiment(output.words(command), listener=heard, **chosen)
    output.warned(done.sentence)
    return done.study


def _flag(name: str) -> str:
    found = {keyword: each for kind in PLAN for keyword, each in becalm.options(kind).items()}[name]
    return str(found.flag or found.off)
