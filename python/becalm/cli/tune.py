"""`becalm tune`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import click

import becalm
from becalm.cli import options, output
from becalm.cli.config import config
from becalm.cli.echo import echo
from becalm.errors import UsageError

VALUES = (
    becalm.TuneOptions,
    becalm.Response,
    becalm.Work,
    becalm.SeveralHosts,
    becalm.SessionOptions,
    becalm.CommandLine,
    becalm.Workload,
)

WHILE_RESUMING = frozenset(
    ("resume", "save", "report", "sudo", "root", "store", "user", "overwrite", *output.NAMES, "config")
)
"""Options that go with --resume; what and how is measured is the study's own."""


class SearchCommand(click.Command):
    """A command whose help lists the methods of the table."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of methods after the options."""
        with formatter.section("Methods"):
            formatter.write_dl([(row.name, row.what) for row in becalm.search_methods()])


@click.command("tune", cls=SearchCommand)
@click.argument("command", nargs=-1)
@click.option(
    "--program", "programs", multiple=True, metavar="SOURCE", help="One more program: a command line, pyperf:FILE, …"
)
@click.option(
    "--from",
    "table",
    metavar="FILE",
    help="Measure nothing: choose among the configurations of a table, measured on several machines or days.",
)
@click.option("--resume", metavar="STUDY", help="Continue a study that was stopped: its number, or last.")
@click.option("--save", metavar="NAME|FILE", help="Save what is recommended as a profile.")
@click.option("--dry-run", is_flag=True, help="Say what it would take, after a few pilot runs, and search nothing.")
@click.option("--fast", is_flag=True, help="The same as --method fast: greedy with five runs a trial.")
@options.of(*VALUES, without=("host", "settings"))
@options.of(becalm.TuneTableOptions)
@output.options
@config
def command_tune(
    command: tuple[str, ...],
    programs: tuple[str, ...],
    table: str | None,
    resume: str | None,
    save: str | None,
    fast: bool,
    dry_run: bool,
    **given: Any,
) -> None:
    """Find the system settings under which a program varies least, or runs fastest, confirm and explain them.

    Afterwards the machine is exactly as before. Without --sudo only settings of the program itself are tried.

    \b
    becalm tune --sudo -- ./bench input
    becalm tune --sudo --minimize time --factor slice_ns=0.1..100ms:log -- ./bench
    becalm tune --sudo --budget 10min --program 'gzip -9 -c FILE' --program pyperf:bench.py
    becalm tune --minimize metric --metric 'json:p99,unit=us' -- ./bench
    becalm tune --try llvm-tips --try 12 -- ./other
    becalm tune --sudo --host ssh://a --host ssh://b -- ./bench
    becalm tune --factor t=1..8 --host ssh://a --host ssh://b 'xz -T{t} -k -c FILE'
    becalm tune --from runs.csv --unit machine --value requests --better higher

    One word with spaces is split as a shell would; several words are taken as they are.
    """
    if table is not None:
        _from_table(table, command, given)
    if only := options.typed(*OF_TABLE):
        raise UsageError(f"{only[0]} is about a table of measurements: becalm tune --from FILE.csv")
    if not command and not programs and resume is None:
        raise UsageError("Which program? For example: becalm tune --sudo -- ./bench input")
    out, chosen = output.OutputForm.of(given), options.keywords(given, *VALUES)
    texts = [*([_text(command)] if command else []), *programs]
    if own := becalm.own_factors(texts, tuple(chosen.get("factors") or ())):
        _own(texts, own, out, {"resume": resume, "save": save, "fast": fast, "dry_run": dry_run}, chosen)
        return
    _refuse_unknown(chosen.get("factors") or ())
    if resume is not None:
        _resumed_alone()
    if save is not None:
        # Before hours of measuring, not after them.
        becalm.check_profile(save)
    if fast:
        if chosen.get("method", "fast") not in ("race", "greedy", "fast"):
            raise UsageError(f"--fast and --method {chosen['method']} contradict each other. Leave one out.")
        chosen["method"] = "fast"
    first = [output.words(command)] if command else []
    if dry_run:
        _told(becalm.tune_cost, [*first, *programs], out, resume, save, chosen)
        return
    with out.listener() as heard:
        found = becalm.tune([*first, *programs], resume=resume, listener=heard, **chosen)
    out.show(found)
    if save is not None:
        _save(found, save, chosen.get("store"))
    out.leave(found)


