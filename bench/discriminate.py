"""A test which tools tell programs apart whose instruction counts differ by a known amount, and which report
differences that are not there.

    python bench/discriminate.py --budget 4 --trials 20 --trials-zero 100
    python bench/discriminate.py --report

Each trial compares one pair of programs of about 20 ms with every tool, the tools in random order, each with the same
wall time. Which program comes first is random as well. Trials of all differences are mixed in random order, so that
slow changes of the machine hit all alike. Ctrl-C keeps everything finished; the same command goes on from there.
"""

from __future__ import annotations

import argparse
import math
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from campaign import (
    OUT,
    Log,
    Record,
    describe,
    percent,
    read_log,
    save,
    share,
    table,
    versions,
    work_off,
)
from loop import Loop, build, longer
from tools import Tool, make_tools

REFERENCE = "hyperfine, Welch"
RESAMPLES = 4000
WANTED_RIGHT = {0.0: 0.95, 0.003: 0.80, 0.01: 0.98}
WANTED_RATIO = 10
AUTO = "becalm, auto"
SEEN = 0.01
"""The difference whose verdicts are in the README."""


def schedule(differences: Sequence[float], trials: int, trials_zero: int, seed: int) -> list[tuple[float, int]]:
    """Return all pairs of difference and index in random order."""
    plan = [(d, i) for d in differences for i in range(trials if d else trials_zero)]
    random.Random(seed).shuffle(plan)
    return plan


def trial(
    tools: Sequence[Tool], loop: Loop, steps: int, difference: float, index: int, budget: float, seed: int
) -> Record:
    """Measure one pair of programs by every tool, in random order."""
    rng = random.Random(f"{seed}/{difference}/{index}")
    base, other = loop.argv(steps), loop.argv(longer(steps, difference))
    flipped = rng.random() < 0.5
    order = rng.sample(list(tools), len(tools))
    first, second = (other, base) if flipped else (base, other)
    measured = {tool.name: tool.compare(first, second, budget).to_json() for tool in order}
    return {
        "difference": difference,
        "index": index,
        "flipped": flipped,
        "order": [tool.name for tool in order],
        "tools": measured,
    }


def summarize(records: Sequence[Record]) -> list[Record]:
    """Return one row for each difference and reading: verdicts and errors of the estimate.

    Errors are on the logarithm of the ratio of times, with the sign turned so that the longer program is slower.
    """
    rows = []
    for difference in sorted({r["difference"] for r in records}):
        chosen = [r for r in records if r["difference"] == difference]
        names = [(tool, name) for tool in sorted(chosen[0]["tools"]) for name in chosen[0]["tools"][tool]["readings"]]
        errors = {name: np.array([_error(r, tool, name) for r in chosen]) for tool, name in names}
        for tool, name in names:
            answers = [_turn(r) * r["tools"][tool]["readings"][name]["answer"] for r in chosen]
            called = sum(a != 0 for a in answers)
            right = answers.count(1) if difference else answers.count(0)
            row = {
                "difference": difference,
                "reading": name,
                "trials": len(chosen),
                "right": right,
                "wrong": called - right if difference else called,
                "median_error": float(np.median(np.abs(errors[name]))),
                "bias": float(np.median(errors[name])),
                "spread": spread(errors[name]),
                "robust_spread": robust_spread(errors[name]),
                "chosen": dict(Counter(r["tools"][tool].get("chosen", "") for r in chosen)),
                "wall_s": float(np.median([r["tools"][tool]["wall_s"] for r in chosen])),
                "runs": float(np.median([r["tools"][tool]["runs"] for r in chosen])),
            }
            if REFERENCE in errors and name != REFERENCE:
                row["ratio"] = ratio_interval(errors[REFERENCE], errors[name], spread)
                row["robust_ratio"] = ratio_interval(errors[REFERENCE], errors[name], robust_spread)
            rows.append(row)
    return rows


def _turn(record: Record) -> int:
    return -1 if record["flipped"] else 1


def _error(record: Record, tool: str, name: str) -> float:
    estimate = record["tools"][tool]["readings"][name]["estimate"]
    return _turn(record) * math.log1p(estimate) - math.log1p(record["difference"])


