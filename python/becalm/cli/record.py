"""`becalm record`."""

from __future__ import annotations

from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.errors import UsageError

VALUES = (
    becalm.RecordOptions,
    becalm.HistoryPlaceOptions,
    becalm.RangeOptions,
    becalm.Response,
    becalm.WithProfile,
    becalm.SessionOptions,
    becalm.CommandLine,
    becalm.Workload,
)


@click.command("record")
@options.of(*VALUES, without=("name",))
@output.options
@click.argument("programs", nargs=-1)
def command_record(programs: tuple[str, ...], **keywords: Any) -> None:
    """Measure benchmarks at a commit, for a project's history (docs/how-to/history.md).

    Each argument is a command line, or names programs: suite:benchmarks.toml, pyperf:bench.py.

    \b
    becalm record suite:benchmarks.toml
    becalm record --tag nightly --reference 'sha256sum FILE' './parse input'
    becalm record --project parser --commit v1.2 './parse input'
    becalm record --metric 'p99: ([0-9.]+),unit=ms' --name latency './serve'
    becalm record --commits v1.2..HEAD --build 'make -j4' './parse input'

    --commits builds and measures each commit of a range in a working tree of its own, in random order. Commits that
    have a session on this machine are skipped, so that the same command resumes an interrupted range.
    """
    if not programs:
        raise UsageError("Which benchmarks? For example: becalm record './parse input', or suite:benchmarks.toml")
    out, chosen = output.OutputForm.of(keywords), options.keywords(keywords, *VALUES)
    with out.listener(live=chosen.get("output") != "inherit") as heard:
        if (commits := chosen.pop("commits", None)) is not None:
            out.end(becalm.record_commits(list(programs), commits, listener=heard, **chosen))
        if unused := [name for name in ("build", "build_timeout", "all_parents", "again") if name in chosen]:
            raise UsageError(f"--{unused[0].replace('_', '-')} is for a range of commits: --commits v1.2..HEAD.")
        verdict = becalm.record(list(programs), listener=heard, **chosen)
    out.end(verdict, chosen.get("store"))
