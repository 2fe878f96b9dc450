"""`becalm tune`."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from becalm.cli import options
from becalm.cli.config import config
from becalm.errors import MachineError, UsageError

MEASURING = (
    click.option("--budget", type=options.BUDGET, help="Take about so long: 10min, 2h, none  [default: 30min]."),
    click.option("--seed", type=int, help="Repeat the same random choices."),
    click.option("--confidence", type=options.SHARE, default="95%", show_default=True, help="Of all intervals."),
    click.option("--title", default="", help="What to call the study."),
    options.hosts,
    options.cluster,
    click.option("--user", help="Run the programs as this user (root only)."),
    options.sudo,
    options.root,
    options.dangerous,
    options.allow_reboot,
    options.store,
    click.option("--no-store", is_flag=True, help="Keep nothing; what is stopped cannot go on."),
    options.no_load,
)

SEARCH = (
    click.option("--method", default="race", show_default=True, help="How to search: race, greedy, fast or anneal."),
    click.option("--fast", is_flag=True, help="The same as --method fast: greedy with five runs a trial."),
    click.option(
        "--objective", type=click.Choice(["cv", "mad"]), default="cv", show_default=True, help="What spread is."
    ),
    click.option("--threshold", type=options.SHARE, help="Stop when the spread is at most this: 0.5%."),
    click.option("--margin", type=options.SHARE, default="25%", show_default=True, help="A smaller loss matters not."),
    click.option("--loops", type=int, help="Loops of a trial  [default: the method's]."),
    click.option("--runs", type=int, help="Runs in a row of a loop  [default: the method's]."),
    click.option("--warmups", type=int, help="Loops before a trial that are not counted  [default: the method's]."),
    click.option("--most-runs", type=int, help="Runs of the search at most."),
    click.option("--only", type=options.Knob(), metavar="KNOB", multiple=True, help="Try these settings only."),
    click.option("--without", type=options.Knob(), metavar="KNOB", multiple=True, help="Do not try these."),
    click.option("--preserve-multicore", is_flag=True, help="Try nothing that keeps a program on fewer CPUs."),
    click.option("--confirm-loops", type=int, default=12, show_default=True, help="Loops of the confirmation."),
    click.option("--confirm-runs", type=int, default=5, show_default=True, help="Runs in a row of each."),
    click.option("--no-single-out", is_flag=True, help="Do not measure what each setting contributes."),
    click.option("--no-profiles", is_flag=True, help="Do not compare with llvm-tips and pyperf."),
    click.option("--try", "tried", metavar="PROFILE", multiple=True, help="Search nothing: try these settings here."),
)


@click.command("tune")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--program", "programs", multiple=True, metavar="SOURCE", help="One more program: a command line, pyperf:FILE, …"
)
@click.option("--resume", metavar="STUDY", help="Go on with a study that was stopped: its number, or last.")
@click.option("--save", metavar="NAME|FILE", help="Save what is recommended as a profile.")
@click.option("--report", metavar="FILE", help="Write the report there: .html or .md.")
@options.together(*SEARCH)
@options.together(*MEASURING)
@options.workload
@options.display
@config
def command_tune(
    command: tuple[str, ...],
    programs: tuple[str, ...],
    resume: str | None,
    save: str | None,
    report: str | None,
    no_single_out: bool,
    no_profiles: bool,
    as_json: bool,
    quiet: bool,
    plain: bool,
    **given: Any,
) -> None:
    """Find the system settings under which a program varies least, confirm them, and explain them.

    Afterwards the machine is exactly as before. Without --sudo only settings of the program itself are tried.

    \b
    becalm tune --sudo -- ./bench input
    becalm tune --sudo --budget 10min --program 'gzip -9 -c FILE' --program pyperf:bench.py
    becalm tune --try llvm-tips --try 12 -- ./other
    becalm tune --sudo --host ssh://a --host ssh://b -- ./bench

    One word with spaces is split as a shell would; several words are taken as they are.
    """
    if quiet and as_json:
        raise UsageError("--quiet and --json contradict each other. Leave one out.")
    if not command and not programs and resume is None:
        raise UsageError("Which program? For example: becalm tune --sudo -- ./bench input")
    if resume is not None:
        _resumed_alone(click.get_current_context())
    # Before hours of measuring, not after them.
    where = None if report is None else _report_path(report)
    profile = None if save is None else _profile_path(save)
    from becalm.report.progress import listener
    from becalm.verbs.tune import tune

    given = _keywords(given)
    given["single_out"], given["compare_profiles"] = not no_single_out, not no_profiles
    typed: list[Any] = [command[0] if len(command) == 1 else list(command)] if command else []
    with listener(quiet=quiet, live=not plain, lines=not as_json, plain=plain) as heard:
        if "hosts" in given:
            from becalm.study.transfer import tune_on

            whole: Any = tune_on(programs=[*typed, *programs], resume=resume, listener=heard, **given)
            found: Any = whole.hosts[0].verdict
        else:
            whole = found = tune([*typed, *programs], resume=resume, listener=heard, **given)
    if as_json:
        click.echo(json.dumps(whole.to_json(), indent=2, allow_nan=False))
    elif quiet:
        click.echo(whole.sentence)
    else:
        from becalm.report.terminal import console
        from becalm.report.tune.terminal import steadiness

        out = console(plain=plain)
        if found is not None:
            out.print(steadiness(found, plain=plain))
        if whole is not found:
            from becalm.report.multi_host.terminal import transferred

            out.print(transferred(whole, plain=plain))
    if where is not None and found is not None:
        click.echo(f"Report: {_report(found, where)}", err=True)
    if profile is not None and found is not None:
        click.echo(_save(found, *profile, given.get("store")), err=True)
    sys.stdout.flush()
    if whole is not found:
        sys.exit(whole.exit_code)


WHILE_RESUMING = frozenset(
    ("resume", "save", "report", "sudo", "root", "store", "user", "as_json", "quiet", "plain", "config")
)
"""Options that go with --resume; what and how is measured is the study's own."""


