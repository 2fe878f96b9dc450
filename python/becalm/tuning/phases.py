"""The course of a tune study as one generator: look, search, confirm, and confirm what may be dropped.

`tune_phases` yields what to measure next and is sent what came of it (`becalm.tuning.exchange`), exactly as a method is
(`becalm.methods.protocol`); it ends with a `SearchResult`. It knows no host, store or clock, so that a study stopped
anywhere goes on by running it again over the stored runs. Budgets are turned into numbers of runs by what the first
look took. `becalm.tuning.confirm` has its second half.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace

import numpy as np

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
from becalm.tuning.exchange import PhaseGenerator, PhaseRequest, PhaseResult, SearchResult, counted
from becalm.tuning.repeats import at_most, repeated
from becalm.tuning.search_fit import search_fit
from becalm.wording.findings import finding

LOOK_LOOPS, LOOK_RUNS = 2, 12
"""The first look: as many runs as say where the scatter comes from (`variance_source.FEWEST`), in two loops."""

TIMED_LOOK = (2, 3)
"""The same where it is the mean time that counts: what the first runs cost, and about how much they differ."""

LOOK_SHARE, TIMED_LOOK_SHARE = 0.4, 0.2
"""Share of a budget that a second loop of the look may need: without it nothing is said of where the scatter arises.
Of times it tells the noise only, which the search sees, too."""

SEARCH_SHARE, SPREAD_SHARE = 0.55, 0.4
"""Share of a budget for the search, and for one that makes a spread small: the rest confirms, which is what is
reported, and a spread takes many more runs to tell than a mean."""

OVER = 1.1
"""A search for times is ended when it has taken so many times its share: settings may be slower than what they are
compared with, and the machine than it was."""

LEAST_SHARE = 0.2
"""The same, at least, where what is left would confirm with fewer loops than are wanted: whether what was chosen helps
is told by those, and little is to be told of many combinations."""

SEARCH_BOOTS = 8
"""The usual number of restarts in a race; at most half of its time is kept for that."""

PARALLEL = 1.3
"""CPU time over wall time from which a program is called parallel."""


def tune_phases(
    options: TuneOptions, programs: Sequence[str], seed: int, method: Method | None = None
) -> PhaseGenerator:
    """Yield the whole study; see the module. `programs` are names, in the order of the samples.

    `method`: instead of the one that the options name.
    """
    given, options = options, complete(options)
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
    loops = max((len(each.loops) for each in look.samples[0]), default=loops) or loops
    run_ns = look.took_ns / max(1, loops * runs + 1)
    each_ns = run_ns / len(programs)
    rule = trial_design(given, each_ns)
    left_ns = None if options.budget_ns is None else max(0.0, options.budget_ns - look.took_ns)
    if options.allowed.tried:
        tried = _worth_trying(options.allowed.tried, tuned)
        options = replace(options, allowed=replace(options.allowed, tried=tried))
        if not tried:
            return tuned
        tuned.choice = Choice(tried[0][1], f"The settings of {tried[0][0]} were tried.")
    else:
        confirm_runs = options.confirming(each_ns)
        if left_ns is not None:
            rule = affordable(rule, options, confirm_runs, left_ns, run_ns)
        seen = sum(len(loop) for each in look.together for loop in each.loops)
        rule = repeated(rule, options, at_most(_noise(look.together), seen - 1))
        by = method or _with_known_lists(options)
        search = SearchRun(by, space.bundled(), rule, seed)
        # What a search for spreads asks for is fixed by its rule, and its last runs decide.
        limit_ns = math.inf
        if left_ns is not None and space.factors:
            limit_ns = OVER * search_share(options, confirm_runs, left_ns, run_ns)
        took_ns, chosen, trials = yield from _search(search, tuned, rule.objective, limit_ns, least_search(options))
        if space.factors and not sweeps(options):
            tuned.fit, noticed = search_fit(space, trials, rule.objective, options.confidence, seed, options.metric)
            tuned.findings += noticed
            if chosen:
                tuned.gain = 1 - _mean(each.loops for each in chosen) / _mean([look.together[0].loops])
            tuned.noise = _noise([*look.together, *(each for _, _, each in trials if each.settings == NO_SETTINGS)])
        left_ns = None if left_ns is None else max(0.0, left_ns - took_ns)
        # Settings may slow a program down, and most arms of the confirmation have most of the chosen ones.
        if chosen:
            run_ns *= max(1.0, _mean(each.times for each in chosen) / _mean([look.together[0].times]))
    yield from confirm(space, options, programs, tuned, run_ns, left_ns)
    tuned.findings = [variance_source.against_settings(each, tuned.judged.comparisons) for each in tuned.findings]
    return tuned


def sweeps(options: TuneOptions) -> bool:
    """Return whether one setting is swept for the spread."""
    return options.minimize != "time" and bool(options.allowed.space.factors)


def _with_known_lists(options: TuneOptions) -> Method:
    """Return the method of the options, which knows the known lists where it makes a spread small."""
    if sweeps(options):
        return sweep
    row = method_row(options.method)
    own = row.load(options)
    return own if row.knows_lists or options.minimize == "time" else with_lists(own)


def look_share(options: TuneOptions) -> float:
    """Return the share of a budget that the whole first look may need."""
    return TIMED_LOOK_SHARE if options.minimize == "time" else LOOK_SHARE


def _worth_trying(tried: Sequence[tuple[str, Settings]], tuned: SearchResult) -> tuple[tuple[str, Settings], ...]:
    """Return tried settings that are not empty, and differ from those before them."""
    kept: list[tuple[str, Settings]] = []
    for name, settings in tried:
        same = [other for other, values in kept if values == settings]
        if settings.values and not same:
            kept.append((name, settings))
            continue
        tuned.findings.append(finding("tried", {"name": name, "same_as": same[0] if same else None}))
    tuned.tried = tuple(name for name, _ in kept)
    if not kept:
        tuned.choice = Choice(NO_SETTINGS, "Nothing of what was to be tried can be set here.")
    return tuple(kept)


def _mean(samples: Iterable[Sequence[Floats]]) -> float:
    return float(np.mean(np.concatenate([loop for loops in samples for loop in loops])))


def _search(
    search: SearchRun, tuned: SearchResult, objective: str, limit_ns: float, least_runs: int
) -> Generator[PhaseRequest, PhaseResult, tuple[float, list[Sample], list[tuple[int, Ask, Sample]]]]:
    """Run the method; gives the time it took, what it measured of the settings that it chose, and all its trials.

    After `least_runs` it ends where the next runs would take longer than `limit_ns` in all.
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
        tuned.search_runs += counted(gained)
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
    chosen = [each for *_, each in tried if each.settings == tuned.choice.settings and each.loops]
    return took_ns, chosen, tried


