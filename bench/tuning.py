"""How many runs does a search for the fastest settings need? Methods of `tune --minimize time`, Optuna's TPE and random
search on models whose best place is known (`becalm.hosts.simulated.responses`), all in this one run.

    python bench/tuning.py --quick                                     # four seeds of a few worlds, under a minute
    python bench/tuning.py --jobs 2                                    # 100 seeds: the table of methods.md
    python bench/tuning.py --speed                                     # the engine's own time alone

A world is a model, a number of factors and a noise from run to run. A method has reached the gain when what it would
choose saves so much of the default's time, truly, from then on until it ends; runs of the default count. TPE
and random search run each place once and choose the lowest value, as they are mostly used. Writes
bench/out/tuning.json.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from becalm.hosts.simulated.responses import GAIN, TimeModel, model
from becalm.methods import complete, method, trial_design
from becalm.methods.protocol import NO_SETTINGS, Sample, SearchRun
from becalm.nouns.options.tune import TuneOptions
from becalm.nouns.swarm import SwarmParameters
from campaign import OUT, begun, describe, save, table

TARGETS = (0.25, 0.28)
"""Gains to reach: of the default's time, of which the best place saves 30 %."""

RUNS = 80
"""Of TPE and random search, which do not end by themselves; our methods do."""

OURS = ("surface", "swarm", "golden")
PEERS = ("tpe", "random")

WORLDS = (
    ("bowl", 1, 0.02),
    *(("bowl", count, noise) for count in (3, 12, 6, 2) for noise in (0.02, 0.05)),
    *((name, 3, noise) for name in ("cliff", "two-optima") for noise in (0.02, 0.05)),
    *(("bowl", count, noise) for noise in (0.005, 0.1) for count in (3, 12, 6, 2)),
)
QUICK = (("bowl", 1, 0.02), ("bowl", 3, 0.02), ("cliff", 3, 0.05), ("bowl", 6, 0.05))

TRIALS, FACTORS = 1000, 12
"""Of the search whose own time is measured."""


@dataclass(frozen=True, slots=True)
class Search:
    """One search: runs until each of TARGETS was reached for good, None when it was not; in all, and the gain then."""

    model: str
    factors: int
    noise: float
    method: str
    seed: int
    reached: tuple[int | None, ...]
    runs: int
    gain: float


def sustained(path: Sequence[tuple[int, float]], target: float) -> int | None:
    """From (runs so far, true gain of the choice then): the runs from which on the gain is the target or more."""
    found = None
    for runs, gain in reversed(path):
        if gain < target:
            break
        found = runs
    return found


def ours(
    name: str, world: TimeModel, noise: float, seed: int, swarm: SwarmParameters | None = None
) -> list[tuple[int, float]]:
    """One search by a method of becalm. A line needs a direction: golden gets the factor that matters most."""
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


def peers(name: str, world: TimeModel, noise: float, seed: int) -> list[tuple[int, float]]:
    """One search by Optuna: each place is run once, the lowest value is the choice; the default is its first trial."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers = optuna.samplers
    sampler = samplers.TPESampler(seed=seed) if name == "tpe" else samplers.RandomSampler(seed=seed)
    study = optuna.create_study(sampler=sampler)
    rng, lowest, best = np.random.default_rng([seed, 3]), math.inf, NO_SETTINGS
    distributions = {each.name: optuna.distributions.FloatDistribution(-1.0, 1.0) for each in world.space.factors}
    path = [(0, 0.0)]
    for number in range(RUNS):
        arm = NO_SETTINGS
        if number:
            trial = study.ask(distributions)
            arm = world.space.at({each.name: each.natural(trial.params[each.name]) for each in world.space.factors})
        value = world.seconds(arm) * float(np.exp(noise * rng.standard_normal()))
        if number:
            study.tell(trial, value)
        if value < lowest:
            lowest, best = value, arm
        path.append((number + 1, world.gain(best)))
    return path


def searches(where: tuple[str, int, float], seeds: int) -> list[Search]:
    """Every method on one world, seed by seed."""
    name, factors, noise = where
    found = []
    for seed in range(seeds):
        world = model(name, factors, seed)
        for one in (*OURS, *PEERS):
            if one == "golden" and factors > 1:
                continue
            path = (peers if one in PEERS else ours)(one, world, noise, seed)
            runs, gain = path[-1]
            reached = tuple(sustained(path, each) for each in TARGETS)
            found.append(Search(name, factors, noise, one, seed, reached, runs, gain))
    return found


def speed() -> dict[str, float]:
    """The engine's own time: a swarm of 1,000 trials in 12 factors, in ms a trial; and a whole surface search, in s."""
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
    }


