"""The runs that a search for the fastest settings needs. Methods of `tune --minimize time`, Optuna's TPE and random
search on models whose best place is known (`becalm.hosts.simulated.responses`), all in this one run.

    python bench/tuning.py --quick                                     # four seeds of a few worlds, under a minute
    python bench/tuning.py --jobs 2                                    # 100 seeds: the table of methods.md, 6 minutes
    python bench/tuning.py --again surface                             # the same, with the searches of one method anew
    python bench/tuning.py --speed                                     # the engine's own time alone

Each finished part is stored (bench/out/tuning.jsonl), so the bench may be stopped and continued; `--report` makes the
table of the finished parts. A part, 25 searches of one method on one world, takes up to 7 s of a processor, all 340 of
them ten minutes; their figures do not depend on the machine's speed.

A world is a model, a number of factors and a noise from run to run. A method has reached the gain when its choice truly
saves that much of the default's time, from then on until it ends; runs of the default count. TPE and random search run
each place once and choose the lowest value, as they are mostly used. Writes bench/out/tuning.json.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from becalm.hosts.simulated.responses import GAIN, TimeModel, model
from becalm.methods import complete, method, trial_design
from becalm.methods.protocol import NO_SETTINGS, Sample, SearchRun
from becalm.methods.sequential import EACH, MOST, RUNS
from becalm.nouns.options.tune import TuneOptions
from becalm.nouns.swarm import SwarmParameters
from campaign import OUT, Log, Record, describe, machine, percent, read_log, save, table

TARGETS = (0.25, 0.28)
"""Gains to reach: of the default's time, of which the best place saves 30 %."""

MORE = 1.5
"""The runs of TPE and random search, which do not end by themselves, over those of `surface`, up to its limit."""

OURS = ("surface", "swarm", "golden")
PEERS = ("tpe", "random")
METHODS = (*OURS, *PEERS)

PART = 25
"""Seeds of a part that is kept as a whole."""

UP_TO = 0.05
"""Noise up to which `surface` is wanted to need fewer runs than both peers."""

WORLDS = (
    ("bowl", 1, 0.02),
    *(("bowl", 3, noise) for noise in (0.05, 0.005)),
    ("bowl", 12, 0.05),
    *((name, 3, 0.05) for name in ("cliff", "two-optima")),
    ("bowl", 2, 0.05),
    ("bowl", 6, 0.02),
    ("bowl", 3, 0.02),
    ("bowl", 12, 0.005),
    ("bowl", 3, 0.1),
    *((name, 3, 0.02) for name in ("cliff", "two-optima")),
    *(("bowl", count, noise) for count in (2, 6) for noise in (0.005, 0.1)),
    *(("bowl", 2, 0.02), ("bowl", 6, 0.05), ("bowl", 12, 0.02), ("bowl", 12, 0.1)),
)
"""The worlds, with those that span factors, noises and models first: the table has those that are finished."""

QUICK = (("bowl", 1, 0.02), ("bowl", 3, 0.02), ("cliff", 3, 0.05), ("bowl", 6, 0.05))

TRIALS, FACTORS = 1000, 12
"""The trials and factors of the search whose own time is measured."""


@dataclass(frozen=True, slots=True)
class Search:
    """The result of one search: runs until each of TARGETS was reached for good, None when it was not; in all, and the
    gain then."""

    model: str
    factors: int
    noise: float
    method: str
    seed: int
    reached: tuple[int | None, ...]
    runs: int
    gain: float


def sustained(path: Sequence[tuple[int, float]], target: float) -> int | None:
    """Return the runs from which on the gain is the target or more, from (runs so far, true gain of the choice
    then)."""
    result = None
    for runs, gain in reversed(path):
        if gain < target:
            break
        result = runs
    return result


def ours(
    name: str, world: TimeModel, noise: float, seed: int, swarm: SwarmParameters | None = None
) -> list[tuple[int, float]]:
    """Search once by a method of becalm. A line needs a direction: golden gets the factor that matters most."""
    options = complete(
        TuneOptions(
            method=name,
            minimize="time",
            path=world.space.factors[0].name if name == "golden" else "",
            swarm=(swarm or SwarmParameters()) if name == "swarm" else SwarmParameters(),
        )
    )
    search = SearchRun(method(name).load(options), world.space, trial_design(options), seed)
    rng, runs, path = np.random.default_rng([seed, 3]), 0, [(0, 0.0)]
    while search.ask is not None:
        ask = search.ask
        samples = []
        for arm in ask.arms:
            seconds = world.seconds(arm)
            loops = [1e9 * seconds * np.exp(noise * rng.standard_normal(ask.runs)) for _ in range(ask.loops)]
            samples.append(Sample(arm, tuple(loops)))
        runs += len(ask.arms) * (ask.loops * ask.runs + ask.warmups)
        search.tell(samples)
        chosen = search.ask.best if search.ask is not None else search.choice.settings if search.choice else NO_SETTINGS
        path.append((runs, world.gain(chosen)))
    return path


