"""The confirmation of a tune study: fresh runs of what was chosen, and of less, until nothing useless is left.

`confirm` is the second half of the course of `becalm.tuning.phases`. Settings of the boot are left out as one first,
since each costs a boot; they are taken apart only when they help. Pure: wishes out, what was gained in.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from becalm.analysis import confirmation
from becalm.methods.protocol import NO_SETTINGS, Ask, Choice
from becalm.nouns.options.tune import TuneOptions
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings
from becalm.nouns.tune_verdict import AND, BASELINE, EVERYTHING, LISTED, RECOMMENDED, TUNED, WITHOUT, AblationEffect
from becalm.nouns.verdict import Finding
from becalm.tuning.exchange import PhaseRequest, PhaseResult, SearchResult, counted
from becalm.wording.findings import finding
from becalm.wording.tune import named

FEWEST_LOOPS = 4
"""Confirming with fewer loops would say nothing with any certainty."""

MOST_LOOPS = 60
"""Of a confirmation that is to show that nothing is lost: enough for a margin of a quarter with five runs a loop."""

SLIMMING = 3
"""Tries to do without knobs that are not shown to help: all of them, half of them, a quarter."""

BOOT_RUNS = 30
"""Runs a loop, at most, when a boot takes longer than they do."""

BOOT_LOOPS = 10
"""Of a confirmation with boots that is to show that nothing is lost, of twice as many runs: boots are what costs."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How a confirmation is made: `loops` of `runs` runs of each arm; with `boots` each loop on boots of its own."""

    loops: int
    runs: int
    boots: bool = False


def confirm(
    space: Space,
    options: TuneOptions,
    programs: Sequence[str],
    tuned: SearchResult,
    run_ns: float,
    left_ns: float | None,
) -> Generator[PhaseRequest, PhaseResult, None]:
    """Fresh, interleaved runs of what was chosen, of the baseline, and of what people would do instead."""
    if not options.allowed.tried and not tuned.choice.settings.values:
        left_ns = yield from _strongest(space, options, programs, tuned, run_ns, left_ns)
    arms: dict[str, Settings] = {BASELINE: NO_SETTINGS}
    if options.allowed.tried:
        arms |= {TUNED: options.allowed.tried[0][1]} | dict(options.allowed.tried[1:])
    elif tuned.choice.settings.values:
        arms[TUNED] = tuned.choice.settings
        arms |= dict(space.profiles)
        if options.single_out and len(tuned.choice.settings.values) > 1:
            requires = {each.knob: each.requires for each in space.candidates}
            arms |= confirmation.leave_one_out(tuned.choice.settings, requires, space.boot)
    else:
        return
    wanted = _distinct(arms)
    arms, shape = _affordable(wanted, space, options, run_ns, left_ns)
    if missing := [name for name in wanted if name not in arms]:
        tuned.findings.append(_too_short(missing))
    gained = yield PhaseRequest(_ask(arms, shape, "fresh runs of what was chosen"), "confirm")
    tuned.confirm_runs += counted(gained)
    tuned.judged = _judge(arms, gained, programs, options)
    left_ns = None if left_ns is None else left_ns - gained.took_ns
    left_ns = yield from _unbundle_boot(space, options, programs, tuned, shape, run_ns, left_ns)
    left_ns = yield from _decide(space, options, programs, tuned, run_ns, left_ns)
    yield from _backward_elimination(space, options, programs, tuned, run_ns, left_ns)


