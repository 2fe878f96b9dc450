"""`becalm watch`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import click
from msgspec.structs import replace

import becalm
from becalm.cli import options, output
from becalm.errors import UsageError
from becalm.units import duration_ns

LIVE_ONLY = frozenset(("interval", "count", "prometheus", "pid"))
"""Options of the live view and of --pid only; a run is sampled at its own rate."""

BOTH = frozenset(("host", "sudo", "root", "as_json", "plain", "overwrite", "command"))
"""Options of all three forms; the others are for the run of a program."""

VALUES = (becalm.WatchReference, becalm.WithProfile, becalm.SessionOptions, becalm.CommandLine, becalm.Workload)


@click.command("watch")
@click.argument("command", nargs=-1)
@click.option("--pid", type=options.Number(True, 1), metavar="N", help="Watch this running process until it ends.")
@click.option(
    "--interval",
    type=options.CheckedText("duration", duration_ns),
    default="1s",
    show_default=True,
    help="Time between readings.",
)
@click.option("--count", type=options.Number(True, 1), metavar="N", help="Stop after N intervals.")
@click.option(
    "--prometheus", metavar="FILE|:PORT", help="Export metrics: to a file for node_exporter, or on a local port."
)
@options.of(*VALUES, without=("load",), output="inherit")
@output.options
def command_watch(
    command: tuple[str, ...],
    pid: int | None,
    interval: str,
    count: int | None,
    prometheus: str | None,
    **keywords: Any,
) -> None:
    """Watch the machine, a process or one run live (docs/how-to/watch.md).

    \b
    becalm watch                             # the machine, second by second
    becalm watch --pid 4711                  # a running process
    becalm watch -- gzip -9 -k FILE          # one run, and what delayed it
    becalm watch -- gzip -c FILE > FILE.gz   # the program keeps standard output

    Without a program, a terminal shows a live view (q or Ctrl-C ends it), and a pipe gets one line per interval. With
    one, the report goes to standard error, unless --output discards the program's output.
    """
    out, chosen = output.OutputForm.of(keywords), options.keywords(keywords, *VALUES)
    if command:
        _refuse(LIVE_ONLY, "A program is watched for one run, in samples at becalm's rate")
        _run(command, chosen, out)
    names = {parameter.name or "" for parameter in click.get_current_context().command.params}
    _refuse(frozenset(names) - LIVE_ONLY - BOTH, "There is no program to run")
    _live(pid, {"interval": interval, "count": count, **chosen}, prometheus, out)


def _refuse(names: frozenset[str], reason: str) -> None:
    """Raise UsageError for an option that would be ignored."""
    if typed := options.typed(*names):
        raise UsageError(f"{reason}. Leave out {typed[0]}.")


def _run(command: tuple[str, ...], chosen: dict[str, Any], out: output.OutputForm) -> None:
    """Watch one run, print the report, and exit."""
    # With --json or --markdown, standard output is only for that; otherwise it is the program's.
    if out.as_json or out.markdown:
        chosen.setdefault("output", "discard")
    out = replace(out, alongside=chosen.get("output", "inherit") == "inherit")
    with out.listener(quiet=True) as heard:
        watched = becalm.watch(output.words(command), listener=heard, **chosen)
    out.end(watched)


def _live(pid: int | None, chosen: dict[str, Any], prometheus: str | None, out: output.OutputForm) -> None:
    host, ending = chosen.get("host", "local"), becalm.Ending()
    if pid is None:
        instants = becalm.watch_machine(ending=ending, warned=output.warned, **chosen)
    else:
        instants = becalm.watch_process(pid, ending=ending, warned=output.warned, **chosen)
    with ExitStack() as stack:
        takers = list(_takers(stack, host, prometheus))
        takers.append(_shown(stack, ending.end, host, chosen["interval"], out))
        for instant in instants:
            for take in takers:
                take(instant)


def _takers(stack: ExitStack, host: str, prometheus: str | None) -> Iterator[Callable[[Any], None]]:
    if prometheus is None:
        return
    from becalm.report.watch.exporter import exposed
    from becalm.report.watch.prometheus import Exposition

    expose = stack.enter_context(exposed(prometheus, output.warned))
    exposition = Exposition(host)

    def take(instant: Any) -> None:
        exposition.add(instant)
        expose(exposition.text())

    yield take


def _shown(
    stack: ExitStack, end: Callable[[], None], host: str, every: str, out: output.OutputForm
) -> Callable[[Any], None]:
    if out.as_json:
        return _json
    from becalm.report.watch.keys import keys
    from becalm.report.watch.live import live_view

    if sys.stdout.isatty() and not out.plain:
        stack.enter_context(keys(end))
    return stack.enter_context(live_view(host, every, plain=out.plain))


def _json(instant: Any) -> None:
    """Write an instant as a JSON object on one line."""
    click.echo(json.dumps(instant.to_json(), allow_nan=False))
    sys.stdout.flush()