def _noise(samples: Sequence[Sample]) -> float:
    """Return the standard deviation of single runs of the machine as it is over the whole search, a share of their
    mean."""
    runs = np.concatenate([np.empty(0), *(loop for sample in samples for loop in sample.loops)])
    return float(runs.std(ddof=1) / runs.mean()) if len(runs) > 2 else 0.0


def first_look(options: TuneOptions) -> tuple[int, int]:
    """Return the loops of the first look, and runs of each."""
    return TIMED_LOOK if options.minimize == "time" else (LOOK_LOOPS, LOOK_RUNS)


def least_search(options: TuneOptions) -> int:
    """Return the runs of a search that are made however small the budget; fewer would tell nothing of times."""
    return max(options.least_runs, len(options.allowed.space.factors) + FEWEST if options.minimize == "time" else 1)


def search_share(options: TuneOptions, confirm_runs: int, left_ns: float, run_ns: float) -> float:
    """Return the time of the search, ns: what confirms its choice is kept for that.

    What was not confirmed is not reported.
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
    """Return a rule with no more runs than the search's share of the time that is left allows.

    What confirms its choice has loops of `confirm_runs`.
    """
    share_ns = search_share(options, confirm_runs, left_ns, run_ns)
    boots_ns = min(SEARCH_BOOTS * options.allowed.boot_ns, share_ns / 2) if _boots(options.allowed.space) else 0.0
    runs = max(least_search(options), int((share_ns - boots_ns) / run_ns))
    return replace(rule, most_runs=min(runs, rule.most_runs or runs))


def _boots(space: Space) -> bool:
    """Return whether a search in this space starts the machine again."""
    varied = (*(candidate.knob for candidate in space.candidates), *(factor.name for factor in space.factors))
    return not set(space.boot).isdisjoint(varied)


def _origins(look: PhaseResult, programs: Sequence[str], confidence: float) -> list[Finding]:
    """Return findings on the source of each program's variation, as far as the first look shows it."""
    if not look.floor or not look.cpu:
        return []
    floor = look.floor[0].value()
    found = (
        variance_source.classify(samples[0].loops, cpu, floor, program, confidence=confidence)
        for samples, cpu, program in zip(look.samples, look.cpu, programs, strict=True)
        if not samples[0].failed
    )
    return [each for each in found if each is not None]


def _parallel(look: PhaseResult, programs: Sequence[str], space: Space) -> list[Finding]:
    """Return programs that use several CPUs while settings are tried that keep them on fewer."""
    confining = [candidate.knob for candidate in space.candidates if candidate.restricts_cpus]
    findings = []
    for samples, cpu, program in zip(look.samples, look.cpu, programs, strict=False):
        wall = sum(float(loop.sum()) for loop in samples[0].loops)
        used = sum(float(loop.sum()) for loop in cpu) / wall if wall else 0.0
        if confining and used > PARALLEL:
            findings.append(finding("parallel", {"cpus": used, "confining": confining}, program))
    return findings