def _strongest(
    space: Space,
    options: TuneOptions,
    programs: Sequence[str],
    tuned: SearchResult,
    run_ns: float,
    left_ns: float | None,
) -> Generator[PhaseRequest, PhaseResult, float | None]:
    """Where a search chose nothing: the strongest settings there are, before it is said that none help.

    They are what any of the known profiles sets, and everything. What helps of them is chosen, and then confirmed as
    what a search chose is. Gives the time that is left.
    """
    listed = {knob for _, settings in space.profiles for knob, _ in settings.values}
    everything = space.settings(space.candidates)
    union = space.settings(each for each in space.candidates if each.knob in listed)
    if not everything.values:
        return left_ns
    wanted = {BASELINE: NO_SETTINGS, TUNED: union if union.values else everything, EVERYTHING: everything}
    arms, shape = _affordable(_distinct(wanted | dict(space.profiles)), space, options, run_ns, left_ns)
    gained = yield PhaseRequest(_ask(arms, shape, "the strongest settings, before saying that none help"), "confirm")
    tuned.confirm_runs += counted(gained)
    strongest = LISTED if union.values else EVERYTHING
    judged = _renamed(_judge(arms, gained, programs, options), strongest)
    arms = {strongest if name == TUNED else name: settings for name, settings in arms.items()}
    helping = [each for each in judged.comparisons if confirmation.helps(judged.comparisons, each.arm)]
    best = max(helping, key=lambda each: each.ratio.low, default=None)
    tuned.findings.append(
        finding("strongest", {"arms": [name for name in arms if name != BASELINE], "helped": best and best.arm})
    )
    if best is None or any(arm.failed for arm in judged.arms if arm.name == best.arm):
        tuned.judged = replace(judged, settings=NO_SETTINGS)
    else:
        tuned.choice = Choice(arms[best.arm], f"{tuned.choice.why} But fresh runs of {named(best.arm)} vary less.")
    return None if left_ns is None else left_ns - gained.took_ns


def _renamed(judged: confirmation.Confirmation, name: str) -> confirmation.Confirmation:
    """The arm TUNED by another name: a search that chose nothing has none of this name."""
    arms = tuple(replace(each, name=name) if each.name == TUNED else each for each in judged.arms)
    comparisons = tuple(
        replace(each, arm=name, sentence=each.sentence.replace(named(TUNED), named(name)))
        if each.arm == TUNED
        else each
        for each in judged.comparisons
    )
    return replace(judged, arms=arms, comparisons=comparisons)


def _unbundle_boot(
    space: Space,
    options: TuneOptions,
    programs: Sequence[str],
    tuned: SearchResult,
    shape: Shape,
    run_ns: float,
    left_ns: float | None,
) -> Generator[PhaseRequest, PhaseResult, float | None]:
    """Take settings of the boot apart, once they are shown to help as a whole: what each of them contributes.

    Each needs a boot of its own in every loop, so this is done only now. Gives the time that is left.
    """
    chosen = tuned.choice.settings
    boot = [name for name, _ in space.at_boot(chosen).values]
    unit = AND.join(boot)
    helped = any(each.knob == unit for each in tuned.judged.contributions) and unit not in tuned.judged.spare
    if len(boot) < 2 or not options.single_out or not helped:
        return left_ns
    requires = {each.knob: each.requires for each in space.candidates}
    alone = {WITHOUT + knob: confirmation.without(chosen, (knob,), requires) for knob in boot}
    bare = {BASELINE: NO_SETTINGS, TUNED: chosen}
    arms = _distinct(bare | alone)
    shape = replace(_shape(arms, space, options, run_ns), boots=True, loops=FEWEST_LOOPS)
    if left_ns is not None:
        # Doing without what does not help comes after it, and is worth as much.
        after = FEWEST_LOOPS * _loop_ns(bare | dict(space.profiles), shape, space, options, run_ns)
        most = int((left_ns - after) / _loop_ns(arms, shape, space, options, run_ns))
        shape = replace(shape, loops=min(shape.loops, most))
    if shape.loops < FEWEST_LOOPS or len(arms) == len(bare):
        return left_ns
    gained = yield PhaseRequest(_ask(arms, shape, f"fresh runs without each of {unit}"), "confirm")
    tuned.confirm_runs += counted(gained)
    tuned.judged = _with_contributions(tuned.judged, _judge(arms, gained, programs, options), {unit})
    return None if left_ns is None else left_ns - gained.took_ns


