"""`becalm compare`."""

from __future__ import annotations

from typing import Any, NoReturn

import click
from click.core import ParameterSource

import becalm
from becalm.cli import options, output
from becalm.cli.shared_options import T_DIFF
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
"""Options of a comparison of timed regions."""


LAYOUTS = (
    becalm.LayoutOptions,
    becalm.Response,
    becalm.Work,
    becalm.WithProfile,
    becalm.SessionOptions,
    becalm.CommandLine,
    becalm.Workload,
)
LAYOUTS_ONLY = ("layouts", "old_build", "new_build", "first_seed", "build_timeout")
NO_LAYOUTS = (
    *("precision", "prepares", "parameters", "reference", "fastest", "no_fastest"),
    *("baseline", "schedule", "where", "cluster"),
)
"""Options that comparisons over several layouts do not have."""

STORED = (becalm.CompareStoredOptions,)
SHARED = ("confidence", "fail_above", "undecided", "store")
"""Options that `compare` and `compare --stored` share."""


class AgainstOption(click.Command):
    """A command whose option --against takes all words up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, with --against inserted before each of its files."""
        if "--against" in args:
            index = args.index("--against")
            end = next((i for i in range(index + 1, len(args)) if args[i].startswith("-")), len(args))
            files = [word for file in args[index + 1 : end] for word in ("--against", file)]
            args = [*args[:index], *(files or ["--against"]), *args[end:]]
        return super().parse_args(ctx, args)


@click.command("compare", cls=AgainstOption)
@click.option("--regions", is_flag=True, help="Compare files of timed regions: the old one, then the new one.")
@click.option(
    "--against", multiple=True, metavar="FILE…", help="With --regions: the new files; those before it are the old ones."
)
@click.option("--t-diff", metavar="TIME|FILE", help=T_DIFF)
@click.option("--stored", is_flag=True, help="Compare two stored results: study numbers, titles or files.")
@options.of(*STORED, without=SHARED)
@options.some(becalm.LayoutOptions, *LAYOUTS_ONLY)
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
    **keywords: Any,
) -> None:
    """Compare programs. Each argument is a command line, split as a shell would.

    \b
    becalm compare 'gzip -5 -c FILE' 'gzip -6 -c FILE'
    becalm compare --fail-above 2% './old input' './new input'
    becalm compare --parameter n=1..4 'xz -T{n} -c FILE'
    becalm compare --metric 'json:p99,unit=us' './old input' './new input'
    becalm compare --host ssh://a --host ssh://b './old input' './new input'
    becalm compare --layouts 10 --old-build 'make -C old SEED={seed} OUT={build}'
                   --new-build 'make -C new SEED={seed} OUT={build}'
                   '{build}/prog input'
    becalm compare --regions old.regions new.regions
    becalm compare --stored 12 15
    becalm compare --stored old.json new.json --more-old older.json

    With --fail-above, the exit code is 0 within the limit, 1 above it, 5 undecided.
    """
    if regions and stored:
        raise UsageError("--regions and --stored contradict each other. Leave one out.")
    if regions:
        _regions(ctx, commands, against, t_diff, keywords)
    if against or t_diff is not None:
        raise UsageError("--against and --t-diff are for files of timed regions: becalm compare --regions OLD NEW")
    if stored:
        _stored(commands, keywords)
    if only := options.typed(*STORED_ONLY):
        raise UsageError(f"{only[0]} is for --stored, which compares stored results.")
    if keywords["layouts"] is not None:
        _layouts(commands, keywords)
    if only := options.typed(*LAYOUTS_ONLY):
        raise UsageError(f"{only[0]} is for --layouts N, which builds programs in several layouts. Add that.")
    if not commands:
        raise UsageError("Which programs? For example: becalm compare 'gzip -5 -c FILE' 'gzip -6 -c FILE'")
    out, chosen = output.OutputForm.of(keywords), options.keywords(keywords, *VALUES)
    with out.listener(live=chosen.get("output") != "inherit") as heard:
        verdict = becalm.compare(list(commands), listener=heard, **chosen)
    out.end(verdict, chosen.get("store"))


def _regions(
    ctx: click.Context, files: tuple[str, ...], against: tuple[str, ...], t_diff: str | None, keywords: dict[str, Any]
) -> NoReturn:
    """Compare files of timed regions, and exit."""
    allowed = {"regions", "against", "commands", *REGIONS, *output.NAMES}
    for parameter in ctx.params:
        if parameter not in allowed and ctx.get_parameter_source(parameter) is not ParameterSource.DEFAULT:
            raise UsageError(
                f"--{parameter.replace('_', '-')} is for programs that are run; timed regions were measured already."
            )
    if not against:
        if len(files) != 2:
            raise UsageError(
                f"Two files of regions are compared, not {len(files)}. For several on each side: "
                "becalm compare --regions OLD1 OLD2 --against NEW1 NEW2"
            )
        files, against = files[:1], files[1:]
    out = output.OutputForm.of(keywords)
    chosen = {name: keywords[name] for name in REGIONS[1:] if keywords.get(name) is not None}
    out.end(becalm.compare_regions(files, against, t_diff=t_diff, **chosen))


def _layouts(commands: tuple[str, ...], keywords: dict[str, Any]) -> NoReturn:
    """Compare two programs over several layouts, and leave."""
    if not 1 <= len(commands) <= 2:
        raise UsageError(
            "--layouts takes the old and the new program, or one command for both, with {build} in it: becalm compare "
            "--layouts 10 --old-build CMD --new-build CMD '{build}/prog input'"
        )
    if other := options.typed(*NO_LAYOUTS):
        raise UsageError(f"{other[0]} is not available with --layouts. Leave it out.")
    out, chosen = output.OutputForm.of(keywords), options.keywords(keywords, *LAYOUTS)
    if "hosts" in chosen:
        raise UsageError("Programs are built on this machine, and measured here: leave --host out.")
    with out.listener(live=chosen.get("output") != "inherit") as heard:
        comparison = becalm.compare_layouts(*commands, listener=heard, **chosen)
    out.end(comparison)


STORED_ONLY = ("more_old", "more_new", "shift")


def _stored(sources: tuple[str, ...], keywords: dict[str, Any]) -> NoReturn:
    """Compare two stored results, and exit."""
    if len(sources) != 2:
        raise UsageError(
            "--stored takes the old and the new: becalm compare --stored 12 15, or two files. "
            "Further sessions: --more-old and --more-new."
        )
    known = {*SHARED, *STORED_ONLY, *output.NAMES}
    if other := options.typed(*(name for name in keywords if name not in known)):
        raise UsageError(f"{other[0]} is for programs that are measured; with --stored nothing is. Leave it out.")
    out = output.OutputForm.of(keywords)
    chosen = options.keywords({name: keywords[name] for name in (*SHARED, *STORED_ONLY)}, *STORED)
    out.end(becalm.compare_stored(*sources, warned=output.warned, **chosen))
