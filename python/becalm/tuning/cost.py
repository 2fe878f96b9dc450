"""The cost of a search for settings before it starts: its runs, their time, and the smallest effect that it can show.

A method for run time is simulated with equal times for all settings and the noise of the pilot runs, so that a new
method needs no code for its cost. The simulation takes as much CPU time as a search; a method whose number of runs
follows from its rule has a forecast instead (`counts` in the table of methods).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace
from scipy.special import ndtri, stdtrit

from becalm.methods import complete, trial_design
from becalm.methods import method as method_row
from becalm.methods.protocol import NO_SETTINGS, Sample, SearchRun, TrialDesign
from becalm.methods.surface_end import SURE
from becalm.nouns.options.tune import TuneOptions
from becalm.results.tune_arms import SWEEP
from becalm.results.tune_cost import BudgetWorth, TuneCost
from becalm.stats.arrays import Floats
from becalm.stats.spread import f_detectable
from becalm.tuning.confirming import FEWEST_LOOPS, FEWEST_RUNS, MOST_LOOPS
from becalm.tuning.phases import affordable, first_look, least_search, look_share, search_share, sweeps
from becalm.tuning.repeats import upper_noise, with_repeats
from becalm.wording.tune_cost import cost as sentence

UNKNOWN = 0.02
"""The noise with which a method is simulated if that of the program is unknown."""

MOST_ASKS = 500
"""The largest number of simulated requests of a method."""

NEARLY = 0.9
"""The share of its budget above which a study is reported to take all of it."""

USUAL_NS = (120_000_000_000, 300_000_000_000, 1_800_000_000_000)
"""The budgets whose worth is reported, ns; the second is the default."""

ASSUMED_NS = 1_000_000_000
"""The assumed length of a run without pilot runs, ns."""

CONTROLS = 7
"""The number of runs of a search for times of which one is of the machine as it is."""

MOST_CHOSEN = 4
"""The number of settings that a search for little variation is assumed to choose; each is then left out once."""

LOOKED = 2
"""The least number of trials of the settings that a search chooses; a model gives them more precision."""


def cost(
    options: TuneOptions,
    programs: Sequence[str],
    pilots: Sequence[Floats],
    seed: int,
    responses: Sequence[Floats] | None = None,
) -> TuneCost:
    """Return the cost of a study.

    `pilots`: wall times in ns of the pilot runs, one array for each program; `responses`: their values of the metric,
    if there is one.
    """
    requested, options = options, complete(options)
    allowed, timed = options.allowed, options.minimize == "time"
    run_ns = sum(float(pilot[-1]) if len(pilot) < 3 else float(pilot[1:].mean()) for pilot in pilots if len(pilot))
    noise = _noise(pilots if responses is None else responses)
    loops, runs = first_look(options)
    look = loops * runs + 1
    each_ns = run_ns / max(1, len(programs))
    confirm_runs, rule = options.confirming(each_ns), trial_design(requested, each_ns)
    if options.budget_ns is not None and run_ns > 0:
        look = _look(options, run_ns)
        rule = affordable(rule, options, confirm_runs, max(0.0, options.budget_ns - look * run_ns), run_ns)
    rule = with_repeats(rule, options, upper_noise(noise, first_look(options)[1] * first_look(options)[0] - 1))
    knobs = len(allowed.space.factors) or allowed.space.count
    searched, controls = (0, 0) if allowed.tried else _search_runs(options, rule, noise, seed) if timed else (None, 0)
    # A search for time sets all of its factors; the number that one for little variation chooses is assumed.
    single = knobs if timed else min(knobs, MOST_CHOSEN)
    arms = 1 + len(allowed.tried) if allowed.tried else 2 + (single if options.single_out and knobs > 1 else 0)
    arm_runs = options.confirm_loops * confirm_runs
    confirm = arms * (arm_runs + 1)
    if timed and searched and options.budget_ns is not None and run_ns > 0:
        left = int(options.budget_ns / run_ns) - look - searched
        confirm = min(confirm, max(left, 2 * FEWEST_LOOPS * FEWEST_RUNS))
    elif searched is None and options.budget_ns is not None and run_ns > 0:
        # The search takes a part of the rest, so this is the most that can be left.
        confirm = min(confirm, max(int(options.budget_ns / run_ns) - look, 2 * FEWEST_LOOPS * FEWEST_RUNS))
    whole = None if searched is None else (look + searched + confirm) * run_ns
    least = _least_runs(options, confirm_runs)
    if options.budget_ns is not None:
        whole = float(options.budget_ns) if whole is None else min(whole, float(options.budget_ns))
        whole = max(whole, least * run_ns)
        if NEARLY * options.budget_ns < whole < options.budget_ns:
            whole = float(options.budget_ns)
    if not timed:
        # Even with a short budget a choice is confirmed by this number of loops.
        smallest = _ratio(options, confirm_runs, max(FEWEST_LOOPS, _spread_loops(options, run_ns, confirm_runs)))
    else:
        # Only the baseline and the choice count for the effect, whatever other arms are confirmed.
        pairs = min(options.confirm_loops * confirm_runs, confirm // 2)
        smallest = _gain(noise, options, pairs, LOOKED * rule.loops * rule.runs, searched, controls)
    tune_cost = TuneCost(
        method="try" if options.tried else SWEEP if sweeps(options) else options.method,
        objective=options.objective,
        programs=tuple(programs),
        search_runs=searched,
        confirm_runs=confirm,
        run_ns=round(run_ns),
        duration_ns=round(whole) if whole else None,
        budget_ns=options.budget_ns,
        noise=noise,
        pilots=min((len(pilot) for pilot in pilots), default=0),
        smallest=smallest,
        count=knobs,
        factors=tuple(factor.spelled for factor in allowed.space.factors),
        longest_ns=None if options.budget_ns is None else round(options.budget_ns / least),
    )
    buys = _budget_worths(options, noise, run_ns, each_ns)
    tune_cost = replace(tune_cost, buys=buys)
    return replace(tune_cost, sentence=sentence(tune_cost))


def _budget_worths(options: TuneOptions, noise: float, run_ns: float, each_ns: float) -> tuple[BudgetWorth, ...]:
    """Return the worth of usual budgets, for runs of `ASSUMED_NS` if their length is unknown."""
    if options.allowed.tried:
        return ()
    if not run_ns > 0:
        run_ns = each_ns = float(ASSUMED_NS)
    confirm_runs = options.confirming(each_ns)
    worths = []
    for budget_ns in USUAL_NS:
        limited = dataclasses.replace(options, budget_ns=budget_ns, least_runs=1)
        left_ns = budget_ns - _look(limited, run_ns) * run_ns
        if options.minimize == "time":
            worths.append(_time_worth(limited, noise, run_ns, each_ns, left_ns))
        else:
            worths.append(_spread_worth(limited, budget_ns, run_ns, confirm_runs))
    return tuple(worths)


def _spread_worth(options: TuneOptions, budget_ns: int, run_ns: float, confirm_runs: int) -> BudgetWorth:
    """Return the worth of a budget for spreads."""
    loops = _spread_loops(options, run_ns, confirm_runs)
    smallest = _ratio(options, confirm_runs, loops) if loops >= FEWEST_LOOPS else math.nan
    arms = 2 + min(options.allowed.space.count, MOST_CHOSEN)
    single = int(_confirmed_ns(options, run_ns, confirm_runs) / (arms * confirm_runs * run_ns)) >= 2 * FEWEST_LOOPS
    return BudgetWorth(budget_ns, smallest, single and options.single_out)


def _spread_loops(options: TuneOptions, run_ns: float, confirm_runs: int) -> int:
    """Return the loops of a confirmation of spreads: the requested number, or as many as the budget leaves."""
    if options.budget_ns is None or not run_ns > 0:
        return options.confirm_loops
    arms = 1 + max(1, len(options.allowed.tried))
    loops = int(_confirmed_ns(options, run_ns, confirm_runs) / (arms * confirm_runs * run_ns))
    return min(MOST_LOOPS, max(0, loops))


def _confirmed_ns(options: TuneOptions, run_ns: float, confirm_runs: int) -> float:
    """Return the time that a budget leaves for a confirmation of spreads, ns."""
    assert options.budget_ns is not None
    left_ns = options.budget_ns - _look(options, run_ns) * run_ns
    return left_ns if options.allowed.tried else left_ns - search_share(options, confirm_runs, left_ns, run_ns)


def _time_worth(options: TuneOptions, noise: float, run_ns: float, each_ns: float, left_ns: float) -> BudgetWorth:
    """Return the worth of a budget for mean times."""
    assert options.budget_ns is not None
    confirm_runs = options.confirming(each_ns)
    rule = affordable(trial_design(options, each_ns), options, confirm_runs, max(0.0, left_ns), run_ns)
    rule = with_repeats(rule, options, upper_noise(noise, first_look(options)[1] * first_look(options)[0] - 1))
    counted = method_row(options.method).forecast(options, options.allowed.space, rule)
    controls = max(1, rule.most_runs or 1) // CONTROLS if counted is None else counted.controls
    searched = rule.most_runs if counted is None else counted.runs
    pairs = int((left_ns / run_ns - (searched or 0)) / 2)
    if not searched or pairs < FEWEST_LOOPS * FEWEST_RUNS or left_ns <= 0:
        return BudgetWorth(options.budget_ns, math.nan, single=False)
    smallest = _gain(noise, options, pairs, LOOKED * rule.loops * rule.runs, searched, controls)
    return BudgetWorth(options.budget_ns, smallest, single=False)


def _least_runs(options: TuneOptions, confirm_runs: int) -> int:
    """Return the number of runs that are made however small the budget.

    They are a loop of the look and, if the search has a least number of runs, everything after it.
    """
    loops, runs = first_look(options)
    if options.minimize == "time":
        search = 0 if options.allowed.tried else least_search(options)
        return runs + 1 + search + 2 * FEWEST_LOOPS * FEWEST_RUNS
    if options.least_runs <= 1:
        return runs + 1
    return loops * runs + 1 + options.least_runs + 2 * FEWEST_LOOPS * confirm_runs


def _look(options: TuneOptions, run_ns: float) -> int:
    """Return the runs of the first look: all of them, or only its first loop if the budget allows no more."""
    loops, runs = first_look(options)
    all_runs = loops * runs + 1
    assert options.budget_ns is not None
    return all_runs if all_runs * run_ns <= look_share(options) * options.budget_ns else runs + 1


def _noise(pilots: Sequence[Floats]) -> float:
    """Return the noise of single runs, a share of their mean, without the first run, which fills caches."""
    relative = [pilot[1:] / pilot[1:].mean() for pilot in pilots if len(pilot) > 3]
    if not relative:
        return math.nan
    freedom = sum(len(values) - 1 for values in relative)
    return math.sqrt(sum(float(((values - 1) ** 2).sum()) for values in relative) / freedom)


def _search_runs(options: TuneOptions, rule: TrialDesign, noise: float, seed: int) -> tuple[int, int]:
    """Return the runs that a method requests if all settings are alike, and those of the machine as it is."""
    row = method_row(options.method)
    if (forecast := row.forecast(options, options.allowed.space, rule)) is not None:
        return forecast.runs, forecast.controls
    search = SearchRun(row.load(options), options.allowed.space, rule, seed)
    rng = np.random.default_rng([seed, 4])
    size = noise if noise > 0 else UNKNOWN
    runs = controls = asks = 0
    while search.ask is not None and asks < MOST_ASKS:
        ask, asks = search.ask, asks + 1
        counted_runs = ask.loops * ask.runs
        runs += len(ask.arms) * (counted_runs + ask.warmups)
        controls += counted_runs * (NO_SETTINGS in ask.arms)
        times = [tuple(1e9 * np.exp(size * rng.standard_normal(ask.runs)) for _ in range(ask.loops)) for _ in ask.arms]
        search.tell([Sample(arm, loops) for arm, loops in zip(ask.arms, times, strict=True)])
    return runs, controls


def _gain(noise: float, options: TuneOptions, pairs: int, looked: int, searched: int | None, controls: int) -> float:
    """Return the saved share of the time that search and confirmation show with a probability of 80 %.

    `pairs`: fresh runs of the choice, and as many of the baseline; `looked`: the runs of the choice in the search.
    """
    if not noise > 0:
        return math.nan
    loops = max(FEWEST_LOOPS, min(options.confirm_loops, pairs // FEWEST_RUNS))
    confirmed = _reach(loops - 1, options.confidence) * noise * math.sqrt(2 / max(1, pairs))
    detected = 0.0
    if searched and controls:
        detected = (SURE + float(ndtri(0.8))) * noise * math.sqrt(1 / controls + 1 / looked)
    return 1 - math.exp(-max(confirmed, detected))


def _reach(freedom: int, confidence: float) -> float:
    return float(stdtrit(max(1, freedom), (1 + confidence) / 2) + stdtrit(max(1, freedom), 0.8))


def _ratio(options: TuneOptions, confirm_runs: int, loops: int) -> float:
    """Return the detectable ratio of spreads, by the F test of the confirmation's runs."""
    freedom = float(loops * (confirm_runs - 1))
    return f_detectable((freedom, freedom), 1 - options.confidence)