def _with_contributions(
    first: confirmation.Confirmation, again: confirmation.Confirmation, instead: Collection[str]
) -> confirmation.Confirmation:
    """A confirmation with what another one says of single knobs, `instead` of what it says of these units itself."""
    measured = {each.name for each in again.arms if each.name.startswith(WITHOUT)}
    return replace(
        first,
        arms=(
            *(each for each in first.arms if each.name not in measured),
            *(each for each in again.arms if each.name in measured),
        ),
        comparisons=(
            *(each for each in first.comparisons if each.arm not in measured),
            *(each for each in again.comparisons if each.arm in measured),
        ),
        contributions=(*(each for each in first.contributions if each.knob not in instead), *again.contributions),
        droppable=(*(each for each in first.droppable if each not in instead), *again.droppable),
        spare=(*(each for each in first.spare if each not in instead), *again.spare),
    )


def _undecided(judged: confirmation.Confirmation) -> dict[str, int]:
    """Knobs of which it is open whether they help or can be left out, and how many loops would probably decide."""
    by_knob: dict[str, list[AblationEffect]] = {}
    for each in judged.contributions:
        by_knob.setdefault(each.knob, []).append(each)
    return {
        knob: max(MOST_LOOPS if each.loops_needed is None else each.loops_needed for each in effects)
        for knob, effects in by_knob.items()
        if knob not in judged.droppable and not any(each.ratio.low > 1 for each in effects)
    }


def _decide(
    space: Space,
    options: TuneOptions,
    programs: Sequence[str],
    tuned: SearchResult,
    run_ns: float,
    left_ns: float | None,
) -> Generator[PhaseRequest, PhaseResult, float | None]:
    """More loops, all fresh, of what is undecided, as far as the time allows. Gives the time that is left.

    The new loops alone say what those settings contribute: to look, go on and look at all again would find something
    more often than one time in twenty. Doing without what does not help comes after it, and is left the time for that.
    """
    chosen, open_ones = tuned.choice.settings, _undecided(tuned.judged)
    if not open_ones or not confirmation.helps(tuned.judged.comparisons, TUNED):
        return left_ns
    requires = {each.knob: each.requires for each in space.candidates}
    bare = {BASELINE: NO_SETTINGS, TUNED: chosen}
    arms = _distinct(bare | {WITHOUT + knob: confirmation.without(chosen, (knob,), requires) for knob in open_ones})
    shape = _shape(arms, space, options, run_ns)
    loops = max(shape.loops, min(MOST_LOOPS, 2 * max(open_ones.values())))
    if shape.boots:
        loops = min(loops, BOOT_LOOPS)
    if left_ns is not None:
        rest = bare | {RECOMMENDED: NO_SETTINGS} | dict(space.profiles)
        after = FEWEST_LOOPS * _loop_ns(rest, shape, space, options, run_ns)
        loops = min(loops, int((left_ns - after) / _loop_ns(arms, shape, space, options, run_ns)))
    if loops < max(FEWEST_LOOPS, min(shape.loops, options.confirm_loops)) or len(arms) == len(bare):
        return left_ns
    why = f"more fresh runs without each of {', '.join(open_ones)}, which are undecided"
    gained = yield PhaseRequest(_ask(arms, replace(shape, loops=loops), why), "confirm")
    tuned.confirm_runs += counted(gained)
    tuned.judged = _with_contributions(tuned.judged, _judge(arms, gained, programs, options), open_ones.keys())
    return None if left_ns is None else left_ns - gained.took_ns


def _too_short(missing: Sequence[str]) -> Finding:
    """What a budget left no time for."""
    return finding("budget", {"left_out": list(missing)})