def fitting() -> dict[str, float]:
    """A full quadratic of 12 factors fitted to 1,000 runs, with its best place and the interval of that, in s."""
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
    """Of each world: the median runs of each method, and the share of its searches that reached a gain."""
    found = []
    for world in sorted({(each.model, each.factors, each.noise) for each in done}):
        here = [each for each in done if (each.model, each.factors, each.noise) == world]
        cells = [f"{world[0]}", f"{world[1]}", f"{world[2]:.1%}"]
        for name in (*OURS, *PEERS):
            mine = [each for each in here if each.method == name]
            if not mine:
                cells.append("")
                continue
            runs = sorted(math.inf if (runs := each.reached[target]) is None else runs for each in mine)
            middle = runs[len(runs) // 2]
            share = np.mean([each.reached[target] is not None for each in mine])
            cells.append(f"{'never' if math.isinf(middle) else f'{middle:.0f}'} ({share:.0%})")
        found.append(cells)
    return found


def report(result: Mapping[str, Any]) -> str:
    """The table of bench/out/tuning.json, and the engine's own time."""
    done = [Search(**each) for each in result["searches"]]
    header = ("Model", "factors", "noise", *OURS, *PEERS)
    lines = [
        f"Median runs of {result['seeds']} searches until what would be chosen saves so much of the default's time for "
        f"good (the best place saves {GAIN:.0%}), and in brackets how many of them got there: within the runs that our "
        f"methods take, and {RUNS} of the others.\n"
    ]
    for index, target in enumerate(TARGETS):
        lines.append(f"A gain of {target:.0%}:\n")
        lines += [table(header, rows(done, index)), ""]
    own = result["speed"]
    return "\n".join(
        [
            *lines,
            f"The engine's own time: {own['swarm_ms_a_trial']:.2f} ms a trial of a swarm of {TRIALS} trials and "
            f"{FACTORS} factors; {own['surface_ms_a_trial']:.1f} ms a trial of a search by `surface` in as many "
            f"({own['surface_s']:.1f} s in all); {own['fit_s']:.2f} s for a quadratic of {FACTORS} factors fitted to "
            f"{TRIALS} runs, "
            f"{own['fit_and_optimum_s']:.1f} s with its best place and the interval of that.\n",
            f"Machine: {describe(result['machine'])}.",
        ]
    )


def main() -> None:
    """Print the table and write the searches."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="four seeds of three worlds")
    parser.add_argument("--jobs", type=int, default=1, help="worlds at a time; counts do not depend on it")
    parser.add_argument("--speed", action="store_true", help="the engine's own time alone")
    parser.add_argument("--out", type=Path, default=OUT / "tuning.json")
    chosen = parser.parse_args()
    said, own = begun(), speed()
    if chosen.speed:
        print(json.dumps(own, indent=2))
        return
    seeds = 4 if chosen.quick else chosen.seeds
    out = chosen.out.with_name("tuning-quick.json") if chosen.quick else chosen.out
    result: dict[str, Any] = {**said, "seeds": seeds, "speed": own, "searches": []}
    worlds = QUICK if chosen.quick else WORLDS
    with ProcessPoolExecutor(chosen.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        for world, found in zip(worlds, pool.map(searches, worlds, [seeds] * len(worlds)), strict=True):
            result["searches"] += [asdict(each) for each in found]
            # After each world, so that what was done is not lost.
            save(out, result)
            print(f"{world[0]}, {world[1]} factors, noise {world[2]:.1%}: done", flush=True)
    print(report(result))


if __name__ == "__main__":
    main()
