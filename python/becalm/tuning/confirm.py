"""The confirmation of a tune study: fresh runs of the chosen settings, and of fewer, until no useless one is left.

`confirm` is the second half of the course of `becalm.tuning.phases`. Boot settings are first left out together, since
each costs a boot; they are examined singly only if they help. Generators of requests, without a host or a store.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

from msgspec.structs import replace

from becalm.analysis import tune_confirmation
from becalm.methods.protocol import NO_SETTINGS, Choice
from becalm.nouns.finding import Finding
from becalm.nouns.objective import TIME, find
from becalm.nouns.options.tune import TuneOptions
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings
from becalm.results.tune import AblationEffect, ArmComparison
from becalm.results.tune_arms import AND, BASELINE, EVERYTHING, LISTED, RECOMMENDED, SEARCHED, TUNED, WITHOUT
from becalm.tuning.alone import cost_alone
from becalm.tuning.best_of_all import recommend_best, report_no_better
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

FIRST_LOOK = 0.2
"""Share of the allowed error that a first look may use where a second one may follow."""


def confirm(
    space: Space,
    options: TuneOptions,
    programs: Sequence[str],
    tuned: SearchResult,
    run_ns: float,
    left_ns: float | None,
) -> Generator[PhaseRequest, PhaseResult, None]:
    """Yield fresh, interleaved runs of the chosen settings, the baseline, and the usual alternatives."""
    here = ConfirmationRun(space, options, programs, tuned, run_ns, left_ns)
    confirmed = False
    if not options.allowed.tried and not tuned.choice.settings.values:
        confirmed = yield from _strongest(here)
    arms: dict[str, Settings] = {BASELINE: NO_SETTINGS}
    if options.allowed.tried:
        arms |= {TUNED: options.allowed.tried[0][1]} | dict(options.allowed.tried[1:])
    elif tuned.choice.settings.values:
        arms |= {TUNED: tuned.choice.settings} | arms_of(here)
    else:
        return
    wanted = distinct(arms)
    whole = here.whole_first(wanted)
    if not confirmed:
        tuned.judged = yield from _confirm_first(here, whole, "fresh runs of what was chosen")
    chosen = tuned.choice.settings
    recommend_best(here)
    here.reported = here.samples
    if tuned.choice.settings != chosen:
        wanted = distinct({BASELINE: NO_SETTINGS, TUNED: tuned.choice.settings, SEARCHED: chosen} | arms_of(here))
        whole = {name: settings for name, settings in wanted.items() if name in {arm.name for arm in tuned.judged.arms}}
    yield from _confirm_parts(here, {name: settings for name, settings in wanted.items() if name not in whole})
    if tuned.choice.settings == chosen:
        recommend_best(here)
    if any(name in here.samples for name, _ in space.profiles):
        here.reported = here.samples
    # The effects of single settings are of no interest if all together have none.
    unmeasured = {
        name for name in wanted if tune_confirmation.helps(tuned.judged.comparisons, TUNED) or WITHOUT not in name
    }
    unmeasured -= {arm.name for arm in tuned.judged.arms}
    if unmeasured:
        tuned.findings.append(_too_short([name for name in wanted if name in unmeasured]))
    yield from _unbundle_boot(here)
    yield from _decide(here)
    yield from leave_out_together(here)
    yield from cost_alone(here)
    yield from _backward_elimination(here)
    report_no_better(here)


def arms_of(here: ConfirmationRun) -> dict[str, Settings]:
    """Return the arms besides the choice: known lists, and the choice without each of its settings."""
    chosen, arms = here.tuned.choice.settings, dict(here.space.profiles)
    if here.options.single_out and len(chosen.values) > 1:
        arms |= tune_confirmation.leave_one_out(chosen, here.requires, here.space.boot)
    return arms


def _strongest(here: ConfirmationRun) -> Generator[PhaseRequest, PhaseResult, bool]:
    """Yield runs of the strongest settings after a search that chose none; return whether these confirm a choice.

    The strongest settings are those of all known profiles, first only these if time is limited, and all candidates. If
    several help, one is chosen, and then confirmed like the choice of a search.
    """
    space, tuned, why = here.space, here.tuned, "the strongest settings, before concluding that none helps"
    listed = {knob for _, settings in space.profiles for knob, _ in settings.values}
    everything = space.settings(space.candidates)
    union = space.settings(candidate for candidate in space.candidates if candidate.knob in listed)
    if not everything.values:
        return False
    wanted = {BASELINE: NO_SETTINGS, TUNED: union if union.values else everything, EVERYTHING: everything}
    wanted = distinct(wanted | dict(space.profiles))
    strongest = LISTED if union.values else EVERYTHING
    first = here.without_lists(wanted)
    limited = len(first) < len(wanted)
    arms, shape = here.affordable(first)
    left = here.loops_left(arms, shape)
    if left is not None and left < FEWEST_LOOPS:
        # The report then states that no helpful setting was found, and not that none helps.
        tuned.findings.append(_too_short([strongest if name == TUNED else name for name in arms if name != BASELINE]))
        return False
    confirmation = alone = yield from _confirm_first(here, first, why)
    if limited:
        arms, shape = wanted, here.shape(wanted)
        left = here.loops_left(arms, shape)
        if _helping(alone) or left is None or left < shape.loops:
            return _choose_strongest(here, alone, first, strongest)
        confirmation = yield from here.measure(arms, shape, why)
    more = here.loops_left(arms, shape, MORE_SHARE * (here.left_ns or 0.0))
    if more is not None and not _helping(confirmation):
        # All loops are fresh, for a closer bound on the effect; a choice made from them is confirmed by as many loops.
        more = min(BOOT_LOOPS if shape.boots else MOST_LOOPS, more)
        if more > shape.loops:
            confirmation = yield from here.measure(
                arms, replace(shape, loops=more), "the strongest settings, more often"
            )
            here.least_loops = more
    _choose_strongest(here, with_contributions(alone, confirmation, ()) if limited else confirmation, arms, strongest)
    return False


def _choose_strongest(
    here: ConfirmationRun, confirmation: tune_confirmation.Confirmation, arms: dict[str, Settings], strongest: str
) -> bool:
    """Report the effect of the strongest settings, choose those that help, and return whether any do."""
    tuned, judged = here.tuned, _rename_tuned(confirmation, strongest)
    arms = {strongest if name == TUNED else name: settings for name, settings in arms.items()}
    helping = _helping(judged)
    best = max(helping, key=lambda comparison: comparison.ratio.low, default=None)
    least_known = max(judged.comparisons, key=lambda comparison: comparison.ratio.high, default=None)
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
        return False
    tuned.choice = Choice(arms[best.arm], f"{tuned.choice.why} But fresh runs of {named(best.arm)} vary less.")
    tuned.judged = confirmation
    return True


def _confirm_first(
    here: ConfirmationRun, wanted: dict[str, Settings], why: str
) -> Generator[PhaseRequest, PhaseResult, tune_confirmation.Confirmation]:
    """Yield runs of these arms, as far as the time allows, and return their confirmation.

    Two arms have further loops if it is not clear whether one helps; all loops are then used together. The first look
    has a stricter level than the second (O'Brien & Fleming 1979, Biometrics 35:549), so that both together have hardly
    more false positives than a single look.
    """
    arms, shape = here.affordable(wanted)
    result = yield from here.measure(arms, shape, why)
    # Settings to try have the requested number of loops, and the time of a search for mean times is planned.
    alone = not any(name.startswith(WITHOUT) for name in arms) and not here.options.allowed.tried
    left = here.loops_left(arms, shape)
    if left is None or not alone or shape.boots or find(here.options.objective) is TIME or not result.comparisons:
        return result
    more = min(left, MOST_LOOPS - max(comparison.loops for comparison in result.comparisons))
    strict = here.judge(1 - FIRST_LOOK * (1 - here.options.confidence))
    mine = [comparison for comparison in strict.comparisons if comparison.arm == TUNED]
    if more < FEWEST_LOOPS or not all(comparison.ratio.low <= 1 <= comparison.ratio.high for comparison in mine):
        return result
    return (
        yield from here.measure(
            arms, replace(shape, loops=more), f"{why}, more often, because the result is undecided", more=True
        )
    )


def _confirm_parts(here: ConfirmationRun, later: Mapping[str, Settings]) -> Confirming:
    """Yield runs for the effects of single settings, if all together help, and for the known profiles.

    If the settings do not help, the profiles are only measured if the time allows as many loops as for these.
    """
    tuned = here.tuned
    helps = tune_confirmation.helps(tuned.judged.comparisons, TUNED)
    bare = {BASELINE: NO_SETTINGS, TUNED: tuned.choice.settings}
    lists = {name: settings for name, settings in later.items() if not name.startswith(WITHOUT)}
    for wanted in (later, lists) if helps else (lists,):
        arms = distinct({**bare, **wanted})
        shape = here.shape(arms)
        fewest = FEWEST_LOOPS if helps else shape.loops
        # Time is kept for confirming fewer settings afterwards, if there is enough for both.
        most = (here.loops_before_fewer(arms, shape) if wanted is later else None, here.loops_left(arms, shape))
        loops = next((min(shape.loops, count) for count in most if count is not None and count >= fewest), 0)
        if here.left_ns is None:
            loops = shape.loops
        if wanted and loops:
            what = "without each of the settings, and of known profiles" if wanted is later else "of known profiles"
            confirmation = yield from here.measure(arms, replace(shape, loops=loops), f"fresh runs {what}")
            tuned.judged = tune_confirmation.renew_spare(with_contributions(tuned.judged, confirmation, ()))
            return


def _helping(judged: tune_confirmation.Confirmation) -> list[ArmComparison]:
    return [
        comparison for comparison in judged.comparisons if tune_confirmation.helps(judged.comparisons, comparison.arm)
    ]


def _rename_tuned(judged: tune_confirmation.Confirmation, name: str) -> tune_confirmation.Confirmation:
    """Return the confirmation with another name for the arm TUNED, for a search that chose no settings."""
    arms = tuple(replace(arm, name=name) if arm.name == TUNED else arm for arm in judged.arms)
    comparisons = tuple(
        replace(comparison, arm=name, sentence=comparison.sentence.replace(named(TUNED), named(name)))
        if comparison.arm == TUNED
        else comparison
        for comparison in judged.comparisons
    )
    return replace(judged, arms=arms, comparisons=comparisons)


def _unbundle_boot(here: ConfirmationRun) -> Confirming:
    """Yield runs for the effects of single boot settings, if they are shown to help together.

    Each needs a boot of its own in every loop, so this comes last.
    """
    space, tuned = here.space, here.tuned
    chosen = tuned.choice.settings
    boot = [name for name, _ in space.at_boot(chosen).values]
    unit = AND.join(boot)
    helped = (
        any(contribution.knob == unit for contribution in tuned.judged.contributions) and unit not in tuned.judged.spare
    )
    if len(boot) < 2 or not here.options.single_out or not helped:
        return
    bare = {BASELINE: NO_SETTINGS, TUNED: chosen}
    arms = distinct(bare | {WITHOUT + knob: here.without((knob,)) for knob in boot})
    shape = replace(here.shape(arms), boots=True, loops=FEWEST_LOOPS)
    # Time is kept for confirming fewer settings afterwards, which is as important.
    most = here.loops_left(arms, shape, FEWEST_LOOPS * here.loop_ns(bare | dict(space.profiles), shape))
    if most is not None:
        shape = replace(shape, loops=min(shape.loops, most))
    if shape.loops < FEWEST_LOOPS or len(arms) == len(bare):
        return
    confirmation = yield from here.measure(arms, shape, f"fresh runs without each of {unit}")
    tuned.judged = with_contributions(tuned.judged, confirmation, {unit})


def _undecided(judged: tune_confirmation.Confirmation) -> dict[str, int]:
    """Return the undecided knobs, which may help or be droppable, with the loops that would probably decide."""
    by_knob: dict[str, list[AblationEffect]] = {}
    for contribution in judged.contributions:
        by_knob.setdefault(contribution.knob, []).append(contribution)
    return {
        knob: max(MOST_LOOPS if effect.loops_needed is None else effect.loops_needed for effect in effects)
        for knob, effects in by_knob.items()
        if knob not in judged.droppable and not any(effect.ratio.low > 1 for effect in effects)
    }


def _decide(here: ConfirmationRun) -> Confirming:
    """Yield further loops for undecided knobs, as far as the time allows.

    Only the new loops count for their effects: a second look at all loops would have more than 5 % false positives.
    """
    tuned, open_ones = here.tuned, _undecided(here.tuned.judged)
    if not open_ones or not tune_confirmation.helps(tuned.judged.comparisons, TUNED):
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
    confirmation = yield from here.measure(arms, replace(shape, loops=loops), why)
    tuned.judged = with_contributions(tuned.judged, confirmation, open_ones.keys())


def _too_short(missing: Sequence[str]) -> Finding:
    """Return the finding on arms for which the budget left no time."""
    return finding("budget", {"left_out": list(missing)})


def _backward_elimination(here: ConfirmationRun) -> Confirming:
    """Leave out all knobs that are not shown to help, or find those of them that are needed nevertheless.

    A group that cannot be left out is halved, down to single knobs: so knobs that replace each other are separated, and
    each remaining knob is known to be needed. Every try is compared with the whole choice, so that losses do not
    accumulate unnoticed. Each try has fresh runs, and may take half of the remaining time; the elimination ends when
    this does not allow `FEWEST_LOOPS`. The reported comparisons are those of the last successful try, in which all arms
    ran together; only the contributions of single settings are from before.
    """
    groups, gone = [here.tuned.judged.spare], set[str]()
    most = _most_loops(here)
    while groups:
        group = groups.pop(0)
        fewer = here.without([*gone, *group])
        if not group or fewer == here.without(tuple(gone)):
            continue
        worked = None
        if fewer.values:
            worked = yield from _try_without(here, group, fewer, most)
            if worked is None:
                return
        if worked:
            gone |= set(group)
        elif len(group) > 1:
            middle = (len(group) + 1) // 2
            groups[:0] = [group[:middle], group[middle:]]


def _most_loops(here: ConfirmationRun) -> int:
    """Return the largest number of loops of a try: those that take as long as the confirmation so far."""
    arm_loops = here.tuned.confirm_runs // (here.runs * len(here.programs))
    return max(here.options.confirm_loops, min(MOST_LOOPS, arm_loops // (3 + len(here.space.profiles))))


def _try_without(
    here: ConfirmationRun, group: Sequence[str], fewer: Settings, most: int
) -> Generator[PhaseRequest, PhaseResult, bool | None]:
    """Measure the choice without some knobs; return whether nothing is lost, None if the time does not allow it."""
    tuned, profiles = here.tuned, dict(here.space.profiles)
    arms = distinct({BASELINE: NO_SETTINGS, TUNED: tuned.choice.settings, RECOMMENDED: fewer} | profiles)
    shape = here.shape(arms)
    loops = most
    if shape.boots:
        shape = replace(shape, runs=min(BOOT_RUNS, 2 * shape.runs))
        loops = min(most, BOOT_LOOPS)
    if here.left_ns is not None:
        allowed = here.loops_left(arms, shape)
        if allowed is None or allowed < FEWEST_LOOPS:
            return None
        half = here.loops_left(arms, shape, here.left_ns / 2)
        loops = min(loops, allowed, max(FEWEST_LOOPS, half or 0) if len(group) > 1 else allowed)
    last = yield from here.measure(arms, replace(shape, loops=loops), f"fresh runs without {', '.join(group)}")
    if last.settings != fewer:
        return False
    here.reported = here.samples
    first = tuned.judged
    old = {arm.name for arm in last.arms}
    tuned.judged = replace(
        first,
        arms=(*last.arms, *(arm for arm in first.arms if arm.name not in old)),
        comparisons=(*last.comparisons, *(comparison for comparison in first.comparisons if comparison.arm not in old)),
        settings=fewer,
    )
    return True
