"""The course of a tune study as one generator: look, search, confirm, and confirm what may be dropped.

`tune_course` yields what to measure next and is sent what came of it, exactly as a method is (`becalm.search`); it ends
with a `Tuned`. It knows no host, store or clock, so that a study stopped anywhere goes on by running it again over the
stored runs. Budgets are turned into numbers of runs by what the first look took.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from becalm import origin, steady
from becalm.history import Floats
from becalm.nouns import Settings
from becalm.search import NO_SETTINGS, Ask, Choice, Method, Rule, Sample, Search
from becalm.space import Space
from becalm.steadiness import RECOMMENDED, TUNED, UNTOUCHED, WITHOUT, Course
from becalm.verdict import Finding

LOOK_LOOPS, LOOK_RUNS = 2, 12
"""The first look: as many runs as say where the scatter comes from (`steady.FEWEST`), in two loops."""

FEWEST_LOOPS = 4
"""Confirming with fewer loops would say nothing with any certainty."""

SEARCH_SHARE = 0.55
"""Share of a budget for the search; the rest confirms, which is what is reported."""

MOST_LOOPS = 60
"""Of a confirmation that is to show that nothing is lost: enough for a margin of a quarter with five runs a loop."""

SLIMMING = 3
"""Tries to do without knobs that are not shown to help: all of them, half of them, a quarter."""

PARALLEL = 1.3
"""CPU time over wall time from which a program is called parallel."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a study is made. `budget_ns` None: no limit in time; `least_runs`: of the search, however small the budget.
    `confirm_loops`, `confirm_runs`: of the confirmation.

    `margin`: a loss of spread smaller than this share does not matter when a setting is left out. `single_out`:
    measure the chosen settings without each one of them. `tried`: named settings to try instead of searching.
    """

    rule: Rule
    confidence: float = 0.95
    budget_ns: int | None = None
    least_runs: int = 1
    confirm_loops: int = 12
    confirm_runs: int = 5
    margin: float = 0.25
    single_out: bool = True
    tried: tuple[tuple[str, Settings], ...] = ()


@dataclass(frozen=True, slots=True)
class Wish:
    """What to measure next, and in which phase of the study. `floor`: the built-in kernel as well."""

    ask: Ask
    phase: str
    floor: bool = False


@dataclass(frozen=True, slots=True)
class Gained:
    """What was measured: samples by program, then by arm. CPU times of the first arm by program, one array a loop."""

    samples: tuple[tuple[Sample, ...], ...]
    together: tuple[Sample, ...]
    cpu: tuple[tuple[Floats, ...], ...] = ()
    floor: tuple[Sample, ...] = ()
    took_ns: float = 0.0


@dataclass(slots=True)
class Tuned:
    """What a study came to; `judged` is None when nothing was there to confirm."""

    choice: Choice
    course: list[Course] = field(default_factory=list)
    judged: steady.Judged | None = None
    findings: list[Finding] = field(default_factory=list)
    search_runs: int = 0
    confirm_runs: int = 0
    tried: tuple[str, ...] = ()
    """Names of `Options.tried` that were confirmed; the first is the arm TUNED."""


Coursing = Generator[Wish, Gained, Tuned]


def tune_course(space: Space, method: Method, options: Options, programs: Sequence[str], seed: int) -> Coursing:
    """The whole study; see the module. `programs` are names, in the order of the samples."""
    rule = options.rule
    look = yield Wish(
        Ask((NO_SETTINGS,), LOOK_LOOPS, LOOK_RUNS, 1, "a first look at the machine as it is"), "look", True
    )
    tuned = Tuned(Choice(NO_SETTINGS, ""), findings=list(_origins(look, programs, options.confidence)))
    tuned.findings += _parallel(look, programs, space)
    run_ns = look.took_ns / max(1, LOOK_LOOPS * LOOK_RUNS + 1)
    left_ns = None if options.budget_ns is None else max(0.0, options.budget_ns - look.took_ns)
    if options.tried:
        options = replace(options, tried=_worth_trying(options.tried, tuned))
        if options.tried:
            tuned.choice = Choice(options.tried[0][1], f"The settings of {options.tried[0][0]} were tried.")
    else:
        if left_ns is not None and rule.most_runs is None:
            rule = replace(rule, most_runs=max(options.least_runs, int(SEARCH_SHARE * left_ns / run_ns)))
        took_ns, chosen = yield from _search(Search(method, space, rule, seed), tuned, rule.objective)
        left_ns = None if left_ns is None else max(0.0, left_ns - took_ns)
        # Settings may slow a program down, and most arms of the confirmation have most of the chosen ones.
        run_ns *= max(1.0, _mean(chosen) / _mean(look.together[0].loops)) if chosen else 1.0
    yield from _confirm(space, options, programs, tuned, run_ns, left_ns)
    return tuned


def _worth_trying(tried: Sequence[tuple[str, Settings]], tuned: Tuned) -> tuple[tuple[str, Settings], ...]:
    """Tried settings that are any, and others than those before them."""
    kept: list[tuple[str, Settings]] = []
    for name, settings in tried:
        same = [other for other, values in kept if values == settings]
        if settings.values and not same:
            kept.append((name, settings))
            continue
        what = f"sets the same as {same[0]} here" if same else "has nothing that can be set here"
        tuned.findings.append(Finding("tried", f"{name} {what}, so it was not measured.", {"name": name}))
    tuned.tried = tuple(name for name, _ in kept)
    if not kept:
        tuned.choice = Choice(NO_SETTINGS, "Nothing of what was to be tried can be set here.")
    return tuple(kept)


def _mean(loops: Sequence[Floats]) -> float:
    return float(np.mean(np.concatenate(loops)))


def _search(search: Search, tuned: Tuned, objective: str) -> Generator[Wish, Gained, tuple[float, list[Floats]]]:
    """Run the method; gives the time it took, and what it measured of the settings that it chose."""
    took_ns = 0.0
    tried: list[tuple[Ask, Sample]] = []
    while search.ask is not None:
        ask = search.ask
        gained = yield Wish(ask, "search")
        took_ns += gained.took_ns
        tuned.search_runs += _counted(gained)
        tried += [(ask, sample) for sample in gained.together]
        search.tell(gained.together)
    assert search.choice is not None
    tuned.choice = search.choice
    for number, (ask, sample) in enumerate(tried, 1):
        spread = sample.spread(objective)
        tuned.course.append(
            Course(
                number=number,
                why=ask.why,
                settings=sample.settings.to_json(),
                runs=sum(len(loop) for loop in sample.loops),
                spread=spread if np.isfinite(spread) else None,
                best=sample.settings == tuned.choice.settings,
            )
        )
    return took_ns, [loop for _, sample in tried if sample.settings == tuned.choice.settings for loop in sample.loops]


def _confirm(
    space: Space, options: Options, programs: Sequence[str], tuned: Tuned, run_ns: float, left_ns: float | None
) -> Generator[Wish, Gained, None]:
    """Fresh, interleaved runs of what was chosen, of the untouched machine, and of what people would do instead."""
    arms: dict[str, Settings] = {UNTOUCHED: NO_SETTINGS}
    if options.tried:
        arms |= {TUNED: options.tried[0][1]} | dict(options.tried[1:])
    elif tuned.choice.settings.values:
        arms[TUNED] = tuned.choice.settings
        arms |= dict(space.profiles)
        if options.single_out and len(tuned.choice.settings.values) > 1:
            needs = {each.knob: each.needs for each in space.candidates}
            arms |= steady.leave_one_out(tuned.choice.settings, needs)
    else:
        return
    wanted = _distinct(arms)
    arms, loops = _affordable(wanted, options, run_ns, left_ns)
    if missing := [name for name in wanted if name not in arms]:
        tuned.findings.append(_too_short(missing))
    gained = yield Wish(_ask(arms, options, loops, "fresh runs of what was chosen"), "confirm")
    tuned.confirm_runs += _counted(gained)
    tuned.judged = _judge(arms, gained, programs, options)
    left_ns = None if left_ns is None else left_ns - gained.took_ns
    yield from _slim(space, options, programs, tuned, loops * len(arms), run_ns, left_ns)


def _too_short(missing: Sequence[str]) -> Finding:
    """What a budget left no time for."""
    profiles = [name for name in missing if not name.startswith(WITHOUT)]
    parts = ["what each setting contributes"] if len(profiles) < len(missing) else []
    parts += [f"{' and '.join(profiles)}"] if profiles else []
    return Finding(
        "budget",
        f"The budget was too short to measure {' and '.join(parts)}. A longer --budget says more.",
        {"left_out": list(missing)},
    )


def _slim(
    space: Space,
    options: Options,
    programs: Sequence[str],
    tuned: Tuned,
    arm_loops: int,
    run_ns: float,
    left_ns: float | None,
) -> Generator[Wish, Gained, None]:
    """Try to do without all knobs that are not shown to help; else without the least useful half of them, and so on.

    Fewer arms than before, so each round may have more loops for the same time: `arm_loops` is what the first
    confirmation made. Ends when `left_ns` does not allow `FEWEST_LOOPS`. When it works, all that is compared is taken
    from this round, which measured it side by side; only what each setting contributes stays from the first.
    """
    assert tuned.judged is not None
    chosen, spare = tuned.choice.settings, tuned.judged.spare
    needs = {each.knob: each.needs for each in space.candidates}
    most = max(options.confirm_loops, min(MOST_LOOPS, arm_loops // (3 + len(space.profiles))))
    for _ in range(SLIMMING):
        fewer = steady.leaner(chosen, spare, needs)
        if spare and not fewer.values:
            # Each alone can be spared, all together cannot: they stand in for each other.
            spare = spare[: len(spare) // 2]
            fewer = steady.leaner(chosen, spare, needs)
        if not spare:
            return
        arms = _distinct({UNTOUCHED: NO_SETTINGS, TUNED: chosen, RECOMMENDED: fewer} | dict(space.profiles))
        loops = most if left_ns is None else min(most, _loops(left_ns, run_ns, options, len(arms)))
        if loops < FEWEST_LOOPS:
            return
        gained = yield Wish(_ask(arms, options, loops, f"fresh runs without {', '.join(spare)}"), "confirm")
        tuned.confirm_runs += _counted(gained)
        left_ns = None if left_ns is None else left_ns - gained.took_ns
        last = _judge(arms, gained, programs, options)
        if last.settings == fewer:
            first = tuned.judged
            tuned.judged = replace(
                first,
                arms=(*last.arms, *(each for each in first.arms if each.name.startswith(WITHOUT))),
                steadier=(*last.steadier, *(each for each in first.steadier if each.arm.startswith(WITHOUT))),
                settings=fewer,
            )
            return
        spare = spare[: len(spare) // 2]


def _distinct(arms: Mapping[str, Settings]) -> dict[str, Settings]:
    """Arms without those that set the same as an earlier one: a profile of which this machine has nothing."""
    found: dict[str, Settings] = {}
    for name, settings in arms.items():
        if settings not in found.values():
            found[name] = settings
    return found


def _affordable(
    arms: dict[str, Settings], options: Options, run_ns: float, left_ns: float | None
) -> tuple[dict[str, Settings], int]:
    """The arms that the time allows, and how many loops: what was chosen and the untouched machine always."""
    if left_ns is None:
        return arms, options.confirm_loops
    for dispensable in (lambda name: name.startswith(WITHOUT), lambda name: name not in (UNTOUCHED, TUNED)):
        if _loops(left_ns, run_ns, options, len(arms)) < FEWEST_LOOPS:
            arms = {name: settings for name, settings in arms.items() if not dispensable(name)}
    return arms, min(options.confirm_loops, max(FEWEST_LOOPS, _loops(left_ns, run_ns, options, len(arms))))


def _loops(left_ns: float, run_ns: float, options: Options, arms: int) -> int:
    """Loops of so many arms that the time allows."""
    return int(left_ns / max(1.0, run_ns * options.confirm_runs * arms))


def _ask(arms: Mapping[str, Settings], options: Options, loops: int, why: str) -> Ask:
    return Ask(tuple(arms.values()), loops, options.confirm_runs, 1, why, arms[TUNED])


def _judge(arms: Mapping[str, Settings], gained: Gained, programs: Sequence[str], options: Options) -> steady.Judged:
    by_arm = {name: [samples[index] for samples in gained.samples] for index, name in enumerate(arms)}
    return steady.judge(
        by_arm,
        programs,
        objective=options.rule.objective,
        confidence=options.confidence,
        margin=options.margin,
    )


def _counted(gained: Gained) -> int:
    """Good runs of all arms and programs, warm-ups left out."""
    return sum(len(loop) for one in gained.samples for sample in one for loop in sample.loops)


def _origins(look: Gained, programs: Sequence[str], confidence: float) -> list[Finding]:
    """Where each program's scatter comes from, as far as the first look tells."""
    if not look.floor or not look.cpu:
        return []
    floor = look.floor[0].spread()
    found = (
        origin.outside(samples[0].loops, cpu, floor, program, confidence=confidence)
        for samples, cpu, program in zip(look.samples, look.cpu, programs, strict=True)
        if not samples[0].failed
    )
    return [each for each in found if each is not None]


def _parallel(look: Gained, programs: Sequence[str], space: Space) -> list[Finding]:
    """Programs that use several CPUs while settings are tried that keep them on fewer."""
    confining = [each.knob for each in space.candidates if each.confines]
    found = []
    for samples, cpu, program in zip(look.samples, look.cpu, programs, strict=False):
        wall = sum(float(loop.sum()) for loop in samples[0].loops)
        used = sum(float(loop.sum()) for loop in cpu) / wall if wall else 0.0
        if confining and used > PARALLEL:
            found.append(
                Finding(
                    "parallel",
                    f"{program} keeps {used:.1f} CPUs busy at a time, and {', '.join(confining)} would leave it fewer: "
                    "it would be steadier and slower. --preserve-multicore leaves such settings out.",
                    {"cpus": used, "confining": confining},
                    program,
                )
            )
    return found
