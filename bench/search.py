"""The quality and the price of the choices that the methods of `tune` make. Simulated machines, whose truth is known.

    python bench/search.py                                             # 40 searches by each method on each machine
    python bench/search.py --seeds 200 --random 300 --document docs/explanation/methods.md  # its tables, a few minutes
    python bench/search.py --dangerous no --machines b c

Every choice is confirmed on fresh runs, 10 loops of 15 runs of the baseline and of the choice in random
order. The truth is the same with very many loops. Writes bench/out/search.json.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace
from scipy.special import stdtrit

from becalm.hosts.simulated import machine
from becalm.hosts.simulated.disturbance import KINDS
from becalm.hosts.simulated.machine import NoiseSource, Running, SettingsEffect, SimulatedMachine
from becalm.methods import TABLE as ALL
from becalm.methods import MethodRow
from becalm.methods.protocol import NO_SETTINGS, Ask, Sample, SearchRun, TrialDesign
from becalm.methods.race import round_size
from becalm.nouns.knob import catalogue
from becalm.nouns.search_space import Candidate, Group, Space
from becalm.nouns.settings import Settings
from campaign import OUT, percent, save
from fill import put

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Entry:
    """A method that makes programs vary less (`bench/tuning.py` has those that make them fast), as it is shown.

    `rounds`: of a race, at most; `every`: it is searched with every so-manieth seed, since it takes so much longer.
    """

    name: str
    row: MethodRow
    rounds: int = 0
    every: int = 1

    def rule(self, space: Space) -> TrialDesign:
        """Return the method's own rule; for a race, with the runs of its rounds."""
        if not self.rounds:
            return self.row.rule
        return replace(self.row.rule, most_runs=self.rounds * round_size(space, self.row.rule))


TABLE = tuple(
    entry
    for row in ALL
    if "spread" in row.minimizes
    for entry in (
        (Entry("race", row, rounds=10, every=5), Entry("race, a round", row, rounds=1))
        if row.name == "race"
        else (Entry(row.name, row),)
    )
)
"""A race goes on while it is undecided: here for as many runs as greedy search makes, at most. And its first round."""

LOOPS, RUNS = 10, 15
"""The loops and runs of a confirmation: the numbers of Jung 2020."""

TRUTH_LOOPS = 2000
"""Loops for the truth: its logarithm is then known to about half a per cent."""

LISTS = {
    "llvm-tips": ("aslr", "governor", "isolation", "turbo", "smt"),
    "pyperf": (
        *("perf_rate", "aslr", "frequency_floor", "governor", "turbo"),
        *("isolation", "nohz_full", "rcu_nocbs", "nice"),
    ),
}
"""The known lists of settings, which the race's portfolio includes."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of one search. Spreads are fractions, ratios untouched over chosen; `seen` is the spread that the
    search saw."""

    machine: str
    method: str
    seed: int
    runs: int
    settings: int
    seen: float | None
    confirmed: float
    untouched: float
    ratio: float
    low: float
    high: float
    truth: float


def ratio_interval(first: Floats, second: Floats, alpha: float = 0.05) -> tuple[float, float, float]:
    """Return the spread of `first` over that of `second`, with its interval: Student's on the loops' log ratios.

    Both of shape (loops, runs); loop i of both was one loop.
    """
    d = np.log(loop_spreads(first)) - np.log(loop_spreads(second))
    middle = float(d.mean())
    reach = float(stdtrit(len(d) - 1, 1 - alpha / 2)) * float(d.std(ddof=1)) / math.sqrt(len(d))
    return math.exp(middle), math.exp(middle - reach), math.exp(middle + reach)


def loop_spreads(times: Floats) -> Floats:
    """Return the coefficient of variation of each loop; times have shape (loops, runs)."""
    return np.asarray(times.std(axis=1, ddof=1) / times.mean(axis=1))