def _resumed_alone(context: click.Context) -> None:
    """Raises UsageError for options and programs that a study to be resumed would not heed."""
    for parameter in context.command.params:
        name = parameter.name or ""
        typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if typed and name not in WHILE_RESUMING:
            what = parameter.opts[0] if isinstance(parameter, click.Option) else "the program"
            raise UsageError(f"--resume goes on with the study's own programs and options. Leave out {what}.")


def _keywords(given: dict[str, Any]) -> dict[str, Any]:
    """What the options mean as keywords of `becalm.tune`."""
    if given.pop("fast"):
        if given["method"] not in ("race", "greedy", "fast"):
            raise UsageError(f"--fast and --method {given['method']} contradict each other. Leave one out.")
        given["method"] = "fast"
    return options.arguments(given)


def _report_path(given: str) -> Path:
    path = Path(given)
    if path.suffix not in (".html", ".htm", ".md"):
        raise UsageError(f"--report writes .html and .md, not {path.name!r}.")
    if not path.parent.is_dir():
        raise UsageError(f"--report: there is no directory {path.parent}.")
    if path.suffix != ".md" and not all(importlib.util.find_spec(name) for name in ("jinja2", "matplotlib")):
        raise UsageError("A page needs jinja2 and matplotlib: pip install 'becalm[report]'. Or write --report FILE.md.")
    return path


def _profile_path(given: str) -> tuple[str, Path | None]:
    """The name and the file that a profile is saved under; no file: among one's own."""
    from becalm.profiles import check_name

    path = Path(given) if "/" in given or given.endswith(".toml") else None
    if path is None:
        check_name(given)
    elif not path.parent.is_dir():
        raise UsageError(f"--save: there is no directory {path.parent}.")
    return (given if path is None else path.stem), path


def _report(found: Any, path: Path) -> Path:
    """Write the report in the form that the file's name asks for."""
    from becalm.report.tune import html, markdown

    write = markdown.write if path.suffix == ".md" else html.page
    try:
        path.write_text(write(found), encoding="utf-8")
    except OSError as error:
        raise MachineError(f"The report {path} cannot be written: {error.strerror}.") from error
    return path


def _save(found: Any, name: str, path: Path | None, store: Any) -> str:
    """Save the recommended settings as a profile, with the machine that they were found on; says where."""
    from dataclasses import replace

    from becalm.profiles import write
    from becalm.study.profile import named

    if not found.settings:
        return "Nothing is recommended, so no profile was saved."
    if found.study is None:
        from becalm.nouns.settings import Settings
        from becalm.profiles import Profile

        return f"Profile: {write(Profile(name, Settings.of(found.settings)), path)}"
    return f"Profile: {write(replace(named(str(found.study), store=store), name=name), path)}"
