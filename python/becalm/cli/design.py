"""`becalm design`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.cli.echo import echo
from becalm.errors import UsageError

FACTORS = click.argument("factors", nargs=-1, metavar="NAME=LOW..HIGH[UNIT][:log][:whole] …")
CSV = click.option("--csv", "as_csv", is_flag=True, help="Print CSV, for a spreadsheet.")

OF_CUBE = ("resolution", "runs", "generators", "replicates", "fold")
"""Options of two-level designs only."""


@click.group("design")
def command_design() -> None:
    """Design an experiment, and fit its results (docs/how-to/design.md).

    \b
    becalm design central time=80..90min temp=170..180C --csv > runs.csv
    becalm design fit runs.csv --goal yield=max --report fit.html
    """


def _design(kind: str, without: tuple[str, ...]) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that makes the command of a kind of design, with its options."""

    def decorate(documented: Callable[..., None]) -> click.Command:
        def command(factors: tuple[str, ...], as_csv: bool, raw: bool, **keywords: Any) -> None:
            out = output.OutputForm.of(keywords)
            if raw and not as_csv:
                raise UsageError("--raw is for cells of CSV. Add --csv.")
            if as_csv and (out.as_json or out.markdown or out.quiet):
                raise UsageError("--csv and --json, --markdown or --quiet contradict each other. Leave one out.")
            design = becalm.design(kind, list(factors), **options.keywords(keywords, becalm.DesignOptions))
            if not as_csv:
                out.end(design)
            echo(design.to_csv(raw=raw), nl=False)
            for finding in design.findings:
                output.warned(finding.sentence)
            if out.report is not None:
                output.write(design, out.report)

        command.__doc__ = documented.__doc__
        decorated = output.together(
            FACTORS, CSV, options.raw, options.of(becalm.DesignOptions, without=without), output.options
        )
        return command_design.command(kind)(decorated(command))

    return decorate


@_design("factorial", without=("alpha",))
def factorial() -> None:
    """Design a factorial experiment at two levels, full or fractional, to see which factors matter.

    \b
    becalm design factorial workers=1..8:whole cache=on,off --replicates 3
    becalm design factorial a=0..1 b=0..1 c=0..1 d=0..1 --resolution 4 --centre 4
    becalm design factorial a=0..1 b=0..1 c=0..1 d=0..1 e=0..1 --runs 8 --fold all
    """


@_design("plackett-burman", without=("alpha", "resolution", "generators", "blocks"))
def plackett_burman() -> None:
    """Design by Plackett-Burman, to see which of many factors matter in 12, 20, 24, 28, 36, 44 or 48 runs.

    \b
    becalm design plackett-burman a=0..1 b=0..1 c=0..1 d=0..1 e=0..1 --csv
    becalm design plackett-burman workers=1..8:whole cache=on,off --fold all
    """


@_design("central", without=OF_CUBE)
def central() -> None:
    """Design a central composite: a second-order surface of two or more factors.

    \b
    becalm design central time=80..90min temp=170..180C --csv
    becalm design central slice=1..9ms:log n=1..64:log:whole --alpha face-centred
    """


@_design("box-behnken", without=("alpha", *OF_CUBE))
def box_behnken() -> None:
    """Design by Box-Behnken: a second-order surface of three to seven factors, without runs at corners.

    \b
    becalm design box-behnken a=4..8lb b=10..20lb c=2..3oz --response y --csv
    """


@command_design.command("fit")
@click.argument("file")
@options.of(becalm.FitOptions)
@output.options
def fit(file: str, **keywords: Any) -> None:
    """Fit the results of a design: report the model, its tests, and the best point.

    \b
    becalm design fit runs.csv
    becalm design fit runs.csv --goal yield=max --report fit.html
    becalm design fit runs.csv --goal time=min --goal spread=min:0..5
    """
    out = output.OutputForm.of(keywords)
    out.end(becalm.fit_design(file, **options.keywords(keywords, becalm.FitOptions)))


@command_design.command("swarm")
@click.argument("file", required=False)
@options.of(becalm.SwarmDesignOptions)
@output.options
def swarm(file: str | None, **keywords: Any) -> None:
    """Find parameters for becalm tune --method swarm, by a Box-Behnken design whose runs are simulated searches.

    FILE is a design with results, whose fitted surface is searched; without it the models of --model are.

    \b
    becalm design swarm
    becalm design swarm --model cliff --factors 4 --noise 5%
    becalm design swarm runs.csv --noise 1% --report swarm.html
    """
    out = output.OutputForm.of(keywords)
    out.end(becalm.design_swarm(file, **options.keywords(keywords, becalm.SwarmDesignOptions)))
