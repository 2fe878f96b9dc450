"""Settings that do the same are left out together, where leaving out each alone does not account for the whole.

Where one of two settings does all that the other does, the program is as steady, and as slow, without either; only
without both does it show. So, when the chosen settings reduce the spread or change the mean time by more than their
parts do, those of one family (`becalm.tuning.kinship`) are left out together, and all that show nothing; a group that
shows something is halved until its halves show nothing any more (as delta debugging does: Zeller & Hildebrandt 2002,
IEEE Trans. Softw. Eng. 28:183). The smallest groups that show something are reported.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable
from dataclasses import replace

from becalm.analysis import tune_attribution, tune_confirmation
from becalm.methods.protocol import NO_SETTINGS
from becalm.results.tune import AblationEffect
from becalm.results.tune_arms import AND, BASELINE, TUNED, WITHOUT
from becalm.tuning.confirming import FEWEST_LOOPS, ConfirmationRun, Confirming, distinct
from becalm.tuning.exchange import PhaseRequest, PhaseResult
from becalm.tuning.kinship import families

ROUNDS = 4
"""The rounds of halving: enough to find two of some twenty settings."""

Group = tuple[str, ...]
"""Units (knobs, or several that cost one boot together) that are left out as one."""


def leave_out_together(here: ConfirmationRun) -> Confirming:
    """Yield fresh runs without groups of settings, as far as the time allows, and add them to the confirmation."""
    tuned = here.tuned
    if not here.options.single_out or not tune_confirmation.helps(tuned.judged.comparisons, TUNED):
        return
    silent = _silent(here)
    wanted = [*families(silent), *_all_or_halves(here, silent)]
    groups: set[Group] = set()
    telling: dict[Group, tuple[AblationEffect, ...]] = {}
    for _ in range(ROUNDS):
        wanted = [fromkey for fromkey in dict.fromkeys(wanted) if len(fromkey) > 1 and fromkey not in groups]
        groups |= set(wanted)
        found = yield from _without(here, wanted)
        telling |= {group: effects for group, effects in found.items() if _tells(here, group, effects)}
        wanted = [half for group in _smallest(telling) for half in _halves(group)]
    smallest = {group: telling[group] for group in _smallest(telling)}
    if smallest:
        tuned.judged = _with_groups(tuned.judged, smallest)


def _smallest(groups: Collection[Group]) -> list[Group]:
    """Return the groups that contain no other."""
    return [group for group in groups if not any(set(other) < set(group) for other in groups)]


def _silent(here: ConfirmationRun) -> Group:
    """Return units with almost no effect when they are left out alone, where spread or time is not accounted for.

    In the order of the chosen settings. Almost no effect on the spread is one within the margin.
    """
    judged, margin, silent = here.tuned.judged, here.options.margin, set[str]()
    units = {contribution.knob for contribution in judged.contributions}
    if any(
        tune_attribution.unattributed_spread(judged.comparisons, judged.contributions, program)
        for program in here.programs
    ):
        silent |= units - {
            contribution.knob for contribution in judged.contributions if contribution.ratio.low > 1 + margin
        }
    if any(
        tune_attribution.unattributed_time(judged.comparisons, judged.contributions, program)
        for program in here.programs
    ):
        silent |= units - {
            contribution.knob for contribution in judged.contributions if tune_attribution.costs(contribution)
        }
    order = [name for name, _ in here.tuned.choice.settings.values]
    return tuple(sorted(silent, key=lambda unit: min(map(order.index, tune_attribution.knobs_of(unit)))))


def _all_or_halves(here: ConfirmationRun, silent: Group) -> list[Group]:
    """Return all of them; their halves where no chosen setting would be left without all, which is the baseline."""
    return [silent] if here.without(silent).values else _halves(silent)


def _halves(group: Group) -> list[Group]:
    middle = (len(group) + 1) // 2
    return [half for half in (group[:middle], group[middle:]) if len(half) > 1]


def _tells(here: ConfirmationRun, group: Group, effects: Iterable[AblationEffect]) -> bool:
    """Return whether a group has an effect that no member is shown to have by itself: less spread, or time."""
    alone = [contribution for contribution in here.tuned.judged.contributions if contribution.knob in group]
    for effect in effects:
        members = [each for each in alone if each.program == effect.program]
        if tune_attribution.helps(effect) and not any(member.ratio.low > 1 + here.options.margin for member in members):
            return True
        if tune_attribution.costs(effect) and not any(map(tune_attribution.costs, members)):
            return True
    return False


def _without(
    here: ConfirmationRun, groups: Iterable[Group]
) -> Generator[PhaseRequest, PhaseResult, dict[Group, tuple[AblationEffect, ...]]]:
    """Yield runs and return the effect of each of these groups, one per program; none when the time does not allow
    it."""
    tuned = here.tuned
    bare = {BASELINE: NO_SETTINGS, TUNED: tuned.choice.settings}
    names = {WITHOUT + AND.join(group): group for group in groups}
    arms = distinct(bare | {name: here.without(group) for name, group in names.items()})
    if len(arms) == len(bare):
        return {}
    shape = here.shape(arms)
    most = here.loops_before_fewer(arms, shape)
    loops = shape.loops if most is None else min(shape.loops, most)
    if loops < FEWEST_LOOPS:
        return {}
    why = "fresh runs without several settings at once, which may do the same"
    found = yield from here.measured(arms, replace(shape, loops=loops), why)
    return {
        names[arm]: tuple(contribution for contribution in found.contributions if WITHOUT + contribution.knob == arm)
        for arm in arms
        if arm in names
    }


def _with_groups(
    judged: tune_confirmation.Confirmation, groups: dict[Group, tuple[AblationEffect, ...]]
) -> tune_confirmation.Confirmation:
    """Return a confirmation with the effects of groups. The most useful member of one that helps is no longer
    droppable."""
    kept: set[str] = set()
    for group, effects in groups.items():
        if any(map(tune_attribution.helps, effects)) and not kept.intersection(group):
            kept |= set([each for each in judged.spare if each in group][-1:])
    return replace(
        judged,
        contributions=(*judged.contributions, *(effect for effects in groups.values() for effect in effects)),
        spare=tuple(each for each in judged.spare if each not in kept),
    )
