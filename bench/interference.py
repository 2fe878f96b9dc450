"""The shift of a program's time by observing it: a second of additions, alone, under becalm, or under sar or vmstat.

    python bench/interference.py --rounds 40
    python bench/interference.py --quick

Each round runs the program once in each arm, in random order. An arm is compared with the bare runs of the same rounds:
mean of the logarithm of the ratio, with Student's interval. An observer's share of one CPU is becalm's own account, or
the kernel's count for sar and vmstat when they ended (wait4), with their children.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scipy.stats import t

from becalm import hosts
from becalm.hosts import LoadDetail, Loads, MeasureRequest, runs_of
from becalm.nouns.run import Block, Step
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from campaign import OUT, Record, begun, describe, save, saved, table

ROOT = Path(__file__).parents[1]
LARGEST_SHARE = 0.001
LARGEST_SHIFT = 0.001
"""The part by which an observed program may take longer."""

BARE, BECALM = "bare", "becalm"
ALONGSIDE = {"sar -A 1": ["sar", "-A", "1"], "vmstat 1": ["vmstat", "1"]}
CALIBRATION = 50_000_000


@contextmanager
def monitor(command: Sequence[str] | None) -> Iterator[Record]:
    """Run a monitor meanwhile; after it has ended, its account has its CPU time and how long it ran, ns."""
    account: Record = {}
    if command is None:
        yield account
        return
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begun = time.monotonic_ns()
    try:
        # sar starts a child that reads; both are there before the program begins.
        time.sleep(0.2)
        yield account
    finally:
        process.send_signal(signal.SIGINT)
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
        account.update(cpu_ns=1e9 * (used.ru_utime + used.ru_stime), elapsed_ns=time.monotonic_ns() - begun)


def measure(rounds: int, seconds: float) -> Record:
    """Return wall times in ns by arm, one a round, and the accounts of the observers."""
    arms = [BARE, BECALM, *(name for name, command in ALONGSIDE.items() if shutil.which(command[0]))]
    times: dict[str, list[int]] = {arm: [] for arm in arms}
    used: dict[str, list[Record]] = {arm: [] for arm in arms}
    with hosts.open("local") as host:

        def run(iterations: int, arm: str) -> int:
            host.define([Workload(kernel="add", iterations=iterations)], [Settings()])
            with monitor(ALONGSIDE.get(arm)) as account:
                detail = LoadDetail.TOTALS if arm == BECALM else LoadDetail.NONE
                events = list(host.measure(MeasureRequest(0, Block((Step(0, 0, 0, 0),)), detail)))
                (row,) = runs_of(events)
            loads = (load for event in events if isinstance(event, Loads) for load in event.loads)
            used[arm].extend({"cpu_ns": load.cost_ns, "elapsed_ns": load.interval_ns} for load in loads)
            if account:
                used[arm].append(account)
            assert row.wall_ns is not None, "a run that becalm measured has a wall time"
            return row.wall_ns

        fastest = min(run(CALIBRATION, BARE) for _ in range(5))
        iterations = round(CALIBRATION * seconds * 1e9 / fastest)
        # Files are opened and the thread is started once a study, not once a run.
        run(CALIBRATION, BECALM)
        used[BECALM].clear()
        for number in range(rounds):
            for arm in random.sample(arms, len(arms)):
                times[arm].append(run(iterations, arm))
            print(f"round {number + 1} of {rounds}", file=sys.stderr)
    return {"seconds": seconds, "times_ns": times, "used": used}


def shift(bare: Sequence[int], arm: Sequence[int]) -> tuple[float, float, float]:
    """Return the relative shift against the bare runs of the same rounds, with the ends of its 95 % interval."""
    ratios = [math.log(mine / theirs) for mine, theirs in zip(arm, bare, strict=True)]
    mean = statistics.fmean(ratios)
    half = float(t.ppf(0.975, len(ratios) - 1)) * statistics.stdev(ratios) / math.sqrt(len(ratios))
    return tuple(math.expm1(value) for value in (mean, mean - half, mean + half))  # type: ignore[return-value]


def share(accounts: Sequence[Record]) -> float | None:
    """Return CPU time over elapsed time; None without an account."""
    elapsed = sum(account["elapsed_ns"] for account in accounts)
    return sum(account["cpu_ns"] for account in accounts) / elapsed if elapsed else None


def report(result: Record) -> str:
    """Format the machine, and a row for each arm, as Markdown."""
    times, rows = result["times_ns"], []
    for arm, mine in times.items():
        taken = share(result["used"][arm])
        moved = (
            "" if arm == BARE else "{:+.3f} % ({:+.3f} to {:+.3f})".format(*(100 * x for x in shift(times[BARE], mine)))
        )
        spread = statistics.stdev(mine) / statistics.fmean(mine)
        rows.append([arm, f"{statistics.median(mine) / 1e6:.1f}", f"{100 * spread:.2f} %", moved,
                     "" if taken is None else f"{100 * taken:.4f} %"])  # fmt: skip
    head = f"Machine: {describe(result['machine'])}. {len(times[BARE])} rounds of {result['seconds']:g} s.\n\n"
    return head + table(["Arm", "Median, ms", "Spread", "Shift (95 %)", "Share of one CPU"], rows)


def judged(result: Record) -> list[str]:
    """Report for each goal of the project whether it is met."""
    taken = share(result["used"][BECALM])
    _, low, high = shift(result["times_ns"][BARE], result["times_ns"][BECALM])
    met = taken is not None and taken <= LARGEST_SHARE
    most = f"wanted at most {100 * LARGEST_SHARE:.1f} %"
    text = "unknown" if taken is None else f"{100 * taken:.4f} %, {most}: {'met' if met else 'not met'}"
    shifted = "not met" if low > LARGEST_SHIFT else "not decided, the runs are too unequal"
    verdict = "met" if high <= LARGEST_SHIFT else shifted
    return [
        f"share of one CPU: {text}",
        f"a program of {result['seconds']:g} s takes {100 * low:+.2f} to {100 * high:+.2f} % longer, wanted at most "
        f"{100 * LARGEST_SHIFT:.1f} %: {verdict}",
    ]


def main() -> None:
    """Measure, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=1.0, help="how long the program takes alone")
    parser.add_argument("--out", type=Path, default=OUT / "interference.json")
    parser.add_argument("--quick", action="store_true", help="shows in seconds that it works")
    parser.add_argument("--report", action="store_true", help="print the table of what was measured last")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.rounds, chosen.seconds = 3, 0.5
        chosen.out = chosen.out.with_name("interference-quick.json")
    if chosen.rounds < 2:
        raise SystemExit("An interval needs two rounds or more.")
    if chosen.report:
        result = saved(chosen.out)
    else:
        # Monitors are ended by SIGINT, which a job in the background of a shell script ignores, and all that it starts.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        result = {**begun(), **measure(chosen.rounds, chosen.seconds)}
        save(chosen.out, result)
    print(report(result))
    print("\n".join(["", *judged(result)]))


if __name__ == "__main__":
    main()
