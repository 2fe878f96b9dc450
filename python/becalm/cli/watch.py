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

from becalm.cli import options
from becalm.errors import UsageError


@click.command("watch")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--pid", type=click.IntRange(1), metavar="N", help="Watch this running program until it ends.")
@click.option("--interval", type=options.DURATION, default="1s", show_default=True, help="Between two readings.")
@click.option("--count", type=click.IntRange(1), metavar="N", help="End after so many intervals.")
@click.option(
    "--prometheus", metavar="FILE|:PORT", help="Expose it: a file for node_exporter, or a port of this machine."
)
@options.host
@options.sudo
@options.as_json
@options.plain
def command_watch(
    command: tuple[str, ...],
    pid: int | None,
    interval: str,
    count: int | None,
    prometheus: str | None,
    host: str,
    sudo: bool,
    as_json: bool,
    plain: bool,
) -> None:
    """What the machine does, second by second, and what a program gets of it.

    \b
    becalm watch
    becalm watch --pid 4711
    becalm watch --interval 10s --prometheus /var/lib/node_exporter/becalm.prom

    On a terminal a view that is drawn anew (q or Ctrl-C ends it), in a pipe a line an interval.
    """
    if command:
        raise UsageError("Watching the run of a program is not there yet. Start it, and watch it with --pid.")
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
    from becalm.report.watch.prometheus import Exposition
    from becalm.verbs.expose import exposed

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
    from becalm.verdict import SCHEMA

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
