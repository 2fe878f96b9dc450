"""`becalm place PROFILE`, `becalm place simulate` and `becalm place train`."""

from __future__ import annotations

from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.cli.echo import echo
from becalm.errors import UsageError
from becalm.units import duration_ns


class Placing(click.Command):
    """A command whose first argument can also be the name of a subcommand."""

    @property
    def commands(self) -> dict[str, click.Command]:
        """The subcommands by name, as a group has them."""
        return COMMANDS

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of the command or subcommand."""
        if args[:1] and args[0] in COMMANDS:
            return COMMANDS[args[0]].make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Invoke the command or subcommand, also without a parent context."""
        return super().invoke(ctx) if ctx.command is self else ctx.command.invoke(ctx)


@click.command("simulate")
@click.argument("tasks", nargs=-1)
@click.option(
    "--programs",
    metavar="FILE.toml",
    help="Programs, each with its counts when run alone.  [default: nine published ones]",
)
@click.option(
    "--method", "methods", multiple=True, metavar="NAME", help="Only this method (repeatable).  [default: all]"
)
@options.of(becalm.PlaceOptions, without=("method",), chips="4/4")
@click.option("--drain", is_flag=True, help="Do not restart programs that end.")
@click.option("--weights", metavar="FOLDER", help="Weights written by `becalm place train --save`.")
@output.as_json
@output.markdown
@output.plain
def command_simulate_placement(
    tasks: tuple[str, ...], as_json: bool, markdown: bool, plain: bool, **keywords: Any
) -> None:
    """Place programs on simulated chips by each method, and simulate the result (docs/explanation/placement.md).

    \b
    becalm place simulate gcc lbm mcf milc povray gamess namd gobmk
    becalm place simulate --chips 8/4 --method optimal --method di
    """
    _show(becalm.simulate_placement(tasks, **keywords), as_json, markdown, plain)


@click.command("train")
@click.option(
    "--programs", metavar="FILE.toml", help="Programs to generate training data from.  [default: nine published ones]"
)
@click.option("--seeds", default=20, show_default=True, metavar="N", help="Cross-validations, each of five folds.")
@click.option("--seed", default=1, show_default=True, help="Seed of the saved weights.")
@click.option("--save", metavar="FOLDER", help="Write the weights into FOLDER.")
@output.overwrite
@output.as_json
@output.markdown
@output.plain
def command_train_placement(as_json: bool, markdown: bool, plain: bool, **keywords: Any) -> None:
    """Train the learning methods of placement, and report their accuracy on unseen programs.

    \b
    becalm place train --save w
    becalm place simulate --weights w gcc lbm mcf milc povray gamess namd gobmk
    """
    _show(becalm.train_placement(**keywords, say=output.warned), as_json, markdown, plain)


COMMANDS: dict[str, click.Command] = {"simulate": command_simulate_placement, "train": command_train_placement}
"""The subcommands of `becalm place`."""


@click.command("place", cls=Placing)
@click.argument("reference", metavar="[PROFILE]", default="last")
@options.of(becalm.PlaceOptions)
@click.option("--explain", is_flag=True, help="Explain the placement in words.")
@click.option("--export", metavar="FORM", help="Print the placement for taskset, systemd or kubernetes.")
@click.option("--apply", "apply", is_flag=True, help="Apply the placement to running processes, until `becalm reset`.")
@click.option("--pid", multiple=True, metavar="NAME=PID", help="With --apply: process of a program (repeatable).")
@click.option("--pids", is_flag=True, help="With --apply: find processes by the profile's names and commands.")
@click.option(
    "--for",
    "duration",
    type=options.CheckedText("duration", duration_ns),
    help="With --apply or --watch: restore after this time.",
)
@click.option("--hold", is_flag=True, help="With --apply: restore at Ctrl-C.")
@click.option("--watch", is_flag=True, help="Place programs as they come and go, until Ctrl-C.")
@click.option(
    "--every",
    type=options.CheckedText("every", duration_ns),
    help="With --watch: least time between placements.  [default: 30s]",
)
@options.one(becalm.SessionOptions, "sudo")
@click.option("--force", is_flag=True, help="Accept a profile of another machine, and a placement without gain.")
@click.option("--host", default="local", show_default=True, help="Host on which the programs run.")
@output.options
def command_place(
    reference: str,
    explain: bool,
    export: str | None,
    apply: bool,
    pid: tuple[str, ...],
    pids: bool,
    duration: str | None,
    hold: bool,
    watch: bool,
    every: str | None,
    sudo: bool,
    **keywords: Any,
) -> None:
    """Recommend which programs should share a chip, or, with only one shared cache, run at the same time.

    PROFILE is the result of `becalm corun`: last, the number of a study, or a file; or a file of costs.

    \b
    becalm place --explain
    becalm place 12 --export systemd
    becalm place --apply --pid server=1234 --pid batch=1240
    becalm place --apply --pids --for 10min
    becalm place --watch
    becalm place simulate gcc lbm mcf milc povray gamess namd gobmk
    becalm place train --save w

    `simulate` and `train` use simulated chips (docs/reference/placement.md).
    """
    from becalm.report.place_export import lines
    from becalm.wording import place_running

    dependent = {"pid": pid, "pids": pids, "for": duration, "hold": hold, "every": every}
    for name, value in dependent.items():
        belongs = watch if name == "every" else apply or (watch and name == "for")
        if value and not belongs:
            raise UsageError(place_running.needs("--watch" if name == "every" else "--apply", f"--{name}"))
    out = output.OutputForm.of(keywords)
    if apply or watch:
        if out.report is not None or out.markdown:
            raise UsageError(place_running.advice_alone("--markdown" if out.markdown else "--report"))
        running = {name: keywords[name] for name in ("chips", "force", "host")}
        if watch:
            running |= {} if every is None else {"every": every}
            becalm.follow_placement(reference, duration=duration, sudo=sudo, say=output.warned, **running)
            return
        applied = becalm.apply_placement(
            reference, pid=pid, pids=pids, duration=duration, hold=hold, sudo=sudo, say=output.warned, **running
        )
        if out.as_json:
            output.print_result(applied)
            return
        for remark in ([] if duration or hold else [applied.sentence]) + list(applied.remarks):
            echo(remark)
        return
    advice = becalm.place(reference, **keywords)
    if export is None:
        out.show(advice, explain=explain)
        return
    placement_export = becalm.export_placement(advice, export)
    if out.as_json:
        output.print_result(placement_export)
    else:
        echo("\n".join(lines(placement_export)))
        for warning in (placement_export.note, *advice.warnings):
            output.warned(warning)
    if out.report is not None:
        output.write(advice, out.report)


def _show(result: Any, as_json: bool, markdown: bool, plain: bool) -> None:
    # These import numpy and rich, which shell completion does not need.
    from becalm.report import place_trials
    from becalm.report.terminal import console

    if as_json:
        output.print_result(result)
    elif markdown:
        echo(place_trials.as_markdown(result), nl=False)
    else:
        console(plain=plain).print(place_trials.on_terminal(result, plain=plain))