class Simulation:
    """A machine that answers a search's requests, without the columns that a host would give."""

    def __init__(self, model: SimulatedMachine, seed: int) -> None:
        self._model = model
        self._running = Running(model, seed)
        self._rng = np.random.default_rng([seed, 1])
        self.runs = 0

    def answer(self, ask: Ask) -> list[Sample]:
        """Return a Sample for each arm."""
        times, bad = self.times(ask.arms, ask.loops, ask.runs, ask.warmups)
        return [
            Sample(arm, tuple(t[~b] for t, b in zip(times[i], bad[i], strict=True)), int(bad[i].sum()))
            for i, arm in enumerate(ask.arms)
        ]

    def times(
        self, arms: Sequence[Settings], loops: int, runs: int, warmups: int = 0
    ) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Return times and failures of shape (arms, loops, runs): in each loop the arms in random order."""
        states = [self._model.state(arm) for arm in arms]
        orders = [self._rng.permutation(len(arms)) for _ in range(loops)]
        lengths = [runs + (warmups if loop == 0 else 0) for loop in range(loops)]
        which = np.concatenate([np.repeat(order, length) for order, length in zip(orders, lengths, strict=True)])
        factors, fails = self._running.runs(states, which)
        self.runs += len(which)
        times, bad = np.empty((len(arms), loops, runs)), np.empty((len(arms), loops, runs), dtype=bool)
        ends = np.cumsum([len(arms) * length for length in lengths])
        for loop, (order, length, end) in enumerate(zip(orders, lengths, ends, strict=True)):
            here = slice(end - len(arms) * length, end)
            times[order, loop] = factors[here].reshape(len(arms), length)[:, length - runs :]
            bad[order, loop] = fails[here].reshape(len(arms), length)[:, length - runs :]
        return 1e9 * times, bad


def space_of(model: SimulatedMachine, dangerous: bool) -> Space:
    """Return the candidates that the machine supports; dangerous ones only on consent."""
    candidates = tuple(
        Candidate(row.name, row.tuned_value, Group(row.group), row.requires, row.restricts_cpus, row.conflicts)
        for row in model.knobs()
        if row.tuned_value is not None and row.supported and (dangerous or Group(row.group) is not Group.DANGEROUS)
    )
    values = {candidate.knob: candidate.value for candidate in candidates}
    lists = tuple((name, Settings.of({k: values[k] for k in knobs if k in values})) for name, knobs in LISTS.items())
    return Space(candidates, lists)


def searched(entry: Entry, model: SimulatedMachine, space: Space, seed: int) -> tuple[Settings, int, float | None]:
    """Return the choice, the runs it took, and the spread of the chosen settings in the search's own runs."""
    simulation = Simulation(model, seed)
    search = SearchRun(entry.row.load(), space, entry.rule(space), seed)
    seen: dict[Settings, list[float]] = {}
    while search.ask is not None:
        samples = simulation.answer(search.ask)
        for sample in samples:
            seen.setdefault(sample.settings, []).append(sample.value())
        search.tell(samples)
    assert search.choice is not None
    own = seen.get(search.choice.settings)
    return search.choice.settings, simulation.runs, None if own is None else float(np.sqrt(np.mean(np.square(own))))


def random_machine(seed: int) -> SimulatedMachine:
    """Draw a machine for which no method was developed: two to six noises of any kind and size that a quarter of the
    settings reduce, some of them further by two settings together, and up to four settings that add noise."""
    rng = np.random.default_rng([seed, 99])
    knobs = [(row.name, row.tuned_value) for row in catalogue() if row.tuned_value is not None]
    kinds = [kind for kind in KINDS if kind != "drift"]
    noises = [NoiseSource("the program itself", "normal", _size(rng, 0.0008, 0.4), ())]
    for number in range(int(rng.integers(2, 7))):
        effects = [SettingsEffect(frozenset([k]), float(rng.uniform(0, 0.95))) for k in knobs if rng.random() < 0.25]
        if rng.random() < 0.3:
            first, other = rng.choice(len(knobs), 2, replace=False)
            effects.append(SettingsEffect(frozenset([knobs[first], knobs[other]]), 0.1))
        noises.append(NoiseSource(f"{number}", str(rng.choice(kinds)), _size(rng, 0.006, 0.8), tuple(effects)))
    for number in range(int(rng.integers(0, 5))):
        harm = SettingsEffect(frozenset([knobs[rng.integers(len(knobs))]]), adds=_size(rng, 0.003, 0.8))
        noises.append(NoiseSource(f"harm {number}", str(rng.choice(kinds)), 0.0, (harm,)))
    return SimulatedMachine("random", "a random machine", 10**9, tuple(noises))


def _size(rng: np.random.Generator, median: float, width: float) -> float:
    return float(np.exp(rng.normal(math.log(median), width)))


def trials(model: SimulatedMachine, space: Space, seeds: Sequence[int]) -> Iterator[Trial]:
    """Search by every method, and confirm each choice on fresh runs."""
    truths: dict[Settings, float] = {}
    for number, entry in enumerate(TABLE, 1):
        for seed in seeds:
            # A machine of its own for each seed is searched by all.
            if len(seeds) > 1 and seed % entry.every:
                continue
            settings, runs, seen = searched(entry, model, space, seed)
            if settings not in truths:
                truths[settings] = truth(model, settings)
            (untouched, chosen), _ = Simulation(model, 10**6 * number + seed).times(
                (NO_SETTINGS, settings), LOOPS, RUNS
            )
            confirmed, before = (float(np.sqrt(np.mean(loop_spreads(t) ** 2))) for t in (chosen, untouched))
            interval = ratio_interval(untouched, chosen)
            size = len(settings.values)
            yield Trial(
                model.name, entry.name, seed, runs, size, seen, confirmed, before, *interval, truths[settings]
            )  # fmt: skip


