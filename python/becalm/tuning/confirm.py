"""The confirmation of a tune study: fresh runs of what was chosen, and of less, until nothing useless is left.

`confirm` is the second half of the course of `becalm.tuning.phases`. Settings of the boot are left out as one first,
since each costs a boot; they are taken apart only when they help. Pure: wishes out, what was gained in.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace

from becalm.analysis import confirmation
from becalm.methods.protocol import NO_SETTINGS, Choice
from becalm.nouns.objective import TIME, find
from becalm.nouns.options.tune import TuneOptions
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings
from becalm.nouns.tune_verdict import AblationEffect, ArmComparison
from becalm.nouns.tuned_arm import AND, BASELINE, EVERYTHING, LISTED, RECOMMENDED, TUNED, WITHOUT
from becalm.nouns.verdict import Finding
from becalm.tuning.confirming import (
    BOOT_LOOPS,
    BOOT_RUNS,
    FEWEST_LOOPS,
    MOST_LOOPS,
    ConfirmationRun,
    Confirming,
    distinct,
    with_contributions,
)
from becalm.tuning.exchange import PhaseRequest, PhaseResult, SearchResult
from becalm.tuning.together import leave_out_together
from becalm.wording.findings import finding
from becalm.wording.tune import named

MORE_SHARE = 0.5
"""Share of the time left that a second look at the strongest settings leaves for confirming what it finds."""

SLIMMING = 3
"""Tries to do without knobs that are not shown to help: all of them, half of them, a quarter."""


def confirm(
    space: Space,
    options: TuneOptions,
    programs: Sequence[str],
    tuned: SearchResult,
    run_ns: float,
    left_ns: float | None,
) -> Generator[PhaseRequest, PhaseResult, None]:
    """Fresh, interleaved runs of what was chosen, of the baseline, and of what people would do instead."""
    here = ConfirmationRun(space, options, programs, tuned, run_ns, left_ns)
    if not options.allowed.tried and not tuned.choice.settings.values:
        yield from _strongest(here)
    arms: dict[str, Settings] = {BASELINE: NO_SETTINGS}
    if options.allowed.tried:
        arms |= {TUNED: options.allowed.tried[0][1]} | dict(options.allowed.tried[1:])
    elif tuned.choice.settings.values:
        arms[TUNED] = tuned.choice.settings
        arms |= dict(space.profiles)
        if options.single_out and len(tuned.choice.settings.values) > 1:
            arms |= confirmation.leave_one_out(tuned.choice.settings, here.requires, space.boot)
    else:
        return
    wanted = distinct(arms)
    whole = here.whole_first(wanted)
    arms, shape = here.affordable(whole)
    tuned.judged = yield from here.measured(arms, shape, "fresh runs of what was chosen")
    yield from _again(here)
    later = {name: settings for name, settings in wanted.items() if name not in whole}
    singled = yield from _single_out(here, later)
    if missing := [name for name in wanted if name not in arms and not (singled and name in later)]:
        tuned.findings.append(_too_short(missing))
    yield from _unbundle_boot(here)
    yield from _decide(here)
    yield from leave_out_together(here)
    yield from _backward_elimination(here)


def _strongest(here: ConfirmationRun) -> Confirming:
    """Where a search chose nothing: the strongest settings there are, before it is said that none help.

    They are what any of the known profiles sets, and everything. What helps of them is chosen, and then confirmed as
    what a search chose is.
    """
    space, tuned = here.space, here.tuned
    listed = {knob for _, settings in space.profiles for knob, _ in settings.values}
    everything = space.settings(space.candidates)
    union = space.settings(each for each in space.candidates if each.knob in listed)
    if not everything.values:
        return
    wanted = {BASELINE: NO_SETTINGS, TUNED: union if union.values else everything, EVERYTHING: everything}
    arms, shape = here.affordable(distinct(wanted | dict(space.profiles)))
    strongest = LISTED if union.values else EVERYTHING
    left = here.loops_left(arms, shape)
    if left is not None and left < FEWEST_LOOPS:
        # That none help is then not said, only that none was found.
        tuned.findings.append(_too_short([strongest if name == TUNED else name for name in arms if name != BASELINE]))
        return
    found = yield from here.measured(arms, shape, "the strongest settings, before saying that none help")
    more = here.loops_left(arms, shape, MORE_SHARE * (here.left_ns or 0.0))
    if more is not None and not _helping(found):
        # All fresh, so that what is ruled out is told closer; what helps only then needs as many to be confirmed.
        more = min(BOOT_LOOPS if shape.boots else MOST_LOOPS, more)
        if more > shape.loops:
            found = yield from here.measured(arms, replace(shape, loops=more), "the strongest settings, more often")
            here.least_loops = more
    judged = _renamed(found, strongest)
    arms = {strongest if name == TUNED else name: settings for name, settings in arms.items()}
    helping = _helping(judged)
    best = max(helping, key=lambda each: each.ratio.low, default=None)
    least_known = max(judged.comparisons, key=lambda each: each.ratio.high, default=None)
    tuned.findings.append(
        finding(
            "strongest",
            {
                "arms": [name for name in arms if name != BASELINE],
                "helped": best and best.arm,
                "at_most": least_known and least_known.ratio.high,
                "at_most_of": least_known and least_known.arm,
            },
        )
    )
    if best is None or any(arm.failed for arm in judged.arms if arm.name == best.arm):
        tuned.judged = replace(judged, settings=NO_SETTINGS)
    else:
        tuned.choice = Choice(arms[best.arm], f"{tuned.choice.why} But fresh runs of {named(best.arm)} vary less.")


def _again(here: ConfirmationRun) -> Confirming:
    """More loops while it is open whether what was chosen helps, as far as the time allows.

    All fresh, and they alone tell then: in two looks, each one time in forty, something is found that is not there one
    time in twenty.
    """
    tuned, options = here.tuned, here.options
    whole = [each for each in tuned.judged.comparisons if each.arm == TUNED]
    if not whole or not all(each.ratio.low <= 1 <= each.ratio.high for each in whole):
        return
    if options.allowed.tried or find(options.objective) is TIME:
        # What is tried is measured as often as was asked for, and the time of a search for time is planned.
        return
    arms = distinct({BASELINE: NO_SETTINGS, TUNED: tuned.choice.settings} | dict(here.space.profiles))
    shape = here.shape(arms)
    left = here.loops_left(arms, shape)
    if left is None or shape.boots:
        return
    more = min(left, MOST_LOOPS)
    if more <= max(each.loops for each in whole):
        return
    found = yield from here.measured(
        arms, replace(shape, loops=more), "what was chosen, more often: it is open whether it helps"
    )
    tuned.judged = confirmation.again(with_contributions(found, tuned.judged, ()))


def _single_out(here: ConfirmationRun, later: Mapping[str, Settings]) -> Generator[PhaseRequest, PhaseResult, bool]:
    """What each setting contributes, once the whole is shown to help; whether that was measured."""
    tuned = here.tuned
    if not later or not confirmation.helps(tuned.judged.comparisons, TUNED):
        return False
    arms = distinct({BASELINE: NO_SETTINGS, TUNED: tuned.choice.settings} | dict(later))
    shape = here.shape(arms)
    # Doing without what does not help comes after it, where there is time for both.
    most = (here.loops_before_fewer(arms, shape), here.loops_left(arms, shape))
    loops = next((min(shape.loops, each) for each in most if each is not None and each >= FEWEST_LOOPS), 0)
    if not loops:
        return False
    found = yield from here.measured(arms, replace(shape, loops=loops), "fresh runs without each of the settings")
    tuned.judged = with_contributions(tuned.judged, found, ())
    return True


def _helping(judged: confirmation.Confirmation) -> list[ArmComparison]:
    return [each for each in judged.comparisons if confirmation.helps(judged.comparisons, each.arm)]


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


def _unbundle_boot(here: ConfirmationRun) -> Confirming:
    """Take settings of the boot apart, once they are shown to help as a whole: what each of them contributes.

    Each needs a boot of its own in every loop, so this is done only now.
    """
    space, tuned = here.space, here.tuned
    chosen = tuned.choice.settings
    boot = [name for name, _ in space.at_boot(chosen).values]
    unit = AND.join(boot)
    helped = any(each.knob == unit for each in tuned.judged.contributions) and unit not in tuned.judged.spare
    if len(boot) < 2 or not here.options.single_out or not helped:
        return
    bare = {BASELINE: NO_SETTINGS, TUNED: chosen}
    arms = distinct(bare | {WITHOUT + knob: here.without((knob,)) for knob in boot})
    shape = replace(here.shape(arms), boots=True, loops=FEWEST_LOOPS)
    # Doing without what does not help comes after it, and is worth as much.
    most = here.loops_left(arms, shape, FEWEST_LOOPS * here.loop_ns(bare | dict(space.profiles), shape))
    if most is not None:
        shape = replace(shape, loops=min(shape.loops, most))
    if shape.loops < FEWEST_LOOPS or len(arms) == len(bare):
        return
    found = yield from here.measured(arms, shape, f"fresh runs without each of {unit}")
    tuned.judged = with_contributions(tuned.judged, found, {unit})


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


def _decide(here: ConfirmationRun) -> Confirming:
    """More loops, all fresh, of what is undecided, as far as the time allows.

    The new loops alone say what those settings contribute: to look, go on and look at all again would find something
    more often than one time in twenty.
    """
    tuned, open_ones = here.tuned, _undecided(here.tuned.judged)
    if not open_ones or not confirmation.helps(tuned.judged.comparisons, TUNED):
        return
    bare = {BASELINE: NO_SETTINGS, TUNED: tuned.choice.settings}
    arms = distinct(bare | {WITHOUT + knob: here.without((knob,)) for knob in open_ones})
    shape = here.shape(arms)
    loops = max(shape.loops, min(MOST_LOOPS, 2 * max(open_ones.values())))
    if shape.boots:
        loops = min(loops, BOOT_LOOPS)
    most = here.loops_before_fewer(arms, shape)
    if most is not None:
        loops = min(loops, most)
    if loops < max(FEWEST_LOOPS, min(shape.loops, here.options.confirm_loops)) or len(arms) == len(bare):
        return
    why = f"more fresh runs without each of {', '.join(open_ones)}, which are undecided"
    found = yield from here.measured(arms, replace(shape, loops=loops), why)
    tuned.judged = with_contributions(tuned.judged, found, open_ones.keys())


def _too_short(missing: Sequence[str]) -> Finding:
    """What a budget left no time for."""
    return finding("budget", {"left_out": list(missing)})


def _backward_elimination(here: ConfirmationRun) -> Confirming:
    """Try to do without all knobs that are not shown to help; else without the least useful half of them, and so on.

    Fewer arms than before, so each round may have more loops for the time that the confirmation took so far. Ends when
    the time does not allow `FEWEST_LOOPS`. When it works, all that is compared is taken from this round, which
    measured it side by side; only what each setting contributes stays from the first.
    """
    tuned, options, profiles = here.tuned, here.options, dict(here.space.profiles)
    chosen, spare = tuned.choice.settings, tuned.judged.spare
    arm_loops = tuned.confirm_runs // (options.confirm_runs * len(here.programs))
    most = max(options.confirm_loops, min(MOST_LOOPS, arm_loops // (3 + len(here.space.profiles))))
    for _ in range(SLIMMING):
        fewer = here.without(spare)
        if spare and not fewer.values:
            # Each alone can be spared, all together cannot: they stand in for each other.
            spare = spare[: len(spare) // 2]
            fewer = here.without(spare)
        if not spare:
            return
        arms = distinct({BASELINE: NO_SETTINGS, TUNED: chosen, RECOMMENDED: fewer} | profiles)
        shape = here.shape(arms)
        if shape.boots:
            shape = replace(shape, runs=min(BOOT_RUNS, 2 * shape.runs))
        loops = min(most, BOOT_LOOPS) if shape.boots else most
        allowed = here.loops_left(arms, shape)
        if allowed is not None:
            loops = min(loops, allowed)
        if loops < FEWEST_LOOPS:
            return
        last = yield from here.measured(arms, replace(shape, loops=loops), f"fresh runs without {', '.join(spare)}")
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
