"""`becalm sweetspots --from FILE` and `becalm sweetspots simulate WORKLOAD…`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.cli.echo import echo
from becalm.errors import UsageError
from becalm.units import duration_ns


@click.command("sweetspots")
@click.option("--from", "file", metavar="FILE", help="perf.data, a log of the thesis, dumps of callgrind, or JSON.")
@click.option("--pid", type=click.IntRange(1), metavar="N", help="Only this process, and what it forks.")
@click.option("--rules", default="rise", show_default=True, help="rise, published, adaptive or cusum.")
@click.option("--window", type=options.Checked("window", duration_ns), help="Count for so long. [default: 5ms]")
@click.option("--seed", default=0, show_default=True, help="Of the places of simulated pages.")
@click.option("--until", type=options.Checked("until", duration_ns), help="Stop after so much simulated time.")
@click.option("--llc", metavar="SIZE", help="A simulated last-level cache of another size. [default: 6M]")
@click.option("--save", metavar="FILE.json", help="Write the records of a simulation, for --from.")
@click.option("--csv", "table", metavar="FILE", help="Write the windows as CSV.")
@click.option("--trace", metavar="FILE", help="Write ratios, states and spots for ui.perfetto.dev.")
@click.option("--log", metavar="FILE", help="Write the first program's windows as a log of the thesis.")
@output.options
@click.argument("words", nargs=-1, metavar="[simulate WORKLOAD...]")
def command_sweetspots(
    words: tuple[str, ...], file: str | None, pid: int | None, rules: str, window: str | None, table: str | None,
    trace: str | None, log: str | None, **given: Any,
) -> None:  # fmt: skip
    """Say when a running program moves cheaply (docs/explanation/sweetspots.md).

    \b
    becalm sweetspots --from tracking.log --rules published
    becalm sweetspots --from perf.data --pid 4711
    becalm sweetspots simulate --llc 384K --window 312us matrixmult:187,5
    becalm sweetspots simulate --llc 384K matrixmult:100,20@0 memeater:1M@0
    """
    out = output.Output.of(given)
    if file is not None:
        if words or any(given.values()):
            raise UsageError(
                "--from FILE is of what was counted already: neither `simulate` nor its options go with it."
            )
        found = becalm.sweetspots(file, rules=rules, window=window, pid=pid)
    elif pid is not None:
        raise UsageError("--pid is of a file: --from perf.data --pid N.")
    elif words[:1] == ("simulate",) and words[1:]:
        found = becalm.simulate_sweetspots(words[1:], rules=rules, window=window, **given)
    else:
        raise UsageError("What is looked at? --from FILE, or for example: becalm sweetspots simulate matrixmult:100,5")
    for path, text in ((table, found.to_csv), (trace, lambda: json.dumps(found.to_trace())), (log, found.to_log)):
        if path is not None:
            _write(path, text())
    out.show(found)


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from None
    echo(f"Written: {path}", err=True)
