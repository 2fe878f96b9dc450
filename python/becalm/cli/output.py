"""The output of every verb: text, JSON or Markdown, a report, and an exit code.

`--json`, `--markdown`, `--quiet`, `--plain` and `--report FILE` mean the same everywhere. Where the output of a program
is passed on, standard output is for that program only, and becalm writes to standard error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click
import msgspec

import becalm
from becalm._version import SCHEMA, VERSION
from becalm.cli.echo import echo, write_out
from becalm.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/reference/json.md).")


def _ascii(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    if value:
        write_out(sys.stdout, sys.stderr, encoding="ascii")
    return value


plain = click.option("--plain", is_flag=True, callback=_ascii, help="Plain ASCII output, without colours.")
quiet = click.option("--quiet", is_flag=True, help="Print the verdict only.")
markdown = click.option("--markdown", is_flag=True, help="Print Markdown.")
report = click.option("--report", metavar="FILE", help="Also write the report to FILE: .html, .md or .json.")


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
    help="Unit of times.",
)
sort = click.option(
    "--sort",
    type=click.Choice(("auto", "given", "name", "time", "spread")),
    callback=_sort,
    expose_value=False,
    help="Order of tables; auto: fastest first if programs are ranked, else as given.",
)


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return several decorators of options as one decorator."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


NAMES = ("as_json", "markdown", "quiet", "plain", "report")

options: Callable[[F], F] = together(as_json, markdown, quiet, plain, report, overwrite)


def _drawable(stderr: bool) -> bool:
    """Return whether the stream's encoding has the characters of tables and intervals, which ASCII and Latin-1 lack."""
    try:
        "…│●█".encode((sys.stderr if stderr else sys.stdout).encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


class OutputForm(msgspec.Struct, frozen=True):
    """The form of the output, as chosen by options."""

    as_json: bool
    markdown: bool
    quiet: bool
    plain: bool
    report: Path | None
    alongside: bool = False
    """Whether a measured program writes to standard output, so that becalm writes to standard error."""

    @classmethod
    def of(cls, keywords: dict[str, Any]) -> OutputForm:
        """Return the form for the options above, and remove these from `keywords`. Raises UsageError for options that
        contradict each other, before anything is measured."""
        forms = {name: bool(keywords.pop(name, False)) for name in ("as_json", "markdown", "quiet")}
        named = [f"--{name.removeprefix('as_')}" for name, chosen in forms.items() if chosen]
        if len(named) > 1:
            raise UsageError(f"{' and '.join(named)} contradict each other. Leave one out.")
        path, alongside = keywords.pop("report", None), keywords.get("output") == "inherit"
        if alongside and (forms["as_json"] or forms["markdown"]):
            raise UsageError(
                f"With --output inherit standard output belongs to the program, and {named[0]} would be mixed with it. "
                "Write it to a file: --report FILE.json or FILE.md."
            )
        report = None if path is None else checked(path)
        plain = bool(keywords.pop("plain", False)) or not _drawable(alongside)
        return cls(**forms, plain=plain, report=report, alongside=alongside)

    @contextmanager
    def listener(self, *, live: bool = True, quiet: bool = False) -> Iterator[becalm.ProgressListener]:
        """Yield a listener that displays progress; `live`: with redrawn lines, not alongside a program's own output."""
        from becalm.report.progress import listener

        context = click.get_current_context(silent=True)
        display = listener(
            quiet=self.quiet or quiet,
            live=live and not self.plain,
            lines=not (self.as_json or self.markdown),
            plain=self.plain,
            limits=context is not None and any(param.name == "timeout" for param in context.command.params),
        )
        with display as heard:
            yield heard

    def show(self, result: Any, store: str | bool | None = None, **more: Any) -> None:
        """Print a result and write the report of --report. `more`: further arguments of the report on the terminal."""
        from becalm.report import forms

        if self.as_json:
            click.echo(json.dumps(becalm.to_json(result, store), indent=2, allow_nan=False))
        elif self.markdown:
            echo(forms.as_markdown(result), nl=False)
        elif self.quiet:
            echo(result.sentence, err=self.alongside)
        else:
            from becalm.report.terminal import console

            screen = console(plain=self.plain, stderr=self.alongside)
            screen.print(forms.on_terminal(result, plain=self.plain, columns=screen.width, **more))
        if self.report is not None:
            write(result, self.report)
        sys.stdout.flush()

    def end(self, result: Any, store: str | bool | None = None) -> NoReturn:
        """Print a result, and exit with its exit code."""
        self.show(result, store)
        self.leave(result)

    def leave(self, result: Any) -> NoReturn:
        """Exit with the exit code of a result."""
        sys.exit(getattr(result, "exit_code", 0))


def checked(path: str) -> Path:
    """Return the path of a report that can be written. Raises UsageError."""
    from becalm.report import forms

    return forms.check(path)


def write(result: Any, path: Path) -> None:
    """Write the report of a result, and print its path."""
    from becalm.report import forms

    forms.write(result, path)
    echo(f"Report: {path}", err=True)


def as_text(result: Any) -> str:
    """Return a result as Markdown, for a file that is not a report of its own."""
    from becalm.report import forms

    return forms.as_markdown(result)


def warned(sentence: str) -> None:
    """Write a warning to standard error."""
    echo(f"becalm: {sentence}", err=True)


def print_result(result: Any) -> None:
    """Print a value that has the members that all objects have."""
    click.echo(json.dumps(result.to_json(), indent=2, allow_nan=False))


def print_json(kind: str, value: dict[str, Any], *, err: bool = False) -> None:
    """Print a JSON object, preceded by the members that all objects have."""
    head = {"becalm": VERSION, "schema": SCHEMA, "kind": kind}
    click.echo(json.dumps({**head, **value}, indent=2, allow_nan=False), err=err)


def fields(value: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of a value by name, as `print_json` takes them."""
    result: dict[str, Any] = msgspec.to_builtins(value, enc_hook=str)
    return result


def words(command: tuple[str, ...]) -> str | list[str]:
    """Return a command as it was typed: one word is a command line, several words are its arguments."""
    return command[0] if len(command) == 1 else list(command)