def _text(command: tuple[str, ...]) -> str:
    """Return a command as one line, as a shell would read it."""
    return command[0] if len(command) == 1 else shlex.join(command)


def _own(
    commands: list[str], factors: dict[str, str], out: output.OutputForm, other: dict[str, Any], chosen: dict[str, Any]
) -> None:
    """Choose among configurations of the program itself. Raises UsageError for what would be ignored."""
    if unused := [name for name, value in other.items() if value]:
        raise UsageError(f"--{unused[0].replace('_', '-')} is about settings of the machine, not factors of your own.")
    passed = {name: value for name, value in chosen.items() if name not in ("factors", "minimize")}
    if chosen.get("minimize") == "spread":
        raise UsageError("Of factors of your own the mean is compared: leave out --minimize spread.")
    with out.listener() as heard:
        choice = becalm.tune_programs(*commands, factors=factors, listener=heard, **passed)
    out.show(choice)
    out.leave(choice)


def _refuse_unknown(factors: Sequence[str]) -> None:
    """Raise UsageError for a factor that is no setting and not in the command, with how to write one of one's own."""
    known = {knob.name for knob in becalm.catalogue()}
    for name, equals, values in (factor.partition("=") for factor in factors):
        if equals and name not in known:
            raise UsageError(
                f"There is no setting {name!r}; `becalm knobs` lists them. For a factor of your own write {{{name}}} "
                f"into the command: becalm tune --factor {name}={values} './bench {{{name}}}'"
            )


OF_TABLE = ("units", "value", "better")
"""Options that go with --from alone."""


def _from_table(table: str, command: tuple[str, ...], given: dict[str, Any]) -> NoReturn:
    """Choose among measured configurations, and leave. Raises UsageError for what would be ignored."""
    known = {"table", "factors", *OF_TABLE, *output.NAMES, "config"}
    names = (parameter.name or "" for parameter in click.get_current_context().command.params)
    if other := options.typed(*(name for name in names if name not in known)):
        what = other[0] if other[0].startswith("-") else "The program"
        raise UsageError(f"{what} is for programs that are measured; with --from nothing is. Leave it out.")
    chosen = options.keywords({name: given[name] for name in OF_TABLE}, becalm.TuneTableOptions)
    output.OutputForm.of(given).end(becalm.tune_table(table, factors=given.get("factors") or (), **chosen))


def _told(
    cost: Callable[..., becalm.TuneCost],
    programs: list[str | list[str]],
    out: output.OutputForm,
    resume: str | None,
    save: str | None,
    chosen: dict[str, Any],
) -> None:
    """Report the cost of a search. Raises UsageError for options that need a result."""
    given = {"--resume": resume, "--save": save, "--report": out.report}
    given |= {f"--{name}": chosen.get(name) for name in ("cluster", "store")}
    given["--host, several times,"] = chosen.get("hosts")
    if unused := [name for name, value in given.items() if value is not None]:
        raise UsageError(f"--dry-run searches nothing, so {unused[0]} has no use. Leave one of the two out.")
    found = cost(programs, **chosen)
    if out.as_json:
        click.echo(json.dumps(found.to_json(), indent=2, allow_nan=False))
    else:
        echo(found.sentence)


def _resumed_alone() -> None:
    """Raise UsageError for options and programs that a resumed study ignores."""
    names = (parameter.name or "" for parameter in click.get_current_context().command.params)
    if given := options.typed(*(name for name in names if name not in WHILE_RESUMING)):
        what = given[0] if given[0].startswith("-") else "the program"
        raise UsageError(f"--resume continues with the study's own programs and options. Leave out {what}.")


def _save(found: Any, name: str, store: str | None) -> None:
    """Save what was recommended; on several hosts that of the first."""
    verdict = found.hosts[0].verdict if isinstance(found, becalm.MultiHostVerdict) else found
    if not isinstance(verdict, becalm.TuneVerdict):
        return
    path = becalm.save_profile(verdict, name, store=store)
    echo("Nothing is recommended, so no profile was saved." if path is None else f"Profile: {path}", err=True)
