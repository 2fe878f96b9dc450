"""`becalm sweetspots -- CMD`, `--pid N`, `--from FILE` and `becalm sweetspots simulate WORKLOAD…`."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, BinaryIO

import click
from msgspec.structs import replace

import becalm
from becalm.cli import options, output
from becalm.cli.echo import echo
from becalm.errors import UsageError
from becalm.units import cpu_list, duration_ns


@click.command("sweetspots")
@click.option(
    "--from",
    "file",
    metavar="FILE",
    help="Read perf.data, JSON, dumps of callgrind, or a log as in Tabere (2013).",
)
@click.option(
    "--pid", type=options.Number(True, 1), metavar="N", help="Record this running process; with --from, read only it."
)
@click.option("--events", metavar="NAME", help="Events to count: llc, faults or ws_turnover.  [default: llc]")
@click.option("--by", metavar="NAME", help="Record by perf, or by bpf.  [default: perf]")
@click.option("--cpus", type=options.CheckedText("cpus", cpu_list), metavar="LIST", help="Record only these CPUs.")
@click.option("--host", metavar="HOST", help="Host of the program.  [default: local]")
@click.option("--sudo", is_flag=True, help="Move the program through sudo; it runs as you.")
@click.option(
    "--rules", default="rise", show_default=True, help="Rules for sweet spots: rise, published, adaptive or cusum."
)
@click.option(
    "--window", type=options.CheckedText("window", duration_ns), help="Length of a counting window.  [default: 5ms]"
)
@click.option("--seed", default=0, show_default=True, help="Seed of the places of simulated pages.")
@click.option("--until", type=options.CheckedText("until", duration_ns), help="Stop after this simulated time.")
@click.option(
    "--llc",
    metavar="SIZE|CPUS",
    help="Size of the simulated last-level cache (6M); with --from, CPUs of each: 0-15,16-31.",
)
@click.option(
    "--s1",
    type=options.Number(False, 0, 1),
    help="With --rules published: share of misses that counts as many.  [default: 0.1]",
)
@click.option("--s2", type=options.Number(False, 0, 1), help="The same for misses of other programs.  [default: 0.1]")
@click.option(
    "--reuse", type=options.Number(False, 0, 1), help="With --migrate: p of the waiting rule.  [default: 0.8]"
)
@click.option("--miss-cost", metavar="TIME", help="With --migrate: t_s, the cost of losing a cache line: 96.8ns.")
@click.option(
    "--migrate",
    is_flag=False,
    flag_value="least-loaded",
    metavar="[CPU]",
    help="Move the program at the next sweet spot: 1, 2-3, least-loaded, same or other.",
)
@click.option(
    "--limit",
    type=options.CheckedText("limit", duration_ns),
    help="With --migrate: longest wait for a sweet spot.  [default: 100ms]",
)
@click.option("--save", metavar="FILE.json", help="Write the records, for --from.")
@click.option("--csv", "table", metavar="FILE", help="Write the windows as CSV.")
@click.option("--parquet", metavar="FILE", help="Write the windows as Parquet.")
@click.option("--trace", metavar="FILE", help="Write a Perfetto trace: .json, else protobuf.")
@click.option("--log", metavar="FILE", help="Write the first program's windows as a log as in Tabere (2013).")
@output.options
@click.argument("words", nargs=-1, metavar="[CMD... | simulate WORKLOAD...]")
def command_sweetspots(
    words: tuple[str, ...], file: str | None, pid: int | None, rules: str, window: str | None, table: str | None,
    trace: str | None, log: str | None, parquet: str | None, events: str | None, by: str | None, cpus: str | None,
    host: str | None, sudo: bool, migrate: str | None, limit: str | None, s1: float | None, s2: float | None,
    reuse: float | None, miss_cost: str | None, **keywords: Any,
) -> None:  # fmt: skip
    """Find moments at which a running program moves cheaply (docs/explanation/sweetspots.md).

    \b
    becalm sweetspots -- gzip -9 -k FILE
    becalm sweetspots --pid 4711 --events faults
    becalm sweetspots --migrate -- make -j2
    becalm sweetspots --events faults -- kernel:matrixmult:n=300
    becalm sweetspots --pid 4711 --migrate 1
    becalm sweetspots --from tracking.log --rules published
    becalm sweetspots --from perf.data --pid 4711 --llc 0-15,16-31
    becalm sweetspots simulate --llc 384K --window 312us matrixmult:187,5
    becalm sweetspots simulate --llc 384K matrixmult:100,20@0 memeater:1M@0
    """
    out = output.OutputForm.of(keywords)
    for path in (table, parquet, trace, log):
        if path is not None:
            becalm.target(path)
    if parquet is not None:
        from becalm.report.formats import columns

        columns.import_pyarrow()
    simulated = words[:1] == ("simulate",) and bool(words[1:])
    live = {
        "events": events, "by": by, "cpus": cpus, "host": host, "sudo": sudo, "migrate": migrate, "limit": limit,
        "reuse": reuse, "miss_cost": miss_cost,
    }  # fmt: skip
    thresholds: dict[str, Any] = {"s1": s1, "s2": s2}
    chosen = {name: value for name, value in live.items() if value}
    if chosen and (file is not None or simulated):
        raise UsageError(f"--{next(iter(chosen)).replace('_', '-')} is for recording a program: -- CMD, or --pid N.")
    if file is not None:
        llc = keywords.pop("llc")
        if words or any(keywords.values()):
            raise UsageError(
                "--from FILE reads counts that were recorded before. Leave `simulate` and its options out."
            )
        result = becalm.sweetspots(file, rules=rules, window=window, pid=pid, llc=llc, **thresholds)
    elif simulated:
        if pid is not None:
            raise UsageError("--pid is for a running program or a file, not for simulations.")
        result = becalm.simulate_sweetspots(words[1:], rules=rules, window=window, **thresholds, **keywords)
    elif words[:1] != ("simulate",) and (words or pid is not None):
        if words and pid is not None:
            raise UsageError("A command and --pid N cannot be recorded at once. Leave one out.")
        save = keywords.pop("save")
        if any(keywords.values()):
            raise UsageError("--seed, --until and --llc are for simulations. Leave them out.")
        # With --json or --markdown, standard output is only for that; otherwise it is the program's.
        passed_on = bool(words) and not (out.as_json or out.markdown)
        out = replace(out, alongside=passed_on)
        chosen |= {"output": "inherit" if passed_on else "discard", "save": save}
        result = _recorded(words, pid, out, {**chosen, **thresholds, "rules": rules, "window": window})
    else:
        raise UsageError(
            "Which program? Give -- CMD, --pid N, --from FILE, or: becalm sweetspots simulate matrixmult:100,5"
        )
    if table is not None:
        _write(table, result.to_csv())
    if parquet is not None:
        _written(parquet, lambda file: columns.write(result.to_columns(), file))
    if trace is not None:
        from becalm.report import sweetspots_perfetto

        _write(trace, json.dumps(result.to_trace()) if trace.endswith(".json") else sweetspots_perfetto.written(result))
    if log is not None:
        _write(log, result.to_log())
    out.show(result)


def _recorded(words: tuple[str, ...], pid: int | None, out: output.OutputForm, chosen: dict[str, Any]) -> Any:
    """Record a program, with a live display of its counts."""
    from becalm.report.sweetspots_live import live_view

    ratio = chosen.get("events", "llc") == "llc"
    with out.listener(live=False, quiet=True) as heard, ExitStack() as stack:
        if not out.quiet:
            chosen["look"] = stack.enter_context(live_view(ratio, plain=out.plain, redraw=pid is not None))
        command = list(words) or None
        return becalm.record_sweetspots(command, pid=pid, listener=heard, **chosen)


def _write(path: str, content: str | bytes) -> None:
    _written(path, lambda file: file.write(content.encode() if isinstance(content, str) else content))


def _written(path: str, write: Callable[[BinaryIO], object]) -> None:
    try:
        with becalm.writing(path) as file:
            write(file)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from None
    echo(f"Written: {path}", err=True)
