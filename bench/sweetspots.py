"""The quality of the detector of sweet spots, and the gain of moving at them: all in simulation.

    python bench/sweetspots.py
    python bench/sweetspots.py --quick     # few streams, small machines: shows that it works

The parts:

- The thesis's counts: five multiplications of matrices whose size is 0.48 to 2 last-level caches. The machine has a
  fourth of the lines in a page and in L1, a sixteenth in L2 and in the last level, and a sixteenth of the window, so
  that a window has as many rows of a multiplication. Each result is written to the pages of the one before.
- Detection: synthetic streams whose changes were drawn, by rule, noise and window.
- Speed: accesses a second of processor time.
- Gain: a program in phases that is moved at random times, at once or at the next spot by the waiting rule, compared
  with the same program never moved.
"""

from __future__ import annotations

import argparse
import math
import resource
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from becalm.errors import UsageError
from becalm.migration import RULES, rules_named
from becalm.migration.engine import ask
from campaign import OUT, Record, begun, describe, save, saved, table

SCALE = 4
SIZES = ((500, 0), (723, 4), (750, 5), (836, 5), (936, 5), (1024, 0))
"""N of the thesis, and at how many of five starts it saw a spot."""

CACHES = (("least recent use", "lru", 12), ("random", "random", 12), ("random, a twelfth of others", "random", 11))
"""Last-level caches: how lines are replaced, and how many of 12 ways are the program's. The thesis's keeps to no exact
order of use, and was not the program's alone; the first one is the simulator's default."""

NOISES, WINDOWS_MS = (0.1, 0.25, 0.5), (1, 5, 20)
SECONDS = 10.0
RATE = 20e6
"""Accesses a second that are wanted."""

T_95 = {4: 2.776, 9: 2.262, 19: 2.093}
"""Student's t, 97.5 %, by degrees of freedom."""


def size(bytes_: int, ways: int) -> dict[str, int]:
    """Return a cache."""
    return {"bytes": bytes_, "ways": ways}


