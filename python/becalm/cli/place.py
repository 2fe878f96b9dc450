"""`becalm place simulate` and `becalm place train`, beside `becalm place PROFILE`."""

from __future__ import annotations

from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.cli.echo import echo
from becalm.errors import UsageError
from becalm.units import duration_ns


class Placing(click.Command):
    """A command with an argument, of which some words are commands of their own."""

    @property
    def commands(self) -> dict[str, click.Command]:
        """The commands by their words, as a group has them."""
        return COMMANDS

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of the command that is meant."""
        if args[:1] and args[0] in COMMANDS:
            return COMMANDS[args[0]].make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Invoke the command that is meant, also where it has no parent."""
        return super().invoke(ctx) if ctx.command is self else ctx.command.invoke(ctx)


@click.command("simulate")
@click.argument("tasks", nargs=-1)
@click.option("--programs", metavar="FILE.toml", help="Programs, each as it is alone. [default: nine published ones]")
@click.option("--chips", default="4/4", show_default=True, help="Cores of each chip; 2x2/2x2: cores of two threads.")
@click.option("--method", "methods", multiple=True, metavar="NAME", help="Only this one. [default: all]")
@click.option("--drain", is_flag=True, help="What ends does not begin again.")
@click.option("--objective", default="degradation", show_default=True, help="What is averaged; or slowdown.")
@click.option("--seed", default=0, show_default=True, help="Of methods that draw.")
@click.option(
    "--budget",
    default="10s",
    show_default=True,
    type=options.CheckedText("budget", duration_ns),
    help="For each method.",
)
@click.option("--weights", metavar="FOLDER", help="Weights of your own, of `becalm place train --save`.")
@output.as_json
@output.markdown
@output.plain
def command_simulate_placement(
    tasks: tuple[str, ...], as_json: bool, markdown: bool, plain: bool, **given: Any
) -> None:
    """Place programs on simulated chips by each method, and play that through (docs/explanation/placement.md).

    \b
    becalm place simulate gcc lbm mcf milc povray gamess namd gobmk
    becalm place simulate --chips 8/4 --method optimal --method di
    """
    _show(becalm.simulate_placement(tasks, **given), as_json, markdown, plain)


@click.command("train")
@click.option("--programs", metavar="FILE.toml", help="Programs to be like. [default: nine published ones]")
@click.option("--seeds", default=20, show_default=True, metavar="N", help="Cross-validations, each of five folds.")
@click.option("--seed", default=1, show_default=True, help="Of the weights that are kept.")
@click.option("--save", metavar="FOLDER", help="Write the weights there.")
@output.overwrite
@output.as_json
@output.markdown
@output.plain
def command_train_placement(as_json: bool, markdown: bool, plain: bool, **given: Any) -> None:
    """Train the placements that learn, and say how good they are on what they have not seen.

    \b
    becalm place train --save weights
    becalm place simulate --weights weights gcc lbm mcf milc povray gamess namd gobmk
    """
    _show(becalm.train_placement(**given, say=output.warned), as_json, markdown, plain)


COMMANDS: dict[str, click.Command] = {"simulate": command_simulate_placement, "train": command_train_placement}
"""Words after `becalm place` that are no profile."""