def peer_runs(factors: int) -> int:
    """Return the number of runs of a peer."""
    return min(MOST, int(MORE * (RUNS + EACH * factors)))


def peers(name: str, world: TimeModel, noise: float, seed: int) -> list[tuple[int, float]]:
    """Search once by Optuna: each place is run once, the lowest value is the choice; the default is its first trial."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers = optuna.samplers
    sampler = samplers.TPESampler(seed=seed) if name == "tpe" else samplers.RandomSampler(seed=seed)
    study = optuna.create_study(sampler=sampler)
    rng, lowest, best = np.random.default_rng([seed, 3]), math.inf, NO_SETTINGS
    distributions = {factor.name: optuna.distributions.FloatDistribution(-1.0, 1.0) for factor in world.space.factors}
    path = [(0, 0.0)]
    for number in range(peer_runs(len(world.space.factors))):
        arm = NO_SETTINGS
        if number:
            trial = study.ask(distributions)
            arm = world.space.at(
                {factor.name: factor.natural(trial.params[factor.name]) for factor in world.space.factors}
            )
        value = world.seconds(arm) * float(np.exp(noise * rng.standard_normal()))
        if number:
            study.tell(trial, value)
        if value < lowest:
            lowest, best = value, arm
        path.append((number + 1, world.gain(best)))
    return path


@dataclass(frozen=True, slots=True)
class Part:
    """Some searches of one method on one world: `first` is the seed of the first of `seeds`."""

    model: str
    factors: int
    noise: float
    method: str
    first: int
    seeds: int

    def searches(self) -> list[Search]:
        """Conduct them, seed by seed."""
        result = []
        for seed in range(self.first, self.first + self.seeds):
            world = model(self.model, self.factors, seed)
            path = (peers if self.method in PEERS else ours)(self.method, world, self.noise, seed)
            runs, gain = path[-1]
            reached = tuple(sustained(path, target) for target in TARGETS)
            result.append(Search(self.model, self.factors, self.noise, self.method, seed, reached, runs, gain))
        return result


def parts(worlds: Sequence[tuple[str, int, float]], seeds: int) -> list[Part]:
    """Return all parts to run; a line through several factors would need a direction, so golden has one factor."""
    return [
        Part(*world, name, first, min(PART, seeds - first))
        for world in worlds
        for name in METHODS
        if name != "golden" or world[1] == 1
        for first in range(0, seeds, PART)
    ]


def work(part: Part) -> Record:
    """Conduct a part, as the line of the log that keeps it."""
    return {"part": asdict(part), "searches": [asdict(search) for search in part.searches()]}


def finished(worlds: Sequence[tuple[str, int, float]], seeds: int, log: Log) -> list[Record]:
    """Return the searches of those worlds of which all parts are in the log, by their seeds."""
    there = {Part(**record["part"]): record["searches"] for record in log.records}
    records: list[Record] = []
    for world in worlds:
        wanted = parts([world], seeds)
        if all(part in there for part in wanted):
            records += [search for part in wanted for search in there[part]]
    return records


def forget(path: Path, names: Sequence[str]) -> None:
    """Take the searches of some methods out of a log."""
    header, records = read_log(path)
    lines = [header, *(record for record in records if record["part"]["method"] not in names)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


KNOBS = {
    "numa_scan_period_min_ms": ("10..100000:log", 1_000, 5_000),
    "sched_latency_ns": ("0.1..1000ms:log", 12_000_000, 60_000_000),
    "sched_min_granularity_ns": ("0.1..1000ms:log", 1_500_000, 20_000_000),
    "sched_wakeup_granularity_ns": ("0..1000ms:linear", 2_000_000, 400_000_000),
    "sched_idle_min_granularity_ns": ("0.1..1000ms:log", 750_000, 20_000_000),
    "sched_migration_cost_ns": ("0.01..10ms:log", 500_000, 100_000),
    "sched_nr_migrate": ("1..1024:log", 32, 128),
    "sched_cfs_bandwidth_slice_us": ("100..100000:log", 5_000, 20_000),
    "sched_rr_timeslice_ms": ("1..1000:log", 100, 30),
    "swappiness": ("0..200:linear", 60, 20),
    "numa_scan_delay_ms": ("1..10000:log", 1_000, 300),
    "numa_scan_size_mb": ("1..4096:log", 256, 100),
}
"""The factors of a whole study: range, default and best value of each; FACTORS of them."""


def study() -> dict[str, float]:
    """Return the engine's own time in a whole study by a swarm, from the command's call to its verdict, including
    storage and report, in ms a trial; and that of the page which shows it, in s. The machine is simulated."""
    from becalm.report.tune.html import page
    from becalm.verbs.tune import tune

    bowls = [
        f'[[time.ranges]]\nknob = "{name}"\ndefault = {usual}\nbest = {best}\ncosts = 0.05\n'
        for name, (_, usual, best) in KNOBS.items()
    ]
    with tempfile.TemporaryDirectory() as folder:
        machine_file = Path(folder) / "machine.toml"
        noise = '[[noise]]\nname = "others"\nkind = "normal"\nsize = 0.02\n'
        machine_file.write_text(
            'what = "many settings"\n[time]\nbase = "1s"\n' + "\n".join([*bowls, noise]), encoding="utf-8"
        )
        start = time.process_time()
        verdict = tune(
            ["p"],
            host=f"sim:{machine_file}",
            store=str(Path(folder) / "store.db"),
            minimize="time",
            method="swarm",
            swarm=f"particles=20,iterations=10000,evaluations={TRIALS}",
            factors=[f"{name}={usual}" for name, (usual, *_) in KNOBS.items()],
            budget="none",
            confirm_loops=4,
            single_out=False,
            seed=1,
        )
        whole = time.process_time() - start
    start = time.process_time()
    page(verdict)
    drawing = time.process_time() - start
    trials = float(len(verdict.trials))
    return {"study_trials": trials, "study_ms_a_trial": 1e3 * whole / trials, "page_s": drawing}


def speed() -> dict[str, float]:
    """Return the engine's own time: a swarm of 1,000 trials in 12 factors, in ms a trial; and a whole surface search,
    in s."""
    world = model("bowl", FACTORS, 0)
    large = SwarmParameters(particles=20, iterations=10_000, evaluations=TRIALS)
    start = time.process_time()
    path = ours("swarm", world, 0.02, 0, large)
    swarm = time.process_time() - start
    start = time.process_time()
    searched = ours("surface", world, 0.02, 0)[-1][0]
    surface = time.process_time() - start
    return {
        "trials": float(path[-1][0]),
        "swarm_ms_a_trial": 1e3 * swarm / TRIALS,
        "surface_s": surface,
        "surface_ms_a_trial": 1e3 * surface / searched,
        **fitting(),
        **study(),
    }


def fitting() -> dict[str, float]:
    """Return the time of a full quadratic of 12 factors fitted to 1,000 runs, with its best place and the interval of
    that, in s."""
    from becalm.surfaces.optimum import Bounds, optimum
    from becalm.surfaces.surface import Data, fitted
    from becalm.surfaces.terms import Frame

    rng, frame = np.random.default_rng(0), Frame((0,) * FACTORS)
    points = rng.uniform(-1, 1, (TRIALS, FACTORS))
    world = model("bowl", FACTORS, 0)
    times = np.array([world.at(at) for at in points]) * np.exp(0.02 * rng.standard_normal(TRIALS))
    start = time.process_time()
    surface = fitted(Data(frame, points, np.zeros(TRIALS, dtype=np.int64), times), frame.terms("quadratic"))
    fit = time.process_time() - start
    optimum(surface, Bounds.of(frame), rng, largest=False, level=0.05)
    return {"fit_s": fit, "fit_and_optimum_s": time.process_time() - start}


def rows(done: Sequence[Search], target: int) -> list[list[str]]:
    """Return for each world the median runs of each method, and the share of its searches that reached a gain."""
    result = []
    for world in sorted({(search.model, search.factors, search.noise) for search in done}):
        here = [search for search in done if (search.model, search.factors, search.noise) == world]
        cells = [f"{world[0]}", f"{world[1]}", percent(world[2])]
        for name in METHODS:
            mine = [trial for trial in here if trial.method == name]
            if not mine:
                cells.append("")
                continue
            middle = median(mine, target)
            share = float(np.mean([search.reached[target] is not None for search in mine]))
            cells.append(f"{'never' if math.isinf(middle) else f'{middle:.0f}'} ({percent(share, 0)})")
        result.append(cells)
    return result


def median(done: Sequence[Search], target: int) -> float:
    """Return the median of the runs that searches took to a gain; infinite where half of them never reached it."""
    runs = sorted(math.inf if (result := search.reached[target]) is None else result for search in done)
    return runs[len(runs) // 2]


def judged(result: Mapping[str, Any]) -> list[str]:
    """Report where `surface` needs fewer runs than both peers, which is the goal, and where it does not; one line a
    gain."""
    done = [Search(**search) for search in result["searches"]]
    worlds = sorted({(search.model, search.factors, search.noise) for search in done if search.noise <= UP_TO})
    lines = []
    for index, target in enumerate(TARGETS):
        fewer, not_fewer = 0, []
        for world in worlds:
            of = {
                name: [e for e in done if (e.model, e.factors, e.noise) == world and e.method == name]
                for name in ("surface", *PEERS)
            }
            mine, *others = (median(runs, index) for runs in of.values())
            if mine < min(others):
                fewer += 1
            else:
                text = " and ".join(f"{other:.0f}" if math.isfinite(other) else "never" for other in (mine, *others))
                not_fewer.append(f"{world[0]} of {world[1]} at {percent(world[2])} ({text})")
        lines.append(
            f"A gain of {percent(target, 0)} with noise up to {percent(UP_TO, 0)}: `surface` needs fewer runs than TPE "
            f"and random search in {fewer} of {len(worlds)} worlds"
            + (f"; not in {', '.join(not_fewer)}" if not_fewer else "")
            + "."
        )
    return lines


def report(result: Mapping[str, Any]) -> str:
    """Return the table of bench/out/tuning.json, and the engine's own time."""
    done = [Search(**search) for search in result["searches"]]
    header = ("Model", "factors", "noise", *METHODS)
    lines = [
        f"Median number of runs of {result['seeds']} searches until the choice saves the stated share of the default's "
        f"time and keeps saving it (the best place saves {percent(GAIN, 0)}). In brackets: the share of searches that "
        f"got there, within the runs that our methods take, and within {MORE:g} times the runs of `surface` for the "
        f"others ({MOST} at most).\n"
    ]
    for index, target in enumerate(TARGETS):
        lines.append(f"A gain of {percent(target, 0)}:\n")
        lines += [table(header, rows(done, index)), ""]
    if "speed" in result:
        lines.append(own_time(result["speed"]))
    return "\n".join([*lines, f"Machine: {describe(result['machine'])}."])


