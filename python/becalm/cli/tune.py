"""`becalm tune`."""

from __future__ import annotations

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
"""Options that go with --resume; all others come from the study."""


class SearchCommand(click.Command):
    """A command whose help lists the methods of the table."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of methods after the options."""
        with formatter.section("Methods"):
            formatter.write_dl([(row.name, row.what) for row in becalm.search_methods()])


@click.command("tune", cls=SearchCommand)
@click.argument("command", nargs=-1)
@click.option(
    "--program", "programs", multiple=True, metavar="SOURCE", help="Another program: a command line, pyperf:FILE, …"
)
@click.option(
    "--from",
    "table",
    metavar="FILE",
    help="Measure nothing; choose from a table of results from several machines or days.",
)
@click.option("--resume", metavar="STUDY", help="Resume an interrupted study: its number, or last.")
@click.option("--save", metavar="NAME|FILE", help="Save the recommended settings as a profile.")
@click.option("--dry-run", is_flag=True, help="Make a few pilot runs, and report the cost of the search.")
@click.option("--fast", is_flag=True, help="Short for --method fast.")
@options.of(*VALUES, without=("host", "settings", "by"))
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
    **keywords: Any,
) -> None:
    """Find system settings under which a program varies least, or runs fastest; confirm and explain them.

    Afterwards all settings are restored. Without --sudo only settings of the program itself are tried.

    \b
    becalm tune --sudo -- ./bench input
    becalm tune --sudo --minimize time --factor slice_ns=0.1..100ms:log -- ./bench
    becalm tune --sudo --program 'gzip -9 -c FILE' --program pyperf:bench.py
    becalm tune --minimize metric --metric 'json:p99,unit=us' -- ./bench
    becalm tune --try llvm-tips --try 12 -- ./other
    becalm tune --sudo --host ssh://a --host ssh://b -- ./bench
    becalm tune --factor t=1..8 --host ssh://a --host ssh://b 'xz -T{t} -c FILE'
    becalm tune --from runs.csv --unit machine --value requests --better higher

    A single word is split as a shell would; several words are used as they are.
    """
    if table is not None:
        _from_table(table, command, keywords)
    if only := options.typed(*OF_TABLE):
        raise UsageError(f"{only[0]} is about a table of measurements: becalm tune --from FILE.csv")
    if not command and not programs and resume is None:
        raise UsageError("Which program? For example: becalm tune --sudo -- ./bench input")
    out, chosen = output.OutputForm.of(keywords), options.keywords(keywords, *VALUES)
    texts = [*([_text(command)] if command else []), *programs]
    if own := becalm.own_factors(texts, tuple(chosen.get("factors") or ())):
        _tune_programs(texts, own, out, {"resume": resume, "save": save, "fast": fast, "dry_run": dry_run}, chosen)
        return
    _refuse_unknown(chosen.get("factors") or ())
    if resume is not None:
        _refuse_unless_resumed()
    if save is not None:
        # A problem is reported before hours of measuring, not after them.
        becalm.check_profile(save)
    if fast:
        if chosen.get("method", "fast") not in ("race", "greedy", "fast"):
            raise UsageError(f"--fast and --method {chosen['method']} contradict each other. Leave one out.")
        chosen["method"] = "fast"
    first = [output.words(command)] if command else []
    if dry_run:
        _report_cost(becalm.tune_cost, [*first, *programs], out, resume, save, chosen)
        return
    with out.listener() as heard:
        verdict = becalm.tune([*first, *programs], resume=resume, listener=heard, **chosen)
    out.show(verdict)
    if save is not None:
        _save(verdict, save, chosen.get("store"))
    out.leave(verdict)


def _text(command: tuple[str, ...]) -> str:
    """Return a command as one line for a shell."""
    return command[0] if len(command) == 1 else shlex.join(command)


