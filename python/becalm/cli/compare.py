"""`becalm compare`."""

from __future__ import annotations

from typing import Any, NoReturn

import click
from click.core import ParameterSource

import becalm
from becalm.cli import options, output
from becalm.cli.records import T_DIFF
from becalm.errors import UsageError

VALUES = (
    becalm.CompareOptions,
    becalm.ComparedPrograms,
    becalm.Response,
    becalm.Work,
    becalm.SeveralHosts,
    becalm.WithProfile,
    becalm.SessionOptions,
    becalm.CommandLine,
    becalm.Workload,
)


REGIONS = ("t_diff", "confidence", "fail_above", "undecided", "store")
"""The options that a comparison of timed regions takes besides the files."""


STORED = (becalm.CompareStoredOptions,)
SHARED = ("confidence", "fail_above", "undecided", "store")
"""Options that `compare` and `compare --stored` have alike."""


class AgainstOption(click.Command):
    """Every word behind --against is one more of its files, up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does, with --against written out before each of its files."""
        if "--against" in args:
            place = args.index("--against")
            end = next((at for at in range(place + 1, len(args)) if args[at].startswith("-")), len(args))
            files = [word for file in args[place + 1 : end] for word in ("--against", file)]
            args = [*args[:place], *(files or ["--against"]), *args[end:]]
        return super().parse_args(ctx, args)


@click.command("compare", cls=AgainstOption)
@click.option("--regions", is_flag=True, help="Compare files of timed regions: the first with the second.")
@click.option(
    "--against", multiple=True, metavar="FILE…", help="The new files of regions; those before it are the old ones."
)
@click.option("--t-diff", metavar="TIME|FILE", help=T_DIFF)
@click.option("--stored", is_flag=True, help="Compare runs of two times instead: study numbers, titles or files.")
@options.of(*STORED, without=SHARED)
@options.of(*VALUES, without=("host", "name", "prepare"))
@output.options
@output.time_unit
@output.sort
@click.argument("commands", nargs=-1)
@click.pass_context
def command_compare(
    ctx: click.Context,
    /,
    commands: tuple[str, ...],
    regions: bool,
    stored: bool,
    against: tuple[str, ...],
    t_diff: str | None,
    **given: Any,
) -> None:
    """Compare programs: each argument is a command line, split as a shell would.

    \b
    becalm compare 'gzip -5 -c FILE' 'gzip -6 -c FILE'
    becalm compare --fail-above 2% './old input' './new input'
    becalm compare --parameter n=1..4 'xz -T{n} -c FILE'
    becalm compare --host ssh://a --host ssh://b './old input' './new input'
    becalm compare --regions old.regions new.regions
    becalm compare --stored 12 15
    becalm compare --stored old.json new.json --more-old older.json
    """
    if regions and stored:
        raise UsageError("--regions and --stored contradict each other. Leave one out.")
    if regions:
        _regions(ctx, commands, against, t_diff, given)
    if against or t_diff is not None:
        raise UsageError("--against and --t-diff are for files of timed regions: becalm compare --regions OLD NEW")
    if stored:
        _stored(commands, given)
    if only := options.typed(*STORED_ONLY):
        raise UsageError(f"{only[0]} belongs to --stored, which compares runs of two times.")
    if not commands:
        raise UsageError("Which programs? For example: becalm compare 'gzip -5 -c FILE' 'gzip -6 -c FILE'")
    out, chosen = output.OutputForm.of(given), options.keywords(given, *VALUES)
    with out.listener(live=chosen.get("output") != "inherit") as heard:
        found = becalm.compare(list(commands), listener=heard, **chosen)
    out.end(found, chosen.get("store"))


def _regions(
    ctx: click.Context, files: tuple[str, ...], against: tuple[str, ...], t_diff: str | None, given: dict[str, Any]
) -> NoReturn:
    """Compare files of regions, and leave with the exit code."""
    mine = {"regions", "against", "commands", *REGIONS, *output.NAMES}
    for parameter in ctx.params:
        if parameter not in mine and ctx.get_parameter_source(parameter) is not ParameterSource.DEFAULT:
            raise UsageError(
                f"--{parameter.replace('_', '-')} is for programs that are run, and regions were timed already."
            )
    if not against:
        if len(files) != 2:
            raise UsageError(
                f"Two files of regions are compared, and {len(files)} were given. Several a side: "
                "becalm compare --regions OLD1 OLD2 --against NEW1 NEW2"
            )
        files, against = files[:1], files[1:]
    out = output.OutputForm.of(given)
    chosen = {name: given[name] for name in REGIONS[1:] if given.get(name) is not None}
    out.end(becalm.compare_regions(files, against, t_diff=t_diff, **chosen))


STORED_ONLY = ("more_old", "more_new", "shift")


def _stored(sources: tuple[str, ...], given: dict[str, Any]) -> NoReturn:
    """Compare two times, and leave."""
    if len(sources) != 2:
        raise UsageError(
            "--stored takes the old and the new: becalm compare --stored 12 15, or two files. "
            "Further sessions of them are --more-old and --more-new."
        )
    known = {*SHARED, *STORED_ONLY, *output.NAMES}
    if other := options.typed(*(name for name in given if name not in known)):
        raise UsageError(f"{other[0]} is for programs that are measured; with --stored nothing is. Leave it out.")
    out = output.OutputForm.of(given)
    chosen = options.keywords({name: given[name] for name in (*SHARED, *STORED_ONLY)}, *STORED)
    out.end(becalm.compare_stored(*sources, warned=output.warned, **chosen))