def own_time(own: Mapping[str, float]) -> str:
    """Format the result of `speed` as a paragraph."""
    return (
        f"The engine's own time: {own['swarm_ms_a_trial']:.2f} ms per trial of a swarm of {TRIALS} trials and "
        f"{FACTORS} factors; {own['surface_ms_a_trial']:.1f} ms per trial of a search by `surface` in {FACTORS} "
        f"factors ({own['surface_s']:.1f} s in all); {own['fit_s']:.2f} s to fit a quadratic of {FACTORS} factors to "
        f"{TRIALS} runs, {own['fit_and_optimum_s']:.1f} s with its best place and the interval of that place. A whole "
        f"study by `tune --method swarm` in {FACTORS} settings of a simulated machine, storage included, takes "
        f"{own['study_ms_a_trial']:.2f} ms for each of {own['study_trials']:.0f} trials, and {own['page_s']:.1f} s for "
        "its page.\n"
    )


def main() -> None:
    """Print the table and write the searches."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="four seeds of three worlds")
    parser.add_argument("--jobs", type=int, default=1, help="parts at a time; counts do not depend on it")
    parser.add_argument("--speed", action="store_true", help="the engine's own time alone")
    parser.add_argument("--report", action="store_true", help="search no more: report of the worlds that are finished")
    parser.add_argument("--again", choices=METHODS, action="append", default=[], help="forget its searches first")
    parser.add_argument("--out", type=Path, default=OUT / "tuning.json")
    chosen = parser.parse_args()
    if chosen.speed:
        print(json.dumps(speed(), indent=2))
        return
    seeds = 4 if chosen.quick else chosen.seeds
    out = chosen.out.with_name("tuning-quick.json") if chosen.quick else chosen.out
    log_file = out.with_suffix(".jsonl")
    if chosen.quick:
        log_file.unlink(missing_ok=True)
    elif chosen.again and log_file.exists():
        forget(log_file, chosen.again)
    log = Log(log_file, {"seeds": seeds, "more": MORE})
    there = [Part(**record["part"]) for record in log.records]
    worlds = QUICK if chosen.quick else WORLDS
    todo = [part for part in parts(worlds, seeds) if part not in there and not chosen.report]
    with ProcessPoolExecutor(chosen.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        for number, ended in enumerate(as_completed([pool.submit(work, part) for part in todo]), 1):
            log.add(ended.result())
            print(f"\r{number} of {len(todo)} parts", end="", file=sys.stderr, flush=True)
    header = {"machine": machine(), "command": log.header["command"]}
    # While all is searched the machine is ours; a report of what there is measures nothing.
    own = {} if chosen.report else {"speed": speed()}
    result: dict[str, Any] = {**header, **own, "seeds": seeds, "searches": finished(worlds, seeds, log)}
    save(out, result)
    print("", report(result), *judged(result), sep="\n")


if __name__ == "__main__":
    main()