def scaled(**more: Any) -> dict[str, Any]:
    """Return the thesis's machine, smaller."""
    caches = {"l1": size(32768 // SCALE, 8), "l2": size(262144 // SCALE**2, 8), "llc": size((6 << 20) // SCALE**2, 12)}
    return {**caches, **more}


def multiplied(n: int, seed: int, cache: tuple[str, str, int] = CACHES[0]) -> Record:
    """Count the spots of five multiplications by the published rule: near their starts, and in all."""
    window = 5_000_000 // SCALE**2
    name, replacement, ways = cache
    llc = scaled()["llc"]
    machine = scaled(replacement=replacement, llc=size(llc["bytes"] // llc["ways"] * ways, ways))
    program = {"matrixmult": {"n": n // SCALE, "repeats": 5, "pause": 3_000_000, "work": 2}}
    request = {
        "machine": machine, "seed": seed, "page_bytes": 4096 // SCALE, "tick_ns": window // 20,
        "tasks": [{"program": program}],
        "question": {"rules": rules_named("published").within(window), "windows": True},
    }  # fmt: skip
    answer = ask("cache", request)
    marks = [at for at, _ in answer["tasks"][0]["marks"]]
    spots = [spot["time_ns"] for spot in answer["found"]["spots"] if spot["kind"] == 1]
    counts = [window[3:5] for window in answer["found"]["windows"] if window[2] > marks[0]]
    references, misses = (sum(count[at] for count in counts) for at in (0, 1))
    starts = sum(any(mark <= spot <= mark + 2.2 * window for spot in spots) for mark in marks)
    return {"n": n, "seed": seed, "cache": name, "starts": starts, "spots": len(spots), "ratio": misses / references}


def memeater_record(seed: int) -> Record:
    """Run N = 400 of the thesis with memeater on its CPU for a while; count the windows of waiting in which it is
    evicted."""
    window = 5_000_000 // SCALE**2
    program = {"matrixmult": {"n": 400 // SCALE, "repeats": 12, "pause": 3_000_000, "work": 2}}
    eater = {"program": {"memeater": {"bytes": 1 << 20}}, "from_ns": 30_000_000, "until_ns": 60_000_000}
    request = {
        "machine": scaled(), "seed": seed, "page_bytes": 4096 // SCALE, "tick_ns": window // 20,
        "slice_ns": 4_000_000 // SCALE**2, "tasks": [{"program": program}, eater],
        "question": {"rules": rules_named("published").within(window), "windows": True, "tasks": [1]},
    }  # fmt: skip
    result = ask("cache", request)["found"]
    waited = [window for window in result["windows"] if window[5] > 0]
    evicted = [item for item in waited if item[7] & 32]
    inside = [item for item in evicted if item[2] >= 30e6 and item[1] <= 61e6]
    return {"seed": seed, "waited": len(waited), "evicted": len(evicted), "inside": len(inside)}


def detected(rule: str, noise: float, window_ms: float, seed: int) -> Record:
    """Count the changes found, and false spots, of one stream. A spot belongs to a change until two windows after its
    refill."""
    window = round(window_ms * 1e6)
    request = {
        "from": {"synthetic": {"seed": seed, "noise": noise, "seconds": SECONDS}},
        "question": {"rules": rules_named(rule).within(window), "tasks": [100]},
    }
    answer = ask("spots", request)
    row: Record = {"rule": rule, "noise": noise, "window_ms": window_ms}
    for kind in (1, 2):
        truths = [finding for finding in answer["truth"] if finding["kind"] == kind]
        spots = [spot["time_ns"] for spot in answer["spots"] if spot["kind"] == kind]
        spans = [(truth["from_ns"], max(truth["until_ns"], truth["from_ns"]) + 2 * window) for truth in truths]
        row[f"true{kind}"] = len(spans)
        row[f"found{kind}"] = sum(any(low <= spot <= high for spot in spots) for low, high in spans)
        row[f"false{kind}"] = sum(not any(low <= spot <= high for low, high in spans) for spot in spots)
    return row


def speed(quick: bool) -> list[Record]:
    """Return accesses a second of processor time, by program."""
    rows = []
    programs: list[tuple[dict[str, Any], int | None]] = [
        ({"matrixmult": {"n": 64 if quick else 256, "repeats": 2}}, None),
        ({"phases": {"bytes": 1 << 20, "sweeps": 10 if quick else 600, "phases": 4}}, None),
        ({"memeater": {"bytes": 16 << 20}}, 5_000_000 if quick else 500_000_000),
    ]
    for program, until in programs:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        answer = ask("cache", {"tasks": [{"program": program}], **({} if until is None else {"until_ns": until})})
        spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        rows.append({"program": next(iter(program)), "accesses": answer["accesses"], "seconds": spent})
    return rows


MACHINES = (("one LLC", 2, 1), ("two LLCs", 2, 2))
SHARES = (0.02, 0.25, 0.75)
"""Working sets as shares of a last-level cache."""

POLICIES = (
    ("never", None, 0.8, 312_500),
    ("at once", "at_once", 0.8, 312_500),
    ("at a spot", "at_spot", 0.8, 312_500),
    ("at a spot, patient", "at_spot", 0.0, 312_500),
    ("patient, short windows", "at_spot", 0.0, 100_000),
)
"""The ways of making a wanted move: p of the waiting rule, 0.8 as published or 0 to wait longest, and the window,
ns."""


def moved(
    machine: tuple[str, int, int], share: float, policy: tuple[str, str | None, float, int], run: tuple[int, int]
) -> Record:
    """Run a program in phases with moves by a policy; return its processor time, and the number of moves."""
    (name, cpus, llcs), (words, how, reuse, window), (seed, phases) = machine, policy, run
    lines = int(scaled()["llc"]["bytes"] * share) // 64
    sweeps = max(1, round(6_200_000 / (lines * (40 if share > SHARES[0] else 10))))
    program = {"phases": {"bytes": lines * 64, "sweeps": sweeps, "phases": phases}}
    every = [] if how is None else [{"task": 0, "mean_ns": 5_000_000, "cpus": [0, 1], "how": how}]
    request = {
        "machine": scaled(cpus=cpus, llcs=llcs), "seed": seed, "page_bytes": 4096 // SCALE, "tick_ns": window // 20,
        "tasks": [{"program": program}], "every": every,
        "question": {"rules": rules_named("rise").within(window), "waiting": {"reuse": reuse}},
    }  # fmt: skip
    answer = ask("cache", request)
    task = answer["tasks"][0]
    why = [spot for _, spot in task["moved"]]
    return {
        "machine": name, "share": share, "policy": words, "seed": seed, "cycles": task["cycles"], "moves": len(why),
        "at_spots": why.count("spot"),
    }  # fmt: skip


def measured(quick: bool) -> Record:
    """Measure all parts."""
    result: Record = {"config": {"quick": quick}, **begun()}
    seeds = range(1, 2 if quick else 6)
    sizes = SIZES[:1] if quick else SIZES
    result["published"] = [multiplied(n, seed, cache) for cache in CACHES for n, _ in sizes for seed in seeds]
    result["alongside"] = [memeater_record(seed) for seed in seeds]
    print("multiplications: done", file=sys.stderr)
    streams = 9 if quick else 1_000
    result["detected"] = [
        detected(rule.name, NOISES[seed % 3], WINDOWS_MS[seed // 3 % 3], seed)
        for rule in RULES
        for seed in range(streams)
    ]
    print("synthetic streams: done", file=sys.stderr)
    result["speed"] = speed(quick)
    runs = [(seed, 10 if quick else 60) for seed in range(1, 3 if quick else 11)]
    result["gain"] = [
        moved(machine, share, policy, run)
        for machine in MACHINES
        for share in SHARES
        for policy in POLICIES
        for run in runs
    ]
    return result


def _median(values: Sequence[float]) -> float:
    return float(statistics.median(values))


def _published(result: Record) -> str:
    lines = []
    for name, *_ in CACHES:
        for n, published in SIZES:
            rows = [
                multiplication
                for multiplication in result["published"]
                if (multiplication["cache"], multiplication["n"]) == (name, n)
            ]
            if not rows:
                continue
            starts, spots = ([row[counted] for row in rows] for counted in ("starts", "spots"))
            ratios = [row["ratio"] for row in rows]
            llcs = 3 * (n // SCALE) ** 2 * 4 / scaled()["llc"]["bytes"]
            lines.append(
                [
                    name, f"{n}", f"{llcs:.2f}", f"{published}",
                    f"{_median(starts):g} ({min(starts)} to {max(starts)})",
                    f"{_median(spots):g} ({min(spots)} to {max(spots)})", f"{min(ratios):.4f} to {max(ratios):.4f}",
                ]
            )  # fmt: skip
    head = ["Lines replaced", "N", "LLCs", "Published, of 5", "Simulated, of 5", "Spots in all", "Ratio in all windows"]
    return table(head, lines)


def _detected(result: Record) -> str:
    lines = []
    for key, values in (("noise", NOISES), ("window_ms", WINDOWS_MS)):
        for value in values:
            for rule in RULES:
                rows = [stream for stream in result["detected"] if stream["rule"] == rule.name and stream[key] == value]
                minutes = len(rows) * SECONDS / 60
                cells = []
                for kind in (1, 2):
                    true, outcome, false = (sum(row[f"{w}{kind}"] for row in rows) for w in ("true", "found", "false"))
                    cells += [
                        f"{100 * outcome / true:.1f} %" if true else "",
                        f"{false / minutes:.2f}" if minutes else "",
                    ]
                lines.append([f"{key.partition('_')[0]} {value:g}{' ms' if '_' in key else ''}", rule.name, *cells])
    return table(
        ["Streams with", "Rules", "Changes found", "False a minute", "Evictions found", "False a minute"], lines
    )


def gains(result: Record) -> list[Record]:
    """Return the cost of a move by machine, working set and policy: microseconds, with a 95 % interval over the
    seeds."""
    records = []
    for name, *_ in MACHINES:
        for share in SHARES:
            rows = [move for move in result["gain"] if move["machine"] == name and move["share"] == share]
            still = {row["seed"]: row["cycles"] for row in rows if row["policy"] == "never"}
            for words, how, *_ in POLICIES:
                if how is None:
                    continue
                chosen = [row for row in rows if row["policy"] == words and row["moves"]]
                costs = [(run["cycles"] - still[run["seed"]]) / run["moves"] / 3_100 for run in chosen]
                if len(costs) < 2:
                    continue
                half = T_95.get(len(costs) - 1, 12.71) * statistics.stdev(costs) / math.sqrt(len(costs))
                moves = sum(run["moves"] for run in chosen)
                records.append(
                    {
                        "machine": name, "share": share, "policy": words, "us": statistics.fmean(costs), "half": half,
                        "moves": moves, "at_spots": sum(run["at_spots"] for run in chosen) / moves,
                    }
                )  # fmt: skip
    return records


def report(result: Record) -> str:
    """Return the report as Markdown."""
    rate = [
        f"{program['program']} {program['accesses'] / max(program['seconds'], 1e-3) / 1e6:.0f} million"
        for program in result["speed"]
    ]
    waited = result["alongside"]
    gained = [
        [
            gain["machine"], f"{gain['share']:g}", gain["policy"], f"{gain['us']:.1f} ± {gain['half']:.1f} µs",
            f"{gain['moves']}", f"{100 * gain['at_spots']:.0f} %",
        ]
        for gain in gains(result)
    ]  # fmt: skip
    return "\n".join(
        [
            f"Machine: {describe(result['machine'])}.",
            "",
            "Spots at the starts of five multiplications, published rule, over seeds of pages: median and range.",
            "",
            _published(result),
            "",
            f"N = 400 with memeater on its CPU for 30 ms: {sum(window['evicted'] for window in waited)} of "
            f"{sum(window['waited'] for window in waited)} windows with waiting are of type 2, "
            f"{sum(window['inside'] for window in waited)} of these while memeater was there.",
            "",
            f"{len(result['detected']) // len(RULES)} synthetic streams of {SECONDS:g} s:",
            "",
            _detected(result),
            "",
            f"Accesses a second of one core: {', '.join(rate)}.",
            "",
            "Processor time that a wanted move costs by its caches, next to the same program never moved and without "
            "the direct cost of switching; 95 % intervals over seeds:",
            "",
            table(["Machine", "Working set, LLCs", "Moved", "Cost of a move", "Moves", "At spots"], gained),
        ]
    )


def judged(result: Record) -> list[str]:
    """Report for each goal of the project whether it is met."""
    slowest = min(program["accesses"] / max(program["seconds"], 1e-3) for program in result["speed"])
    lines = [f"{slowest / 1e6:.0f} million accesses a second, wanted 20: {'met' if slowest >= RATE else 'not met'}"]
    for n, published in SIZES:
        starts = [
            multiplication["starts"]
            for multiplication in result["published"]
            if (multiplication["cache"], multiplication["n"]) == (CACHES[0][0], n)
        ]
        if starts:
            met = _median(starts) == published
            lines.append(f"N = {n}: {_median(starts):g} of 5, published {published}: {'met' if met else 'not met'}")
    return lines


def main() -> None:
    """Simulate, and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT / "sweetspots.json")
    parser.add_argument("--quick", action="store_true", help="few and small: shows that it works")
    parser.add_argument("--report", action="store_true", help="print the tables of the last measurement")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.out = chosen.out.with_name("sweetspots-quick.json")
    if not chosen.report:
        try:
            save(chosen.out, measured(chosen.quick))
        except UsageError as error:
            raise SystemExit(str(error)) from None
    result = saved(chosen.out)
    print(report(result))
    print("\n".join(["", *judged(result)]))


if __name__ == "__main__":
    main()
