"""The output of every verb: text, JSON or Markdown, a report, and an exit code.

`--json`, `--markdown`, `--quiet`, `--plain` and `--report FILE` mean the same everywhere. Where a program's own output
is passed on, standard output is for that alone, and what becalm says goes to standard error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

import becalm
from becalm._version import SCHEMA, VERSION
from becalm.cli.echo import echo, write_out
from becalm.errors import UsageError
from becalm.values import dataclass

F = TypeVar("F", bound=Callable[..., Any])

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/reference/json.md).")


def _ascii(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    if value:
        write_out(sys.stdout, sys.stderr, encoding="ascii")
    return value


plain = click.option("--plain", is_flag=True, callback=_ascii, help="Plain ASCII output, without colours.")
quiet = click.option("--quiet", is_flag=True, help="Print the verdict only.")
markdown = click.option("--markdown", is_flag=True, help="Print Markdown.")
report = click.option("--report", metavar="FILE", help="Write the report there, too: .html, .md or .json.")


def _overwrite(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.with_resource(becalm.overwriting())


overwrite = click.option(
    "--overwrite",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_overwrite,
    help="Replace an existing file that becalm did not write.",
)


def _unit(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    from becalm.wording import numbers

    numbers.time_unit("" if value in (None, "auto") else str(value))


def _sort(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    from becalm.report import sort_order

    sort_order.sort_by(value or "auto")


time_unit = click.option(
    "--time-unit",
    type=click.Choice(("auto", "ns", "us", "ms", "s")),
    callback=_unit,
    expose_value=False,
    help="Write times in this unit.",
)
sort = click.option(
    "--sort",
    type=click.Choice(("auto", "given", "name", "time", "spread")),
    callback=_sort,
    expose_value=False,
    help="Order of the tables; auto: the fastest first where programs are ranked, else as given.",
)


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return several options as one decorator."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


NAMES = ("as_json", "markdown", "quiet", "plain", "report")

options: Callable[[F], F] = together(as_json, markdown, quiet, plain, report, overwrite)


def _drawable(stderr: bool) -> bool:
    """Return whether the characters of tables and intervals can be written at all: not in ASCII or Latin-1."""
    try:
        "…│●█".encode((sys.stderr if stderr else sys.stdout).encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class OutputForm:
    """The form of the output that a person wants."""

    as_json: bool
    markdown: bool
    quiet: bool
    plain: bool
    report: Path | None
    beside: bool = False
    """Whether a program writes to standard output itself, so that becalm writes to standard error."""

    @classmethod
    def of(cls, keywords: dict[str, Any]) -> OutputForm:
        """Return the value of the options above, which are taken out. Raises UsageError, before anything is
        measured."""
        ways = {name: bool(keywords.pop(name, False)) for name in ("as_json", "markdown", "quiet")}
        named = [f"--{name.removeprefix('as_')}" for name, chosen in ways.items() if chosen]
        if len(named) > 1:
            raise UsageError(f"{' and '.join(named)} contradict each other. Leave one out.")
        path, beside = keywords.pop("report", None), keywords.get("output") == "inherit"
        if beside and (ways["as_json"] or ways["markdown"]):
            raise UsageError(
                f"With --output inherit standard output belongs to the program, and {named[0]} would be mixed with it. "
                "Write it to a file: --report FILE.json or FILE.md."
            )
        report = None if path is None else checked(path)
        plain = bool(keywords.pop("plain", False)) or not _drawable(beside)
        return cls(**ways, plain=plain, report=report, beside=beside)

    @contextmanager
    def listener(self, *, live: bool = True, quiet: bool = False) -> Iterator[becalm.ProgressListener]:
        """Yield a progress display, where it does no harm: no moving lines next to a program's own output (`live`)."""
        from becalm.report.progress import listener

        context = click.get_current_context(silent=True)
        shown = listener(
            quiet=self.quiet or quiet,
            live=live and not self.plain,
            lines=not (self.as_json or self.markdown),
            plain=self.plain,
            limits=context is not None and any(param.name == "timeout" for param in context.command.params),
        )
        with shown as heard:
            yield heard

    def show(self, found: Any, store: str | bool | None = None, **more: Any) -> None:
        """Print it, and write the report that was asked for. `more`: what its report on the terminal takes besides."""
        from becalm.report import forms

        if self.as_json:
            click.echo(json.dumps(becalm.to_json(found, store), indent=2, allow_nan=False))
        elif self.markdown:
            echo(forms.as_markdown(found), nl=False)
        elif self.quiet:
            echo(found.sentence, err=self.beside)
        else:
            from becalm.report.terminal import console

            screen = console(plain=self.plain, stderr=self.beside)
            screen.print(forms.on_terminal(found, plain=self.plain, columns=screen.width, **more))
        if self.report is not None:
            write(found, self.report)
        sys.stdout.flush()

    def end(self, found: Any, store: str | bool | None = None) -> NoReturn:
        """Show it, and leave with its exit code."""
        self.show(found, store)
        self.leave(found)

    def leave(self, found: Any) -> NoReturn:
        """Leave with the exit code of what was given."""
        sys.exit(getattr(found, "exit_code", 0))


def checked(path: str) -> Path:
    """Return the path of a report that can be written. Raises UsageError."""
    from becalm.report import forms

    return forms.check(path)


def write(found: Any, path: Path) -> None:
    """Write a report, and say where it is."""
    from becalm.report import forms

    forms.write(found, path)
    echo(f"Report: {path}", err=True)


def as_text(found: Any) -> str:
    """Return a result as Markdown, for a file that is not a report of its own."""
    from becalm.report import forms

    return forms.as_markdown(found)


def warned(sentence: str) -> None:
    """Write a warning to standard error."""
    echo(f"becalm: {sentence}", err=True)


def print_json(kind: str, value: dict[str, Any], *, err: bool = False) -> None:
    """Print an object with what all of them begin with."""
    head = {"becalm": VERSION, "schema": SCHEMA, "kind": kind}
    click.echo(json.dumps({**head, **value}, indent=2, allow_nan=False), err=err)


def words(command: tuple[str, ...]) -> str | list[str]:
    """Return a command as it was typed: one word is a command line, several are taken as they are."""
    return command[0] if len(command) == 1 else list(command)
