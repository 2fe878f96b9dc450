"""The course of a tune study as a generator: a first look, the search, and the confirmation.

`tune_phases` yields requests and is sent results (`becalm.tuning.exchange`), as methods do (`becalm.methods.protocol`);
it returns a `SearchResult`. It has no access to a host, a store or a clock, so that a study stopped at any point is
resumed by running it again over the stored runs. The time of the first look converts budgets to numbers of runs.
`becalm.tuning.confirm` has the second half.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Generator, Iterable, Sequence

import numpy as np
from msgspec.structs import replace

from becalm.analysis import variance_source
from becalm.methods import complete, trial_design
from becalm.methods import method as method_row
from becalm.methods.lists import with_lists
from becalm.methods.protocol import NO_SETTINGS, Ask, Choice, Method, Sample, SearchRun, TrialDesign
from becalm.methods.sequential import FEWEST
from becalm.methods.sweep import sweep
from becalm.nouns.finding import Finding
from becalm.nouns.options.tune import TuneOptions
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings
from becalm.results.tune import Trial
from becalm.stats.arrays import Floats
from becalm.tuning.confirm import confirm
from becalm.tuning.confirming import FEWEST_LOOPS, FEWEST_RUNS
from becalm.tuning.exchange import PhaseGenerator, PhaseRequest, PhaseResult, SearchResult, count_runs
from becalm.tuning.repeats import upper_noise, with_repeats
from becalm.tuning.search_fit import search_fit
from becalm.wording.findings import finding

LOOK_LOOPS, LOOK_RUNS = 2, 12
"""The loops and runs of the first look, enough to find the source of the scatter (`variance_source.FEWEST`)."""

TIMED_LOOK = (2, 3)
"""The loops and runs of the first look for mean times, which estimates the time of a run and its noise."""

LOOK_SHARE, TIMED_LOOK_SHARE = 0.4, 0.2
"""The share of a budget that a second loop of the look may take. Without it the source of the scatter is not reported;
for mean times it only adds to the noise estimate, to which the search contributes, too."""

SEARCH_SHARE, SPREAD_SHARE = 0.55, 0.4
"""The share of a budget for a search for mean times, and for little variation. The rest is for the confirmation, which
is reported; a spread needs many more runs than a mean."""

OVER = 1.1
"""The multiple of its share of time at which a search for times is ended, since settings may slow the program, and the
machine may have become slower."""

LEAST_SHARE = 0.2
"""The least share of a budget for a search, if the confirmation has fewer loops than requested: these show whether the
choice helps, and a short search cannot distinguish many combinations."""

SEARCH_BOOTS = 8
"""The usual number of restarts in a race; at most half of its time is kept for them."""

PARALLEL = 1.3
"""The ratio of CPU time to wall time above which a program counts as parallel."""


def tune_phases(
    options: TuneOptions, programs: Sequence[str], seed: int, method: Method | None = None
) -> PhaseGenerator:
    """Yield the requests of a study; see the module.

    `programs`: their names, in the order of the samples. `method`: a method that replaces the one in the options.
    """
    requested, options = options, complete(options)
    space = options.allowed.space
    loops, runs = first_look(options)
    look = yield PhaseRequest(
        Ask((NO_SETTINGS,), loops, runs, 1, "a first look at the machine as it is"),
        "look",
        options.minimize != "time",
        None if options.budget_ns is None else look_share(options) * options.budget_ns,
    )
    tuned = SearchResult(Choice(NO_SETTINGS, ""), findings=list(_origins(look, programs, options.confidence)))
    tuned.findings += _parallel(look, programs, space)
    loops = max((len(sample.loops) for sample in look.samples[0]), default=loops) or loops
    run_ns = look.took_ns / max(1, loops * runs + 1)
    each_ns = run_ns / len(programs)
    rule = trial_design(requested, each_ns)
    left_ns = None if options.budget_ns is None else max(0.0, options.budget_ns - look.took_ns)
    if options.allowed.tried:
        tried = _worth_trying(options.allowed.tried, tuned)
        options = dataclasses.replace(options, allowed=replace(options.allowed, tried=tried))
        if not tried:
            return tuned
        tuned.choice = Choice(tried[0][1], f"The settings of {tried[0][0]} were tried.")
    else:
        confirm_runs = options.confirming(each_ns)
        if left_ns is not None:
            rule = affordable(rule, options, confirm_runs, left_ns, run_ns)
        seen = sum(len(loop) for sample in look.together for loop in sample.loops)
        rule = with_repeats(rule, options, upper_noise(_noise(look.together), seen - 1))
        by = method or _with_known_lists(options)
        search = SearchRun(by, space.bundled(), rule, seed)
        # A search for spreads has a fixed number of runs, and its last runs decide, so it has no time limit.
        limit_ns = math.inf
        if left_ns is not None and space.factors:
            limit_ns = OVER * search_share(options, confirm_runs, left_ns, run_ns)
        took_ns, chosen, trials = yield from _search(search, tuned, rule.objective, limit_ns, least_search(options))
        if space.factors and not sweeps(options):
            tuned.fit, noticed = search_fit(space, trials, rule.objective, options.confidence, seed, options.metric)
            tuned.findings += noticed
            if chosen:
                tuned.gain = 1 - _mean(sample.loops for sample in chosen) / _mean([look.together[0].loops])
            tuned.noise = _noise(
                [*look.together, *(sample for _, _, sample in trials if sample.settings == NO_SETTINGS)]
            )
        left_ns = None if left_ns is None else max(0.0, left_ns - took_ns)
        # Settings may slow a program down, and most arms of the confirmation have most of the chosen ones.
        if chosen:
            run_ns *= max(1.0, _mean(sample.times for sample in chosen) / _mean([look.together[0].times]))
    yield from confirm(space, options, programs, tuned, run_ns, left_ns)
    tuned.findings = [variance_source.against_settings(noticed, tuned.judged.comparisons) for noticed in tuned.findings]
    return tuned


def sweeps(options: TuneOptions) -> bool:
    """Return whether the study sweeps one setting for the spread."""
    return options.minimize != "time" and bool(options.allowed.space.factors)


def _with_known_lists(options: TuneOptions) -> Method:
    """Return the method of the options, with the known lists as candidates if it minimises a spread."""
    if sweeps(options):
        return sweep
    row = method_row(options.method)
    own = row.load(options)
    return own if row.knows_lists or options.minimize == "time" else with_lists(own)


def look_share(options: TuneOptions) -> float:
    """Return the share of a budget that the first look may take."""
    return TIMED_LOOK_SHARE if options.minimize == "time" else LOOK_SHARE


def _worth_trying(tried: Sequence[tuple[str, Settings]], tuned: SearchResult) -> tuple[tuple[str, Settings], ...]:
    """Return the settings to try that are not empty and differ from the earlier ones; add findings on the others."""
    distinct: list[tuple[str, Settings]] = []
    for name, settings in tried:
        same = [other for other, values in distinct if values == settings]
        if settings.values and not same:
            distinct.append((name, settings))
            continue
        tuned.findings.append(finding("tried", {"name": name, "same_as": same[0] if same else None}))
    tuned.tried = tuple(name for name, _ in distinct)
    if not distinct:
        tuned.choice = Choice(NO_SETTINGS, "None of the settings to try can be set on this host.")
    return tuple(distinct)


def _mean(samples: Iterable[Sequence[Floats]]) -> float:
    return float(np.mean(np.concatenate([loop for loops in samples for loop in loops])))


def _search(
    search: SearchRun, tuned: SearchResult, objective: str, limit_ns: float, least_runs: int
) -> Generator[PhaseRequest, PhaseResult, tuple[float, list[Sample], list[tuple[int, Ask, Sample]]]]:
    """Run the method; return the time it took, the samples of the chosen settings, and all trials.

    After `least_runs` it ends if the next runs would exceed `limit_ns` in total.
    """
    took_ns, used = 0.0, 0
    tried: list[tuple[int, Ask, Sample]] = []
    asks = 0
    while search.ask is not None:
        ask = search.ask
        runs = len(ask.arms) * (ask.loops * ask.runs + ask.warmups)
        if used >= max(1, least_runs) and took_ns * (used + runs) / used > limit_ns:
            search.stop()
            break
        used += runs
        asks += 1
        gained = yield PhaseRequest(ask, "search")
        took_ns += gained.took_ns
        tuned.search_runs += count_runs(gained)
        tried += [(asks, ask, sample) for sample in gained.together]
        search.tell(gained.together)
    assert search.choice is not None
    tuned.choice = search.choice
    for number, (_, ask, sample) in enumerate(tried, 1):
        spread = sample.value(objective)
        tuned.trials.append(
            Trial(
                number=number,
                why=ask.why,
                settings=sample.settings.to_json(),
                runs=sum(len(loop) for loop in sample.loops),
                spread=spread if np.isfinite(spread) else None,
                best=sample.settings == tuned.choice.settings,
                ended_ns=max(sample.ended_ns) if sample.slow else None,
            )
        )
    chosen = [sample for *_, sample in tried if sample.settings == tuned.choice.settings and sample.loops]
    return took_ns, chosen, tried


def _noise(samples: Sequence[Sample]) -> float:
    """Return the standard deviation of single runs of these samples, a share of their mean; 0 with too few runs."""
    runs = np.concatenate([np.empty(0), *(loop for sample in samples for loop in sample.loops)])
    return float(runs.std(ddof=1) / runs.mean()) if len(runs) > 2 else 0.0


def first_look(options: TuneOptions) -> tuple[int, int]:
    """Return the number of loops of the first look, and of the runs of each."""
    return TIMED_LOOK if options.minimize == "time" else (LOOK_LOOPS, LOOK_RUNS)


def least_search(options: TuneOptions) -> int:
    """Return the least number of runs of a search, however small the budget."""
    return max(options.least_runs, len(options.allowed.space.factors) + FEWEST if options.minimize == "time" else 1)


def search_share(options: TuneOptions, confirm_runs: int, left_ns: float, run_ns: float) -> float:
    """Return the time for the search, ns.

    The rest is kept for the confirmation, without which no result is reported.
    """
    if options.minimize == "time":
        return max(0.0, min(SEARCH_SHARE * left_ns, left_ns - 2 * FEWEST_LOOPS * FEWEST_RUNS * run_ns))
    loop_ns = 2 * confirm_runs * run_ns
    kept_ns = left_ns - options.confirm_loops * loop_ns
    most_ns = max(kept_ns, LEAST_SHARE * left_ns)
    return max(0.0, min(SPREAD_SHARE * left_ns, left_ns - FEWEST_LOOPS * loop_ns, most_ns))


def affordable(
    rule: TrialDesign, options: TuneOptions, confirm_runs: int, left_ns: float, run_ns: float
) -> TrialDesign:
    """Return the rule with at most the runs for which the search's share of the time left is enough.

    `confirm_runs`: the runs in a loop of the confirmation.
    """
    share_ns = search_share(options, confirm_runs, left_ns, run_ns)
    boots_ns = min(SEARCH_BOOTS * options.allowed.boot_ns, share_ns / 2) if _boots(options.allowed.space) else 0.0
    runs = max(least_search(options), int((share_ns - boots_ns) / run_ns))
    return replace(rule, most_runs=min(runs, rule.most_runs or runs))


def _boots(space: Space) -> bool:
    """Return whether a search in this space restarts the machine."""
    varied = (*(candidate.knob for candidate in space.candidates), *(factor.name for factor in space.factors))
    return not set(space.boot).isdisjoint(varied)


def _origins(look: PhaseResult, programs: Sequence[str], confidence: float) -> list[Finding]:
    """Return the findings on the source of each program's variation that the first look shows."""
    if not look.floor or not look.cpu:
        return []
    floor = look.floor[0].value()
    findings = (
        variance_source.classify(samples[0].loops, cpu, floor, program, confidence=confidence)
        for samples, cpu, program in zip(look.samples, look.cpu, programs, strict=True)
        if not samples[0].failed
    )
    return [origin for origin in findings if origin is not None]


def _parallel(look: PhaseResult, programs: Sequence[str], space: Space) -> list[Finding]:
    """Return findings on programs that use several CPUs, if candidates keep them on fewer."""
    confining = [candidate.knob for candidate in space.candidates if candidate.restricts_cpus]
    findings = []
    for samples, cpu, program in zip(look.samples, look.cpu, programs, strict=False):
        wall = sum(float(loop.sum()) for loop in samples[0].loops)
        used = sum(float(loop.sum()) for loop in cpu) / wall if wall else 0.0
        if confining and used > PARALLEL:
            findings.append(finding("parallel", {"cpus": used, "confining": confining}, program))
    return findings
