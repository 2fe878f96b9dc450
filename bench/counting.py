"""The cost of `--by bpf` per context switch, and of reading other processes around a run.

    python bench/counting.py            as root, with an agent built with BPF: 12 repetitions, about 3 minutes
    python bench/counting.py --report

Programs are measured with `--by bpf` and without it, in random order: two processes that wake each other through pipes
and over TCP (two switches an exchange), and a loop that only computes. The cost of reading is the CPU time of a record
around one run of /bin/true.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from campaign import OUT, Log, Record, becalm_command, conclude, describe, percent, table, work_off
from loop import build, compile_c

EXCHANGES = {"pipe": 100_000, "tcp": 40_000}
LOOP_S = 0.3
NAMES = {"pipe": "two processes, pipes", "tcp": "two processes, TCP", "loop": "a loop that computes"}
RUNS = 3


def run_study(words: Sequence[str]) -> Record:
    """Return the export of a study of `becalm run` with these words. Raises SystemExit with the reason of a failure."""
    with tempfile.TemporaryDirectory(prefix="becalm-bench-") as directory:
        store = ["--store", f"{directory}/becalm.db"]
        for verb in (["run", *store, *words], ["export", "last", *store]):
            done = subprocess.run([*becalm_command(), *verb], capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"becalm {verb[0]} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
        study: Record = json.loads(done.stdout)
        return study


def columns(part: Record, name: str) -> list[float]:
    """Return a column of the runs or loads of a study."""
    at = part["columns"].index(name)
    return [row[at] for row in part["rows"]]


def pair(index: int, program: str, words: Sequence[str], rng: random.Random) -> Record:
    """Measure a program once with counting and once without, in random order; times are medians of a few runs, ns."""
    times = {}
    for counted in rng.sample((False, True), 2):
        by = ["--by", "bpf"] * counted
        study = run_study([*by, "--runs", str(RUNS), "--warmup", "1", "--quiet", "--", *words])
        times[counted] = statistics.median(columns(study["runs"], "wall_ns")[1:])
    return {"index": index, "program": program, "plain_ns": times[False], "counted_ns": times[True]}


def reading(index: int) -> Record:
    """Return the CPU time of the record around a single run of /bin/true, which begins with a reading of all processes,
    and the number of processes."""
    study = run_study(["--runs", "1", "--warmup", "0", "--quiet", "--", "/bin/true"])
    processes = sum(entry.name.isdigit() for entry in Path("/proc").iterdir())
    return {"index": index, "program": "reading", "ns": columns(study["loads"], "cost_ns")[0], "processes": processes}


def trials(chosen: argparse.Namespace, done: set[tuple[int, str]], place: Path) -> Iterator[Callable[[], Record]]:
    """Yield what is left to measure: all programs of a repetition, in random order."""
    talk, loop = place / "talk", build(place)
    compile_c(Path(__file__).with_name("talk.c"), talk)
    argvs = {name: [str(talk), name, str(round(count * chosen.scale))] for name, count in EXCHANGES.items()}
    argvs["loop"] = loop.argv(loop.calibrate(LOOP_S * chosen.scale))
    for index in range(chosen.repetitions):
        rng = random.Random(f"{chosen.seed}/{index}")
        for name in rng.sample([*argvs, "reading"], len(argvs) + 1):
            if (index, name) not in done:
                yield partial(reading, index) if name == "reading" else partial(pair, index, name, argvs[name], rng)


def median_range(values: Sequence[float], digits: int = 2) -> str:
    """Return the median of values, with the smallest and the largest."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def report(result: Record) -> str:
    """Format the machine and the costs as Markdown."""
    records, scale = result["records"], result["config"]["scale"]
    rows = []
    for name, title in NAMES.items():
        own = [record for record in records if record["program"] == name]
        ratios = [record["counted_ns"] / record["plain_ns"] - 1 for record in own]
        cells = ["", ""]
        if name in EXCHANGES:
            switches = 2 * EXCHANGES[name] * scale
            plain = [record["plain_ns"] / switches / 1e3 for record in own]
            more = [(record["counted_ns"] - record["plain_ns"]) / switches / 1e3 for record in own]
            cells = [median_range(plain), median_range(more)]
        middle, low, high = statistics.median(ratios), min(ratios), max(ratios)
        rows.append([title, *cells, f"{percent(middle)} ({percent(low)} to {percent(high)})"])
    header = ["program", "time per switch without counting, µs", "added per switch, µs", "longer run time"]
    read = [record for record in records if record["program"] == "reading"]
    counts = [record["processes"] for record in read]
    return (
        f"Machine: {describe(result['machine'])}. {len(read)} repetitions; median (smallest to largest).\n\n"
        f"{table(header, rows)}\n\n"
        f"Reading all {statistics.median(counts):.0f} processes before and after a run, with the rest of its record "
        f"of load, takes {median_range([record['ns'] / 1e6 for record in read])} ms of CPU time."
    )


def main() -> int:
    """Measure what is missing, then report. Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=12)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the work of the programs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT / "counting.json")
    parser.add_argument("--quick", action="store_true", help="two small repetitions: shows that it works")
    parser.add_argument("--report", action="store_true", help="print the tables of what was measured so far")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.repetitions, chosen.scale = 2, 0.1
        chosen.out = chosen.out.with_name("counting-quick.json")
    path = chosen.out.with_suffix(".jsonl")
    if not chosen.report:
        log = Log(path, {"scale": chosen.scale, "seed": chosen.seed})
        done = {(record["index"], record["program"]) for record in log.records}
        with tempfile.TemporaryDirectory(prefix="becalm-bench-") as directory:
            work_off(trials(chosen, done, Path(directory)), log, 4 * chosen.repetitions - len(done))
    return conclude(path, chosen.out, report, lambda record: False)


if __name__ == "__main__":
    sys.exit(main())
