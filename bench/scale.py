"""A million recorded runs: memory, time for each, and the size of the store.

    python bench/scale.py

The real measuring loop, history, statistics and store work on the host `null`, which runs nothing and answers at
once: what is seen is becalm's own cost. For each tenth of a second of its clock a record of load is stored, with all
its columns, as the agent makes them on a machine. Each size runs in a process of its own. The time for a run is taken
from the moments at which the loop says that runs are stored, in the first and in the last tenth of them.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from campaign import OUT, Record, begun, describe, save, saved, table, timed

SIZES = (1_000, 10_000, 100_000, 1_000_000)
LOAD_NS = 100_000_000
"""A record of load spans runs until so much time has passed, as the agent's."""

WANTED_BYTES = 150_000_000
WANTED_SLOWDOWN = 1.5
"""Largest ratio of the times for a run in the last and in the first tenth that still counts as not slowing down."""


def child(store: Path, runs: int) -> Record:
    """Compare two programs on the host `null` with `runs` runs in all; called in a fresh process."""
    import becalm
    from becalm.hosts import Event, Loads, MeasureRequest, Runs
    from becalm.hosts.null import NullHost
    from becalm.load.record import Load
    from becalm.nouns.run import Run
    from becalm.nouns.stopping_rule import StoppingRule
    from becalm.results.progress import Quiet
    from becalm.store import Store

    moments: list[tuple[int, float]] = []

    measure, pending = NullHost.measure, list[Run]()
    numbers = [name for name, of in Load.__annotations__.items() if "int" in str(of) or "float" in str(of)]
    counted: dict[str, Any] = dict.fromkeys(numbers, 123_456_789)
    full = Load(0, 0, 0, 0)._replace(**counted)

    def loaded(host: NullHost, request: MeasureRequest) -> Iterator[Event]:
        for event in measure(host, request):
            yield event
            if isinstance(event, Runs):
                pending.extend(event.rows)
            while pending and pending[-1].started_ns - pending[0].started_ns >= LOAD_NS:
                count = sum(run.started_ns - pending[0].started_ns < LOAD_NS for run in pending)
                first, last = pending[0], pending[count - 1]
                begun_ns, ended_ns = first.started_ns, last.started_ns + (last.wall_ns or 0)
                own: dict[str, Any] = {
                    "first": first.seq,
                    "last": last.seq,
                    "started_ns": begun_ns,
                    "interval_ns": ended_ns - begun_ns,
                }
                del pending[:count]
                yield Loads([full._replace(**own)])

    NullHost.measure = loaded  # type: ignore[method-assign, assignment]

    class Clock(Quiet):
        def started(self, study: int | None, names: Sequence[str], goal: StoppingRule) -> None:
            moments.append((0, time.monotonic()))

        def running(self, done: int) -> None:
            moments.append((done, time.monotonic()))

    begun = time.monotonic()
    verdict = becalm.compare(
        [["one"], ["two"]], host="null", runs=runs // 2, warmup=0, store=str(store), seed=1, listener=Clock()
    )
    ended = time.monotonic()
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    with Store.open(str(store)) as opened:
        loads = sum(1 for _ in opened.loads(verdict.study or 0))
    return {
        "runs": sum(summary.runs for summary in verdict.summaries),
        "peak_bytes": peak_bytes,
        "first_s": per_run_s(moments, 0.0, 0.1),
        "last_s": per_run_s(moments, 0.9, 1.0),
        "conclusion_s": ended - moments[-1][1],
        "wall_s": ended - begun,
        "loads": loads,
        "store_bytes": sum(file.stat().st_size for file in store.parent.glob(store.name + "*")),
    }


def per_run_s(moments: Sequence[tuple[int, float]], start: float, end: float) -> float:
    """Return the seconds for a run between two shares of all runs, from (runs done, clock), by linear interpolation."""
    done, clock = np.array(moments, dtype=float).T
    edges = np.interp([start * done[-1], end * done[-1]], done, clock)
    return float((edges[1] - edges[0]) / ((end - start) * done[-1]))


def report(result: Record) -> str:
    """Format the machine and one row for each size as Markdown."""
    header = [
        "Runs",
        "Records of load",
        "Peak memory, MB",
        "First tenth, µs a run",
        "Last tenth",
        "All, s",
        "Conclusion, s",
        "Store, MB",
    ]
    rows = [
        [
            f"{r['runs']:,}",
            f"{r.get('loads', 0):,}",
            f"{r['peak_bytes'] / 1e6:.0f}",
            *(f"{1e6 * r[key]:.1f}" for key in ("first_s", "last_s")),
            *(f"{r[key]:.1f}" for key in ("wall_s", "conclusion_s")),
            f"{r['store_bytes'] / 1e6:.1f}",
        ]
        for r in result["rows"]
    ]
    return f"Machine: {describe(result['machine'])}.\n\n{table(header, rows)}"


def judged(rows: Sequence[Record]) -> list[str]:
    """Report for each goal of the project whether the largest size meets it."""
    largest = max(rows, key=lambda r: int(r["runs"]))
    slowdown = largest["last_s"] / largest["first_s"]
    return [
        f"{largest['runs']:,} runs with their loads in {largest['peak_bytes'] / 1e6:.0f} MB, wanted at most "
        f"{WANTED_BYTES / 1e6:.0f}: " + ("met" if largest["peak_bytes"] <= WANTED_BYTES else "not met"),
        f"a run in the last tenth took {slowdown:.2f} times as long as in the first, wanted at most "
        f"{WANTED_SLOWDOWN:g}: " + ("met" if slowdown <= WANTED_SLOWDOWN else "not met"),
    ]


def main() -> None:
    """Run every size in a process of its own, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of runs, separated by commas")
    parser.add_argument("--out", type=Path, default=OUT / "scale.json")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it works")
    parser.add_argument("--report", action="store_true", help="print the table of the last measurement")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.sizes, chosen.out = "1000,10000", chosen.out.with_name("scale-quick.json")
    sizes = [int(size) for size in chosen.sizes.split(",")]
    if chosen.child is not None:
        print(json.dumps(child(chosen.child, sizes[0])))
        return
    if not chosen.report:
        result: Record = {"config": {"sizes": sizes}, **begun(), "rows": []}
        for size in sizes:
            with tempfile.TemporaryDirectory(prefix="becalm-bench-") as directory:
                store = Path(directory) / "becalm.db"
                done = timed([sys.executable, __file__, "--child", str(store), "--sizes", str(size)])
            result["rows"].append(json.loads(done.stdout))
            print(f"{size:,} runs: {done.wall_s:.1f} s", file=sys.stderr)
        save(chosen.out, result)
    result = saved(chosen.out)
    print(report(result))
    print("\n".join(["", *judged(result["rows"])]))


if __name__ == "__main__":
    main()