def spread(errors: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Return the standard deviation over trials: the standard error that a single comparison really had."""
    return float(np.std(errors, ddof=1)) if len(errors) > 1 else math.nan


def robust_spread(errors: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Return 1.4826 times the median absolute deviation: the standard deviation of a normal distribution, which single
    bursts do not change."""
    return 1.4826 * float(np.median(np.abs(errors - np.median(errors))))


def ratio_interval(
    reference: np.ndarray[Any, np.dtype[np.float64]],
    errors: np.ndarray[Any, np.dtype[np.float64]],
    measure: Callable[[np.ndarray[Any, np.dtype[np.float64]]], float],
) -> tuple[float, float, float] | None:
    """Return how many times larger the reference's spread is: value and 95 % percentile bootstrap over whole trials."""
    if len(errors) < 3 or not measure(errors):
        return None
    rng = np.random.default_rng(1)
    drawn = []
    for _ in range(RESAMPLES):
        pick = rng.integers(len(errors), size=len(errors))
        if below := measure(errors[pick]):
            drawn.append(measure(reference[pick]) / below)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return measure(reference) / measure(errors), float(low), float(high)


def report(result: Record) -> str:
    """Format the machine, the verdicts and the estimates as Markdown."""
    config, rows = result["config"], result["rows"]
    verdicts = [[percent(r["difference"]), r["reading"], *_verdict(r)] for r in rows]
    estimates = [
        [
            percent(r["difference"]),
            r["reading"],
            f"{r['runs']:.0f}",
            f"{r['wall_s']:.2f} s",
            *(percent(r[key], 3) for key in ("median_error", "spread", "robust_spread")),
            *(_times(r.get(key)) for key in ("ratio", "robust_ratio")),
        ]
        for r in rows
    ]
    used = ", ".join(f"{name} {version}" for name, version in config["versions"].items())
    chose = [f"- {percent(r['difference'])}: {_chosen(r['chosen'])}." for r in rows if r["reading"] == AUTO]
    return "\n\n".join(
        (
            f"Machine: {describe(result['machine'])}. {used}. Each tool had {config['budget']:g} s for a comparison, "
            f"{config['budget_zero']:g} s for identical programs. The base makes {config['steps']:,} steps; start-up "
            f"is at most {percent(config['startup_share'])} of its time. Seed {config['seed']}.",
            table(["Difference", "Verdict by", "Right", "Called with the wrong sign or without cause"], verdicts),
            table(
                [
                    *("Difference", "Estimate by", "Runs of each", "Wall time", "Median error"),
                    *("Standard error", "Robust", "hyperfine's is times as large", "Robust"),
                ],
                estimates,
            ),
            *(["The schedule that `--schedule auto` used for the most part:", "\n".join(chose)] if chose else []),
        )
    )


def summary(result: Record) -> str:
    """Format what matters to a reader of the README: false alarms, differences of 1 % that are seen, precision."""
    by_reading: dict[str, dict[float, Record]] = {}
    for row in result["rows"]:
        by_reading.setdefault(row["reading"], {})[row["difference"]] = row
    lines = [
        [
            reading,
            share(rows[0.0]["wrong"], rows[0.0]["trials"]),
            share(rows[SEEN]["right"], rows[SEEN]["trials"]),
            percent(rows[SEEN]["robust_spread"], 2),
        ]
        for reading, rows in by_reading.items()
        if {0.0, SEEN} <= rows.keys()
    ]
    head = ["Verdict by", "Identical programs called different", f"{percent(SEEN)} seen", "Robust standard error"]
    return table(head, lines)


def _chosen(counts: Mapping[str, int]) -> str:
    """Return how often each schedule was used."""
    return ", ".join(f"{schedule} in {count}" for schedule, count in sorted(counts.items(), key=lambda kind: -kind[1]))


def _verdict(row: Record) -> tuple[str, str]:
    return share(row["right"], row["trials"]), share(row["wrong"], row["trials"])


def _times(value: Sequence[float] | None) -> str:
    return "" if value is None else f"{value[0]:.1f} ({value[1]:.1f} to {value[2]:.1f})"


def judged(rows: Sequence[Record]) -> list[str]:
    """Report for each goal of the project whether becalm meets it in these trials."""
    lines = []
    for row in rows:
        if not row["reading"].startswith("becalm"):
            continue
        trials, wanted = row["trials"], WANTED_RIGHT.get(row["difference"], 0.98)
        met = "met" if row["right"] >= wanted * trials else "not met"
        right = f"{share(row['right'], trials)} right, wanted {percent(wanted, 0)}"
        lines.append(f"{row['reading']}, {percent(row['difference'])}: {right}: {met}")
        if row.get("ratio"):
            met = "met" if row["ratio"][0] >= WANTED_RATIO else "not met"
            lines.append(f"  hyperfine's standard error is {_times(row['ratio'])} times as large, wanted 10: {met}")
    return lines


def options() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, default=4.0, help="seconds for each tool and comparison")
    parser.add_argument("--budget-zero", type=float, default=2.0, help="the same for identical programs")
    parser.add_argument("--trials", type=int, default=20, help="trials at each difference")
    parser.add_argument("--trials-zero", type=int, default=100, help="trials of identical programs")
    parser.add_argument("--differences", default="0,0.003,0.01,0.02", help="fractions, separated by commas")
    parser.add_argument("--tools", default="turns,at-once,auto,hyperfine,pyperf,pairs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--out", type=Path, default=OUT / "discriminate.json", help="trials go to the same name, .jsonl"
    )
    parser.add_argument(
        "--quick", action="store_true", help="two trials of 1 s each: shows that it works, proves nothing"
    )
    parser.add_argument("--report", action="store_true", help="print the tables of the trials so far, measure nothing")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.budget, chosen.budget_zero, chosen.trials, chosen.trials_zero = 1.0, 1.0, 2, 2
        chosen.out = chosen.out.with_name("discriminate-quick.json")
    return chosen


