"""`becalm explain`."""

from __future__ import annotations

from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.errors import UsageError

PLAN = (becalm.LoadExperimentOptions, becalm.SessionOptions, becalm.CommandLine, becalm.Workload)
"""Values whose options, except for --store, are for a plan of loads."""


@click.command("explain")
@click.argument("studies", nargs=-1)
@click.option(
    "--program", metavar="TEXT", help="Only programs with TEXT in their name; without STUDIES, of all studies."
)
@click.option("--last", is_flag=True, help="Explain the last study: the default without STUDIES and --program.")
@click.option(
    "--designed",
    is_flag=True,
    help="First run a program under planned loads: --designed -- COMMAND.",
)
@options.of(*PLAN, without=("allow_reboot",))
@output.options
def command_explain(studies: tuple[str, ...], designed: bool, program: str | None, last: bool, **keywords: Any) -> None:
    """Report which other load slowed stored runs, or that the cause is unknown.

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
            raise UsageError("--designed measures a new study: leave --program and --last out.")
        studies = (str(_measured(studies, chosen, out)),)
    elif plan := sorted(set(chosen) - {"store"}):
        raise UsageError(f"{_flag(plan[0])} is for a plan of loads: becalm explain --designed -- COMMAND.")
    explanation = becalm.explain(*studies, program=program, last=last, store=store, warned=output.warned)
    out.end(explanation)


def _measured(command: tuple[str, ...], chosen: dict[str, Any], out: output.OutputForm) -> int:
    """Measure a program under known loads, and return the number of the study."""
    if not command:
        raise UsageError("Which program? For example: becalm explain --designed -- ./program")
    with out.listener(quiet=out.as_json) as heard:
        experiment = becalm.load_experiment(output.words(command), listener=heard, **chosen)
    output.warned(experiment.sentence)
    return experiment.study


def _flag(name: str) -> str:
    option = {keyword: option for kind in PLAN for keyword, option in becalm.options(kind).items()}[name]
    return str(option.flag or option.off)