@click.command("place", cls=Placing)
@click.argument("reference", metavar="[PROFILE]", default="last")
@click.option("--method", default="optimal", show_default=True, metavar="NAME", help="How it is decided.")
@click.option("--chips", help="Cores of each chip, 4/4.  [default: those of the profile]")
@click.option("--objective", default="degradation", show_default=True, help="What is averaged; or slowdown.")
@click.option("--seed", default=0, show_default=True, help="Of methods that draw.")
@click.option(
    "--budget",
    default="10s",
    show_default=True,
    type=options.CheckedText("budget", duration_ns),
    help="For the search.",
)
@click.option("--explain", is_flag=True, help="Say why, in words.")
@click.option("--export", metavar="FORM", help="Print it as taskset, systemd or kubernetes has it.")
@click.option("--apply", "put_on", is_flag=True, help="Put it on running processes, until `becalm reset`.")
@click.option("--pid", multiple=True, metavar="NAME=PID", help="With --apply: this process is that program.")
@click.option("--pids", is_flag=True, help="With --apply: find processes by the names and commands of the profile.")
@click.option(
    "--for", "duration", type=options.CheckedText("duration", duration_ns), help="With --apply or --watch: for so long."
)
@click.option("--hold", is_flag=True, help="With --apply: until Ctrl-C.")
@click.option("--watch", is_flag=True, help="Follow programs that come and go, until Ctrl-C.")
@click.option(
    "--every", type=options.CheckedText("every", duration_ns), help="With --watch: place anew at most so often.  [30s]"
)
@options.one(becalm.SessionOptions, "sudo")
@click.option("--force", is_flag=True, help="Also by a profile of another machine, and what gains nothing.")
@click.option("--host", default="local", show_default=True, help="Where the programs will run.")
@output.options
def command_place(
    reference: str,
    explain: bool,
    export: str | None,
    put_on: bool,
    pid: tuple[str, ...],
    pids: bool,
    duration: str | None,
    hold: bool,
    watch: bool,
    every: str | None,
    sudo: bool,
    **given: Any,
) -> None:
    """Report which programs belong together on a chip; where all share one cache, which run at the same time.

    PROFILE is what `becalm corun` measured: last, the number of a study, or a file; or a file of costs.

    \b
    becalm place --explain
    becalm place 12 --export systemd
    becalm place --apply --pid server=1234 --pid batch=1240
    becalm place --apply --pids --for 10min
    becalm place --watch
    becalm place simulate gcc lbm mcf milc povray gamess namd gobmk
    becalm place train --save weights

    `simulate` and `train` need no machine (docs/reference/placement.md).
    """
    from becalm.report.place_export import lines
    from becalm.wording import place_running

    alone = {"pid": pid, "pids": pids, "for": duration, "hold": hold, "every": every}
    for name, value in alone.items():
        belongs = watch if name == "every" else put_on or (watch and name == "for")
        if value and not belongs:
            raise UsageError(place_running.needs("--watch" if name == "every" else "--apply", f"--{name}"))
    out = output.OutputForm.of(given)
    if put_on or watch:
        if out.report is not None or out.markdown:
            raise UsageError(place_running.advice_alone("--markdown" if out.markdown else "--report"))
        running = {name: given[name] for name in ("chips", "force", "host")}
        if watch:
            running |= {} if every is None else {"every": every}
            becalm.follow_placement(reference, duration=duration, sudo=sudo, say=output.warned, **running)
            return
        done = becalm.apply_placement(
            reference, pid=pid, pids=pids, duration=duration, hold=hold, sudo=sudo, say=output.warned, **running
        )
        if out.as_json:
            output.print_json("placed", done.to_json())
            return
        for remark in ([] if duration or hold else [done.sentence]) + list(done.remarks):
            echo(remark)
        return
    found = becalm.place(reference, **given)
    if export is None:
        out.show(found, explain=explain)
        return
    placement_export = becalm.export_placement(found, export)
    if out.as_json:
        output.print_json("placement-export", placement_export.to_json())
    else:
        echo("\n".join(lines(placement_export)))
        for warning in (placement_export.note, *found.warnings):
            output.warned(warning)
    if out.report is not None:
        output.write(found, out.report)


def _show(found: Any, as_json: bool, markdown: bool, plain: bool) -> None:
    # numpy and rich: no shell waits for them.
    from becalm.report import place_trials
    from becalm.report.terminal import console

    if as_json:
        value = found.to_json()
        output.print_json(value["kind"], value)
    elif markdown:
        echo(place_trials.as_markdown(found), nl=False)
    else:
        console(plain=plain).print(place_trials.on_terminal(found, plain=plain))