def conclude(out: Path) -> None:
    """Summarise the log next to `out`, save the result and print the tables."""
    header, records = read_log(out.with_suffix(".jsonl"))
    if not records:
        raise SystemExit("No trial is finished yet.")
    result = {**header, "rows": summarize(records)}
    save(out, result)
    print(report(result))
    print("\n".join(["", *judged(result["rows"])]))


def measure(chosen: argparse.Namespace, directory: Path) -> None:
    """Build, calibrate and run the trials that are not in the log yet."""
    path = chosen.out.with_suffix(".jsonl")
    loop = build(directory)
    if path.exists():
        steps, startup = (read_log(path)[0]["config"][key] for key in ("steps", "startup_share"))
    else:
        steps = loop.calibrate(0.020)
        startup = round(loop.seconds(0) / loop.seconds(steps), 4)
    differences = [float(d) for d in chosen.differences.split(",")]
    for difference in differences:
        loop.check(longer(steps, difference))
    config = {
        **{key: getattr(chosen, key) for key in ("budget", "budget_zero", "tools", "seed")},
        "steps": steps,
        "startup_share": startup,
        "versions": versions(),
    }
    log = Log(path, config)
    tools = make_tools(chosen.tools.split(","), directory)
    for tool in tools:
        for budget in {chosen.budget, chosen.budget_zero}:
            tool.calibrate(loop.argv(steps), budget)
    done = {(r["difference"], r["index"]) for r in log.records}
    todo = [t for t in schedule(differences, chosen.trials, chosen.trials_zero, chosen.seed) if t not in done]

    def trials() -> Iterator[Callable[[], Record]]:
        for difference, index in todo:
            budget = chosen.budget if difference else chosen.budget_zero
            yield partial(trial, tools, loop, steps, difference, index, budget, chosen.seed)

    work_off(trials(), log, len(todo))


def main() -> None:
    """Measure what is missing, then report."""
    chosen = options()
    if not chosen.report:
        with tempfile.TemporaryDirectory(prefix="becalm-bench-") as directory:
            measure(chosen, Path(directory))
    conclude(chosen.out)


if __name__ == "__main__":
    main()
