"""A test whether `becalm tune` finds or equals published scheduler settings in five minutes, in a guest with CFS (6.1).

    python bench/published.py                  # five studies of five minutes, each tried as long: 50 minutes
    python bench/published.py --studies 3
    python bench/published.py --report         # what is kept
    python bench/published.py --quick          # one study of a minute: shows that it works; kept apart

The published settings are those of Anderson 2013 (Operating System Scheduling Optimization, section 4.3), the optimum
of a fitted surface in three factors: minimum granularity, latency, wake-up granularity. Each study searches the same
factors with a seed of its own, as a person would. What it recommends is then tried next to the published settings by
another becalm, on a boot of its own: both against the defaults, interleaved. A study that recommends nothing has gained
nothing.

Each finished study is a line of bench/out/published.jsonl; the same command goes on after Ctrl-C. Needs QEMU, a kept
kernel (`becalm guest prepare 6.1`) and hackbench (Debian: rt-tests).
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from becalm.results.tune_arms import BASELINE
from campaign import OUT, Log, Record, describe, read_log, save, table, work_off
from tuning_guest import FACTORS

PUBLISHED = {
    "sched_latency_ns": 242_437_236,
    "sched_min_granularity_ns": 103_600,
    "sched_wakeup_granularity_ns": 780_657_445,
}
"""The optimum that the source reports."""

PROGRAM = "hackbench -p -g 2 -l 20"
"""A load that gains by the published settings in a guest of two CPUs, and whose runs differ by up to 40 % there."""

HOST = "guest:6.1?cpus=2&limit=300s"

STUDIES = 5

KEPT = OUT / "published.jsonl"


def tune(options: Sequence[str], program: str, state: Path) -> dict[str, Any]:
    """Return what `becalm tune` reports as JSON. Raises SystemExit where it fails."""
    arguments = ["tune", "--minimize", "time", "--host", HOST, "--json", *options, "--", *shlex.split(program)]
    place = ["env", f"BECALM_STORE={state / 'store.db'}", sys.executable, "-m", "becalm"]
    print(f"\nbecalm {' '.join(arguments)}", flush=True)
    done = subprocess.run([*place, *arguments], stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1, 5):
        raise SystemExit(done.returncode)
    result: dict[str, Any] = json.loads(done.stdout)
    print(result["sentence"], flush=True)
    return result


def search(seed: int, budget: str, program: str) -> Record:
    """Search once, as a person would."""
    with tempfile.TemporaryDirectory() as folder:
        factors = [part for factor in FACTORS["6.1"] for part in ("--factor", factor)]
        options = ["--budget", budget, "--seed", str(seed), "--no-single-out", "--no-profiles", *factors]
        verdict = tune(options, program, Path(folder))
    return {
        "kind": "search",
        "seed": seed,
        "sentence": verdict["sentence"],
        "settings": verdict["settings"],
        "search_runs": verdict["search_runs"],
        "confirm_runs": verdict["confirm_runs"],
        "seconds": round(verdict["elapsed_ns"] / 1e9),
    }


def side_by_side(seed: int, settings: Mapping[str, Any], budget: str, program: str) -> Record:
    """Try what a study recommends next to the published settings."""
    profiles = ({"found": settings} if settings else {}) | {"published": PUBLISHED}
    with tempfile.TemporaryDirectory() as folder:
        tried = []
        for name, values in profiles.items():
            (Path(folder) / f"{name}.toml").write_text(profile(name, values), encoding="utf-8")
            tried += ["--try", str(Path(folder) / f"{name}.toml")]
        again = tune(["--budget", budget, "--seed", str(seed + 1), "--no-profiles", *tried], program, Path(folder))
    gains = {"published": gain(again, PUBLISHED), "found": gain(again, settings)}
    return {"kind": "try", "seed": seed, "noise": noise(again), **gains}


def profile(name: str, settings: Mapping[str, Any]) -> str:
    """Return settings as a profile's TOML."""
    return "\n".join([f'name = "{name}"', "[settings]", *(f"{key} = {json.dumps(settings[key])}" for key in settings)])


def noise(tried: Mapping[str, Any]) -> float | None:
    """Return the coefficient of variation of the defaults' runs."""
    arm = next((arm for arm in tried["arms"] if arm["name"] == BASELINE), None)
    return None if arm is None or arm["overall"] is None else float(arm["overall"])


def gain(tried: Mapping[str, Any], settings: Mapping[str, Any]) -> list[float] | None:
    """Return the saved share of the defaults' time with its interval; None for settings that were not tried."""
    # The best of those that are tried is called the tuned one, so they are known by their settings.
    names = [arm["name"] for arm in tried["arms"] if settings and arm["settings"] == settings]
    arm = next(
        (
            comparison
            for comparison in tried["comparisons"]
            if comparison["arm"] in names and comparison["ratio"] is not None
        ),
        None,
    )
    return None if arm is None else [1 - 1 / arm["ratio"][end] for end in ("value", "low", "high")]