def truth(model: SimulatedMachine, settings: Settings) -> float:
    """Return the ratio of spreads that a confirmation estimates, from very many loops."""
    (untouched, chosen), _ = Simulation(model, 999).times((NO_SETTINGS, settings), TRUTH_LOOPS, RUNS)
    return float(np.exp(np.mean(np.log(loop_spreads(untouched)) - np.log(loop_spreads(chosen)))))


def geometric(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return math.exp(float(np.mean(np.log(values))))


def machine_rows(all_trials: Sequence[Trial]) -> list[list[str]]:
    """Return rows of machine, method, runs, and confirmed spreads."""
    rows = []
    for name in dict.fromkeys(trial.machine for trial in all_trials):
        here = [trial for trial in all_trials if trial.machine == name]
        greedy = float(np.mean([trial.runs for trial in here if trial.method == "greedy"]))
        before = geometric([trial.untouched for trial in here])
        for entry in TABLE:
            mine = [trial for trial in here if trial.method == entry.name]
            runs, spreads = float(np.mean([trial.runs for trial in mine])), [trial.confirmed for trial in mine]
            low, high = np.percentile(spreads, [10, 90])
            none = sum(trial.settings == 0 for trial in mine) / len(mine)
            rows.append(
                [
                    *(name, percent(before, 2), entry.name, f"{runs:.0f}", percent(runs / greedy, 0)),
                    *(percent(geometric(spreads), 3), f"{percent(low, 3)} to {percent(high, 3)}"),
                    *(f"{np.mean([trial.settings for trial in mine]):.1f}", percent(none, 0)),
                ]
            )
    return rows


def honest(all_trials: Sequence[Trial]) -> list[list[str]]:
    """Return rows of method, the spread that the search saw over that of fresh runs, and coverage of the interval."""
    rows = []
    for entry in TABLE:
        mine = [trial for trial in all_trials if trial.method == entry.name]
        optimism = geometric([trial.seen / trial.confirmed for trial in mine if trial.seen is not None])
        covered = [trial.low <= trial.truth <= trial.high for trial in mine]
        bias = geometric([trial.ratio / trial.truth for trial in mine])
        rows.append([entry.name, str(len(mine)), f"{optimism:.2f}", f"{bias:.3f}", percent(float(np.mean(covered)))])
    return rows


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table as Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def report(result: Mapping[str, Any]) -> str:
    """Return the tables of bench/out/search.json."""
    done = [Trial(**trial) for trial in result["trials"]]
    columns = ("Machine", "untouched", "method", "runs", "of greedy's", "confirmed spread", "10 to 90 %", "settings")
    ratios = ("Method", "searches", "seen by the search / fresh runs", "estimated ratio / true ratio", "coverage")
    return "\n".join(
        [
            f"{result['seeds']} searches by each method on each machine, and a fifth of that number by `race`; spreads "
            "are geometric means over the searches.\n",
            table((*columns, "kept untouched"), machine_rows(done)),
            "\nIn all of these searches (1 is right; coverage is of the 95 % interval of the ratio of spreads):\n",
            table(ratios, honest(done)),
        ]
    )


def main() -> None:
    """Print the tables and write the trials."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=40, help="searches by each method on each machine")
    parser.add_argument("--machines", nargs="+", default=machine.names(), metavar="NAME")
    parser.add_argument("--random", type=int, default=100, help="random machines, searched once by each method")
    parser.add_argument("--dangerous", choices=("yes", "no"), default="yes", help="whether the person consented")
    parser.add_argument("--quick", action="store_true", help="shows in seconds that it works")
    parser.add_argument("--document", type=Path, help="file with a block <!-- search --> to fill")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.seeds, chosen.random, chosen.machines = 1, 1, chosen.machines[:1]
    done: list[Trial] = []
    for name in chosen.machines:
        model = machine.read(machine.SHIPPED / f"{name}.toml")
        done += trials(model, space_of(model, chosen.dangerous == "yes"), range(chosen.seeds))
    for seed in range(chosen.random):
        model = random_machine(seed)
        done += trials(model, space_of(model, chosen.dangerous == "yes"), [seed])
    record = {"seeds": chosen.seeds, "dangerous": chosen.dangerous, "trials": [asdict(trial) for trial in done]}
    save(OUT / ("search-quick.json" if chosen.quick else "search.json"), record)
    print(report(record))
    if chosen.document:
        put(chosen.document, "search", report(record))


if __name__ == "__main__":
    main()