def _tune_programs(
    commands: list[str], factors: dict[str, str], out: output.OutputForm, other: dict[str, Any], chosen: dict[str, Any]
) -> None:
    """Choose among configurations of the program. Raises UsageError for options that would be ignored."""
    if unused := [name for name, value in other.items() if value]:
        raise UsageError(
            f"--{unused[0].replace('_', '-')} is for settings of the machine, not for factors of your own."
        )
    passed = {name: value for name, value in chosen.items() if name not in ("factors", "minimize")}
    if chosen.get("minimize") == "spread":
        raise UsageError("With factors of your own the mean is compared: leave out --minimize spread.")
    with out.listener() as heard:
        choice = becalm.tune_programs(*commands, factors=factors, listener=heard, **passed)
    out.show(choice)
    out.leave(choice)


def _refuse_unknown(factors: Sequence[str]) -> None:
    """Raise UsageError for a factor that is neither a setting nor in the command."""
    known = {knob.name for knob in becalm.catalogue()}
    for name, equals, values in (factor.partition("=") for factor in factors):
        if equals and name not in known:
            raise UsageError(
                f"There is no setting {name!r}; `becalm knobs` lists them. For a factor of your own write {{{name}}} "
                f"into the command: becalm tune --factor {name}={values} './bench {{{name}}}'"
            )


OF_TABLE = ("units", "value", "better")
"""Options that go only with --from."""


def _from_table(table: str, command: tuple[str, ...], keywords: dict[str, Any]) -> NoReturn:
    """Choose among measured configurations, and exit. Raises UsageError for options that would be ignored."""
    known = {"table", "factors", *OF_TABLE, *output.NAMES, "config"}
    names = (parameter.name or "" for parameter in click.get_current_context().command.params)
    if other := options.typed(*(name for name in names if name not in known)):
        subject = other[0] if other[0].startswith("-") else "The program"
        raise UsageError(f"{subject} is for programs that are measured; with --from nothing is. Leave it out.")
    chosen = options.keywords({name: keywords[name] for name in OF_TABLE}, becalm.TuneTableOptions)
    output.OutputForm.of(keywords).end(becalm.tune_table(table, factors=keywords.get("factors") or (), **chosen))


def _report_cost(
    cost: Callable[..., becalm.TuneCost],
    programs: list[str | list[str]],
    out: output.OutputForm,
    resume: str | None,
    save: str | None,
    chosen: dict[str, Any],
) -> None:
    """Report the cost of a search. Raises UsageError for options that need a result."""
    values = {"--resume": resume, "--save": save, "--report": out.report}
    values |= {f"--{name}": chosen.get(name) for name in ("cluster", "store")}
    values["--host, several times,"] = chosen.get("hosts")
    if unused := [name for name, value in values.items() if value is not None]:
        raise UsageError(f"--dry-run searches nothing, so {unused[0]} has no use. Leave one of the two out.")
    cost_estimate = cost(programs, **chosen)
    if out.as_json:
        output.print_result(cost_estimate)
    else:
        echo(cost_estimate.sentence)


def _refuse_unless_resumed() -> None:
    """Raise UsageError for options and programs that a resumed study would ignore."""
    names = (parameter.name or "" for parameter in click.get_current_context().command.params)
    if typed := options.typed(*(name for name in names if name not in WHILE_RESUMING)):
        extra = typed[0] if typed[0].startswith("-") else "the program"
        raise UsageError(f"--resume continues with the study's own programs and options. Leave out {extra}.")


def _save(result: Any, name: str, store: str | None) -> None:
    """Save the recommendation, of several hosts that of the first."""
    verdict = result.hosts[0].verdict if isinstance(result, becalm.MultiHostVerdict) else result
    if not isinstance(verdict, becalm.TuneVerdict):
        return
    path = becalm.save_profile(verdict, name, store=store)
    echo("Nothing is recommended, so no profile was saved." if path is None else f"Profile: {path}", err=True)