def equalled(row: Mapping[str, Any]) -> bool:
    """Return whether a study's settings do as well as the published ones, tried next to each other.

    Both gains are logarithms of ratios to the same defaults. The difference may be below zero by its own standard
    error at most, taken from the two intervals, and the gain of the study has to be one.
    """
    if row["found"] is None or row["published"] is None or row["found"][1] <= 0:
        return False
    ours, published = (_logarithm(row[name]) for name in ("found", "published"))
    return ours[0] - published[0] >= -math.hypot(ours[1], published[1])


def _logarithm(gain: Sequence[float]) -> tuple[float, float]:
    """Return a gain as the logarithm of a ratio, with its standard error."""
    value, low, high = (-math.log(1 - end) for end in gain)
    return value, (high - low) / (2 * 1.96)


def report(result: Mapping[str, Any]) -> str:
    """Return the studies as a table, and how many of them found what is published."""
    rows = result["rows"]
    head = ["Seed", "runs", "fresh runs", "time", "noise", "published", "found", "equalled"]
    cells = [
        [
            f"{row['seed']}", f"{row['search_runs']}", f"{row['confirm_runs']}", f"{row['seconds']} s",
            "" if row["noise"] is None else f"{100 * row['noise']:.0f} %",
            _percent(row["published"]), _percent(row["found"]), "yes" if equalled(row) else "no",
        ]
        for row in rows
    ]  # fmt: skip
    many = sum(map(equalled, rows))
    return (
        f"{table(head, cells)}\n\nEqualled in {many} of {len(rows)} studies of {result['config']['budget']} of "
        f"`{result['config']['program']}`. Runs and "
        "fresh runs: of the study. Noise: standard deviation of the defaults' runs, a share of their mean. Published, "
        "found: the saved share of the defaults' time, both settings tried next to each other on another boot, with "
        "its 95 % interval. Equalled: a gain that is less than the published one by their standard error at most. "
        f"{describe(result['machine'])}."
    )


def of_kind(records: Sequence[Record], kind: str, seed: int) -> Record | None:
    """Return the record of a kind that a seed has; None where it is still to be made."""
    return next((row for row in records if (row["kind"], row["seed"]) == (kind, seed)), None)


def finished(header: Mapping[str, Any], records: Sequence[Record]) -> Record:
    """Return the studies that were searched and tried, as a result."""
    searched = [row for row in records if row["kind"] == "search"]
    pairs = [(row, of_kind(records, "try", row["seed"])) for row in searched]
    return {**header, "rows": [{**row, **tried} for row, tried in pairs if tried is not None]}


def _percent(gain: Sequence[float] | None) -> str:
    if gain is None:
        return "nothing"
    value, low, high = (100 * end for end in gain)
    return f"{value:.0f} % ({low:.0f} to {high:.0f})"


def main() -> int:
    """Search, keep and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=STUDIES)
    parser.add_argument("--budget", default="5min", help="of each study, and to try its settings")
    parser.add_argument("--program", default=PROGRAM, help="hackbench with its options")
    parser.add_argument("--out", type=Path, default=KEPT, help="the log of finished studies")
    parser.add_argument("--report", action="store_true", help="print what is kept")
    parser.add_argument("--quick", action="store_true", help="show that it works")
    chosen = parser.parse_args()
    if chosen.report:
        print(report(finished(*read_log(chosen.out))))
        return 0
    if shutil.which("hackbench") is None:
        print("hackbench is missing: apt-get install rt-tests", file=sys.stderr)
        return 1
    if chosen.quick:
        chosen.studies, chosen.budget, chosen.out = 1, "60s", OUT / "published_quick.jsonl"
    config = {"program": chosen.program, "host": HOST, "budget": chosen.budget, "published": PUBLISHED}
    log = Log(chosen.out, config)
    seeds = range(1, 2 * chosen.studies, 2)

    def todo() -> Iterator[Callable[[], Record]]:
        for seed in seeds:
            if (known := of_kind(log.records, "search", seed)) is None:
                yield partial(search, seed, chosen.budget, chosen.program)
                known = of_kind(log.records, "search", seed)
            if known is not None and of_kind(log.records, "try", seed) is None:
                settings = known["settings"]
                yield partial(side_by_side, seed, settings, chosen.budget, chosen.program)

    work_off(todo(), log, 2 * len(seeds) - len(log.records))
    result = finished(log.header, log.records)
    if not chosen.quick:
        save(chosen.out.with_suffix(".json"), result)
    print(report(result))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
