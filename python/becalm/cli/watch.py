"""`becalm watch`."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import click
from click.core import ParameterSource

from becalm.cli import options
from becalm.errors import UsageError

LIVE_ONLY = frozenset(("interval", "count", "prometheus", "pid"))
"""Options of the live view and of --pid; a run has samples at a rate of its own."""

BOTH = frozenset(("host", "sudo", "as_json", "plain", "command"))
"""Options of all three; the others are about the run of a program."""


@click.command("watch")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--pid", type=click.IntRange(1), metavar="N", help="Watch this running program until it ends.")
@click.option("--interval", type=options.DURATION, default="1s", show_default=True, help="Between two readings.")
@click.option("--count", type=click.IntRange(1), metavar="N", help="End after so many intervals.")
@click.option("--prometheus", metavar="FILE|:PORT", help="Expose it: a file for node_exporter, or a local port.")
@click.option("--reference", metavar="TIME|STUDY", help="How long the program takes on an idle machine.")
@click.option("--name", help="What to call the program.")
@click.option("--set", "settings", type=options.Setting(), multiple=True, help="nice=-5, cpus=1, aslr=off, …")
@click.option("--title", default="", help="What to call the study.")
@options.host
@click.option("--user", help="Run the program as this user (root only).")
@options.sudo
@options.dangerous
@options.store
@click.option("--no-store", is_flag=True, help="Keep nothing.")
@options.watched_workload
@options.display
def command_watch(
    command: tuple[str, ...],
    pid: int | None,
    interval: str,
    count: int | None,
    prometheus: str | None,
    as_json: bool,
    quiet: bool,
    plain: bool,
    **given: Any,
) -> None:
    """What the machine does, and what a program gets of it.

    \b
    becalm watch -- gzip -9 -k FILE                    one run, and what delayed it
    becalm watch                                       the machine, second by second
    becalm watch --pid 4711                            a program that runs already

    Without a program a terminal shows a view that is drawn anew (q or Ctrl-C ends it), a pipe gets a line an interval.
    """
    context = click.get_current_context()
    if command:
        _alone(context, LIVE_ONLY, "A program is watched for one run, in samples of its own rate")
        sys.exit(_run(command, given, as_json=as_json, quiet=quiet, plain=plain))
    _alone(context, _names(context) - LIVE_ONLY - BOTH, "There is no program to be run")
    host, sudo = given["host"], given["sudo"]
    _live(pid, interval, count, prometheus, host, sudo=sudo, as_json=as_json, plain=plain)


def _names(context: click.Context) -> frozenset[str]:
    return frozenset(parameter.name or "" for parameter in context.command.params)


def _alone(context: click.Context, unwanted: frozenset[str], why: str) -> None:
    """Raises UsageError for an option that was given and that would not be heeded."""
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in unwanted and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UsageError(f"{why}. Leave out {parameter.opts[0]}.")


def _run(command: tuple[str, ...], given: dict[str, Any], *, as_json: bool, quiet: bool, plain: bool) -> int:
    """Watch one run and print what there is to say; returns the exit code."""
    if quiet and as_json:
        raise UsageError("--quiet and --json contradict each other. Leave one out.")
    from becalm.report.progress import listener
    from becalm.verbs.watch_run import watch

    given = {**given, "hosts": (given.pop("host"),), "confidence": "95%", "no_load": False, "seed": None}
    reference = given.pop("reference")
    # With --json standard output is for that alone.
    if as_json and given["output"] == "inherit":
        given["output"] = "discard"
    given = options.arguments(given)
    given.pop("confidence")
    with listener(quiet=True, plain=plain) as heard:
        found = watch(command[0] if len(command) == 1 else list(command), reference=reference, listener=heard, **given)
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=2, allow_nan=False))
    elif quiet:
        click.echo(found.sentence)
    else:
        from becalm.report.terminal import console
        from becalm.report.watch.terminal import watched

        out = console(plain=plain)
        out.print(watched(found, plain=plain, columns=out.width))
    sys.stdout.flush()
    return 0 if found.run.outcome == "ok" else 130 if found.run.outcome == "aborted" else 4


def _live(
    pid: int | None,
    interval: str,
    count: int | None,
    prometheus: str | None,
    host: str,
    *,
    sudo: bool,
    as_json: bool,
    plain: bool,
) -> None:
    from becalm.verbs.watch import Watching, follow, live

    ending = threading.Event()
    stops: list[Callable[[], None]] = []

    def end() -> None:
        ending.set()
        for stop in stops:
            stop()

    watching = Watching(interval, count, host, sudo, ending=ending, connected=lambda found: stops.append(found.stop))
    instants = live(watching) if pid is None else follow(pid, watching)
    with ExitStack() as stack:
        stack.enter_context(_signals(end))
        takers = list(_takers(stack, host, prometheus))
        takers.append(_shown(stack, end, host, interval, as_json, plain))
        for instant in instants:
            for take in takers:
                take(instant)


def _takers(stack: ExitStack, host: str, prometheus: str | None) -> Iterator[Callable[[Any], None]]:
    if prometheus is None:
        return
    from becalm.report.watch.exporter import exposed
    from becalm.report.watch.prometheus import Exposition

    expose = stack.enter_context(exposed(prometheus, lambda sentence: click.echo(f"becalm: {sentence}", err=True)))
    exposition = Exposition(host)

    def take(instant: Any) -> None:
        exposition.add(instant)
        expose(exposition.text())

    yield take


def _shown(
    stack: ExitStack, end: Callable[[], None], host: str, every: str, as_json: bool, plain: bool
) -> Callable[[Any], None]:
    if as_json:
        return _json
    from becalm.report.watch.keys import keys
    from becalm.report.watch.live import shown

    if sys.stdout.isatty() and not plain:
        stack.enter_context(keys(end))
    return stack.enter_context(shown(host, every, plain=plain))


def _json(instant: Any) -> None:
    """One object a line, each by itself."""
    from becalm._version import VERSION
    from becalm.nouns.verdict import SCHEMA

    head = {"becalm": VERSION, "schema": SCHEMA, "kind": "instant"}
    click.echo(json.dumps({**head, **instant.to_json()}, allow_nan=False))
    sys.stdout.flush()


@contextmanager
def _signals(end: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM ends watching in order; a second one has its usual effect."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {each: signal.getsignal(each) for each in numbers}

    def restore() -> None:
        for each, handler in before.items():
            signal.signal(each, handler)

    def stop(number: int, frame: object) -> None:
        restore()
        end()

    for each in numbers:
        signal.signal(each, stop)
    try:
        yield
    finally:
        restore()
