"""The speed and memory of the scheduler simulator, and the gain that each search finds on it.

    python bench/simulate.py
    python bench/simulate.py --quick     # small sizes, one search: shows that it works

Three workloads under both policies, each in a process of its own: hackbench with 20 groups and 1,000 messages a pair
(8,000,000 messages; Anderson's simulator took 53 s), 20,000 spinners on 1,000 CPUs, and 10,000 clients that ask 10,000
servers there, where every event is a wake-up. CPU seconds are the kernel's (getrusage(2)), and peak memory (VmHWM).
Memory must not grow with the events, so hackbench runs once more with a tenth of them. Then `becalm tune --minimize
time` searches three factors of `sim:cfs` by each method. Last, costs are fitted to simulated machines whose costs are
drawn: writing and reading differ, waking and switching cost from a tenth to ten times as much, and each step varies.
The predictions of the fit to 2 and 6 groups for 4, 8, ..., 20 are compared with the times of those machines.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from campaign import OUT, Record, becalm_command, begun, describe, save, saved, table

WANTED_S, HOPED_S = 2.0, 0.5
WANTED_EVENTS = 5e6
POLICIES = ("cfs", "eevdf")
METHODS = ("surface", "swarm", "golden", "bayes")
FACTORS = ("sched_latency_ns=0.1..1000ms:log", "sched_min_granularity_ns=0.1..1000ms:log")
FITS, FIT_LOOPS, WANTED_MISS = 6, 30, 0.1
GRANULARITY = "sched_wakeup_granularity_ns=0.1..1000ms:log"


def hackbench(groups: int, loops: int) -> Record:
    """Return the workload of hackbench."""
    return {"workload": {"hackbench": {"groups": groups, "loops": loops}}}


def spinners(tasks: int, cpus: int) -> Record:
    """Return tasks that compute 50 ms each, on some CPUs of which each 8 share a cache."""
    result = [{"name": f"spinner {number}", "program": 0} for number in range(tasks)]
    work = {"programs": [[{"compute": 50_000_000}]], "tasks": result}
    return {"workload": {"tasks": work}, "machine": {"cpus": cpus, "llc_cpus": 8}}


def requests(pairs: int, cpus: int, count: int) -> Record:
    """Return clients and a server each: 50 us of work, a message, 100 us of work there, a message back, 200 us of
    pause."""
    client = [{"repeat": count}, {"compute": 50_000}, {"send": 0}, {"receive": 1}, {"sleep": 200_000}, "end"]
    server = [{"repeat": count}, {"receive": 0}, {"compute": 100_000}, {"send": 1}, "end"]
    tasks = [
        {"name": f"{name} {pair}", "program": program, "channel": 2 * pair}
        for pair in range(pairs)
        for program, name in enumerate(("client", "server"))
    ]
    work = {"programs": [client, server], "tasks": tasks, "room": [16] * (2 * pairs)}
    return {"workload": {"tasks": work}, "machine": {"cpus": cpus, "llc_cpus": 8}}


def workloads(quick: bool) -> dict[str, Record]:
    """Return the workloads by their names in the table."""
    if quick:
        return {
            "hackbench": hackbench(2, 20), "hackbench, a tenth": hackbench(2, 2),
            "spinners": spinners(200, 10), "requests": requests(100, 10, 5),
        }  # fmt: skip
    return {
        "hackbench": hackbench(20, 1000), "hackbench, a tenth": hackbench(20, 100),
        "spinners": spinners(20_000, 1_000), "requests": requests(10_000, 1_000, 50),
    }  # fmt: skip


def simulated(request: Record, policy: str) -> Record:
    """Run one simulation in a process of its own."""
    from becalm.hosts.simulated.scheduler.engine import simulator_path

    request_line = json.dumps({**request, "policy": {policy: {}}}) + "\n"
    with subprocess.Popen([simulator_path()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(request_line)
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        # Of its own memory: the largest of getrusage(2) is that of the process before it became this program, too.
        text = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        peak = next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("VmHWM:"))
        process.stdin.close()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if "summary" not in answer:
        raise SystemExit(f"The simulator answered {answer}")
    summary = answer["summary"]
    return {
        "events": summary["events"], "messages": summary["messages"],
        "tasks": summary["tasks"], "cpus": summary["cpus"],
        "cpu_s": used.ru_utime + used.ru_stime, "peak_bytes": peak,
    }  # fmt: skip


def searched(method: str, quick: bool) -> Record:
    """Search on the model; return the gain on fresh runs, and what the search took."""
    groups, loops = ("2", "10") if quick else ("5", "100")
    factors = [f"--factor={factor}" for factor in (*FACTORS, GRANULARITY)]
    if method == "golden":
        factors = [f"--factor={GRANULARITY}", "--path", GRANULARITY.partition("=")[0]]
    arguments = [
        *becalm_command(), "tune", "--minimize", "time", "--method", method, "--host", "sim:cfs?jitter=0.02",
        *("--budget", "60s", "--seed", "1", "--no-store", "--json", *factors),
        *("--", "hackbench", "-g", groups, "-l", loops),
    ]  # fmt: skip
    start = time.monotonic()
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    document = json.loads(done.stdout)
    ratios = [arm["ratio"] for arm in document["comparisons"] if arm["ratio"] is not None]
    return {
        "method": method, "runs": document["search_runs"], "fresh": document["confirm_runs"],
        "wall_s": time.monotonic() - start, "ratio": ratios[0] if ratios else None,
    }  # fmt: skip


def fitted(number: int, policy: str, quick: bool) -> Record:
    """Fit costs to a machine with drawn costs; return how far other sizes are off, and how long it took."""
    import numpy as np

    import becalm

    rng = np.random.default_rng(number)
    message = float(np.exp(rng.uniform(np.log(500), np.log(50_000))))
    write, wakeup, switch = message * np.exp(rng.normal(0, [0.3, 1.0, 1.0])) * [1, 1, 2]
    true = {"write_ns": write, "read_ns": message, "wakeup_ns": wakeup, "switch_ns": switch}
    options = "&".join(f"{name}={max(1, round(float(value)))}" for name, value in true.items())
    start = time.monotonic()
    calibration = becalm.calibrate_simulation(
        f"sim:{policy}?{options}&jitter=0.05:{number}", simulator=f"sim:{policy}", validate=True, runs=3,
        loops=3 if quick else FIT_LOOPS,
    )  # fmt: skip
    return {"policy": policy, "true": options, "worst": calibration.worst, "wall_s": time.monotonic() - start}


def report(result: Record) -> str:
    """Format the machine, the simulations, and the searches as Markdown."""
    header = ["Workload", "Policy", "Tasks, CPUs", "Events", "CPU, s", "Million events a second", "Peak memory, MiB"]
    rows = [
        [
            r["workload"], r["policy"], f"{r['tasks']:,}, {r['cpus']:,}", f"{r['events']:,}", f"{r['cpu_s']:.2f}",
            f"{r['events'] / r['cpu_s'] / 1e6:.1f}", f"{r['peak_bytes'] / 2**20:.0f}",
        ]
        for r in result["rows"]
    ]  # fmt: skip
    searches = [
        [r["method"], str(r["runs"]), str(r["fresh"]), f"{r['wall_s']:.0f}", gain(r["ratio"])]
        for r in result["searches"]
    ]
    tables = [table(header, rows), table(["Method", "Runs", "Fresh runs", "Seconds", "Less time"], searches)]
    head = ["Policy", "Machines", "Worst size, median", "Worst of all", "Within 10 %", "Seconds of a fit"]
    fits = table(head, [fits_of(result["fits"], policy) for policy in POLICIES])
    tables.append(f"Costs fitted to 2 and 6 groups of simulated machines, other sizes:\n\n{fits}")
    return "\n\n".join([f"Machine: {describe(result['machine'])}.", *tables])


def fits_of(fits: Sequence[Record], policy: str) -> list[str]:
    """Return a row of the table of fits."""
    rows = [fit for fit in fits if fit["policy"] == policy]
    worst = [row["worst"] for row in rows]
    percents = [f"{100 * value:.1f} %" for value in (statistics.median(worst), max(worst))]
    within = str(sum(error <= WANTED_MISS for error in worst))
    return [policy, str(len(rows)), *percents, within, f"{statistics.median(row['wall_s'] for row in rows):.1f}"]


def gain(ratio: dict[str, Any] | None) -> str:
    """Format how much less time it takes, with its interval."""
    if ratio is None:
        return "nothing found"
    low, value, high = (100 * (1 - 1 / ratio[end]) for end in ("low", "value", "high"))
    return f"{value:.1f} % ({low:.1f} to {high:.1f})"


def judged(records: Sequence[Record]) -> list[str]:
    """Report for each goal of the project whether the simulations meet it."""
    rows = {(r["workload"], r["policy"]): r for r in records}
    lines = []
    for policy in POLICIES:
        whole, tenth = (rows[name, policy] for name in ("hackbench", "hackbench, a tenth"))
        seconds = whole["cpu_s"]
        speed, slowest = min((row["events"] / row["cpu_s"], name) for (name, of), row in rows.items() if of == policy)
        better = f" ({HOPED_S:g} better)" if seconds > HOPED_S else ""
        lines += [
            f"{policy}: {whole['messages']:,} messages in {seconds:.2f} s of CPU, wanted {WANTED_S:g}{better}: "
            + ("met" if seconds <= WANTED_S else "not met"),
            f"{policy}: at least {speed / 1e6:.1f} million events a second ({slowest}), wanted "
            f"{WANTED_EVENTS / 1e6:g}: " + ("met" if speed >= WANTED_EVENTS else "not met"),
            f"{policy}: ten times as many events take {whole['peak_bytes'] / tenth['peak_bytes']:.2f} times the memory"
            ", wanted at most 1.5: " + ("met" if whole["peak_bytes"] <= 1.5 * tenth["peak_bytes"] else "not met"),
        ]
    return lines


def main() -> None:
    """Simulate, search, and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT / "simulate.json")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it works")
    parser.add_argument("--report", action="store_true", help="print the table of the last measurement")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.out = chosen.out.with_name("simulate-quick.json")
    if not chosen.report:
        result: Record = {"config": {"quick": chosen.quick}, **begun(), "rows": [], "searches": [], "fits": []}
        for name, request in workloads(chosen.quick).items():
            for policy in POLICIES:
                result["rows"].append({"workload": name, "policy": policy, **simulated(request, policy)})
        for method in METHODS[2:3] if chosen.quick else METHODS:
            result["searches"].append(searched(method, chosen.quick))
            print(f"{method}: {result['searches'][-1]['wall_s']:.0f} s", file=sys.stderr)
        for number in range(1 if chosen.quick else FITS):
            result["fits"] += [fitted(number, policy, chosen.quick) for policy in POLICIES]
        save(chosen.out, result)
    result = saved(chosen.out)
    print(report(result))
    print("\n".join(["", *judged(result["rows"])]))


if __name__ == "__main__":
    main()