def _backward_elimination(
    space: Space,
    options: TuneOptions,
    programs: Sequence[str],
    tuned: SearchResult,
    run_ns: float,
    left_ns: float | None,
) -> Generator[PhaseRequest, PhaseResult, None]:
    """Try to do without all knobs that are not shown to help; else without the least useful half of them, and so on.

    Fewer arms than before, so each round may have more loops for the time that the confirmation took so far. Ends when
    `left_ns` does not allow `FEWEST_LOOPS`. When it works, all that is compared is taken from this round, which
    measured it side by side; only what each setting contributes stays from the first.
    """
    chosen, spare = tuned.choice.settings, tuned.judged.spare
    requires = {each.knob: each.requires for each in space.candidates}
    arm_loops = tuned.confirm_runs // (options.confirm_runs * len(programs))
    most = max(options.confirm_loops, min(MOST_LOOPS, arm_loops // (3 + len(space.profiles))))
    for _ in range(SLIMMING):
        fewer = confirmation.without(chosen, spare, requires)
        if spare and not fewer.values:
            # Each alone can be spared, all together cannot: they stand in for each other.
            spare = spare[: len(spare) // 2]
            fewer = confirmation.without(chosen, spare, requires)
        if not spare:
            return
        arms = _distinct({BASELINE: NO_SETTINGS, TUNED: chosen, RECOMMENDED: fewer} | dict(space.profiles))
        shape = _shape(arms, space, options, run_ns)
        if shape.boots:
            shape = replace(shape, runs=min(BOOT_RUNS, 2 * shape.runs))
        loops = min(most, BOOT_LOOPS) if shape.boots else most
        if left_ns is not None:
            loops = min(loops, int(left_ns / _loop_ns(arms, shape, space, options, run_ns)))
        if loops < FEWEST_LOOPS:
            return
        gained = yield PhaseRequest(
            _ask(arms, replace(shape, loops=loops), f"fresh runs without {', '.join(spare)}"), "confirm"
        )
        tuned.confirm_runs += counted(gained)
        left_ns = None if left_ns is None else left_ns - gained.took_ns
        last = _judge(arms, gained, programs, options)
        if last.settings == fewer:
            first = tuned.judged
            tuned.judged = replace(
                first,
                arms=(*last.arms, *(each for each in first.arms if each.name.startswith(WITHOUT))),
                comparisons=(*last.comparisons, *(each for each in first.comparisons if each.arm.startswith(WITHOUT))),
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
    arms: dict[str, Settings], space: Space, options: TuneOptions, run_ns: float, left_ns: float | None
) -> tuple[dict[str, Settings], Shape]:
    """The arms that the time allows, and how they are measured: what was chosen and the baseline always."""
    shape = _shape(arms, space, options, run_ns)
    if left_ns is None:
        return arms, shape
    dispensable = (lambda _: False, lambda name: name.startswith(WITHOUT), lambda name: name not in (BASELINE, TUNED))
    loops = 0
    for may_go in dispensable:
        arms = {name: settings for name, settings in arms.items() if not may_go(name)}
        shape = _shape(arms, space, options, run_ns)
        loops = int(left_ns / _loop_ns(arms, shape, space, options, run_ns))
        if loops >= FEWEST_LOOPS:
            break
    return arms, replace(shape, loops=min(shape.loops, max(FEWEST_LOOPS, loops)))


def _shape(arms: Mapping[str, Settings], space: Space, options: TuneOptions, run_ns: float) -> Shape:
    """How arms are confirmed while time is no matter: where they need several boots in fewer, longer loops.

    A loop is then twice as long, or longer until half of its time goes into runs and not into boots.
    """
    boots = len({space.at_boot(each) for each in arms.values()})
    if boots < 2:
        return Shape(options.confirm_loops, options.confirm_runs)
    even = int(np.ceil(boots * options.allowed.boot_ns / max(1.0, run_ns * len(arms))))
    runs = max(2 * options.confirm_runs, min(BOOT_RUNS, even))
    return Shape(max(FEWEST_LOOPS, (options.confirm_loops + 1) // 2), runs, True)


def _loop_ns(arms: Mapping[str, Settings], shape: Shape, space: Space, options: TuneOptions, run_ns: float) -> float:
    """What one loop of these arms takes, with its boots."""
    boots = len({space.at_boot(each) for each in arms.values()}) if shape.boots else 0
    return max(1.0, run_ns * shape.runs * len(arms) + boots * options.allowed.boot_ns)


def _ask(arms: Mapping[str, Settings], shape: Shape, why: str) -> Ask:
    return Ask(tuple(arms.values()), shape.loops, shape.runs, 1, why, arms[TUNED], shape.boots)


def _judge(
    arms: Mapping[str, Settings], gained: PhaseResult, programs: Sequence[str], options: TuneOptions
) -> confirmation.Confirmation:
    by_arm = {name: [samples[index] for samples in gained.samples] for index, name in enumerate(arms)}
    return confirmation.judge(
        by_arm,
        programs,
        objective=options.objective,
        confidence=options.confidence,
        margin=options.margin,
    )
