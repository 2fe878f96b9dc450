"""Leaving out groups of settings with the same effect, if the single effects do not add up to the effect of all.

If one of two settings has the whole effect of the other, leaving out either has no effect; only leaving out both has.
So if the chosen settings reduce the spread or change the mean time by more than the single ones do, those of one family
(`becalm.tuning.kinship`) are left out together, and all without an effect of their own. A group with an effect is
halved until its halves have none (as in delta debugging: Zeller & Hildebrandt 2002, IEEE Trans. Softw. Eng. 28:183).
The smallest groups with an effect are reported.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable

from msgspec.structs import replace

from becalm.analysis import tune_attribution, tune_confirmation
from becalm.methods.protocol import NO_SETTINGS
from becalm.results.tune import AblationEffect
from becalm.results.tune_arms import AND, BASELINE, TUNED, WITHOUT
from becalm.tuning.confirming import FEWEST_LOOPS, ConfirmationRun, Confirming, distinct
from becalm.tuning.exchange import PhaseRequest, PhaseResult
from becalm.tuning.kinship import families

ROUNDS = 4
"""The number of rounds of halving, enough to find two of about twenty settings."""

Group = tuple[str, ...]
"""The units (knobs, or several that cost one boot together) that are left out together."""


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
        effects_by_group = yield from _measure_groups(here, wanted)
        telling |= {group: effects for group, effects in effects_by_group.items() if _tells(here, group, effects)}
        wanted = [half for group in _smallest(telling) for half in _halves(group)]
    smallest = {group: telling[group] for group in _smallest(telling)}
    if smallest:
        tuned.judged = _with_groups(tuned.judged, smallest)


def _smallest(groups: Collection[Group]) -> list[Group]:
    """Return the groups that contain no other."""
    return [group for group in groups if not any(set(other) < set(group) for other in groups)]


def _silent(here: ConfirmationRun) -> Group:
    """Return the units without an effect of their own, if single effects do not account for the spread or the time.

    They are in the order of the chosen settings. An effect on the spread within the margin counts as none.
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
    """Return the group of all units, or its halves if no chosen setting would remain without it."""
    return [silent] if here.without(silent).values else _halves(silent)


def _halves(group: Group) -> list[Group]:
    middle = (len(group) + 1) // 2
    return [half for half in (group[:middle], group[middle:]) if len(half) > 1]


def _tells(here: ConfirmationRun, group: Group, effects: Iterable[AblationEffect]) -> bool:
    """Return whether a group has an effect on spread or time that no member is shown to have by itself."""
    alone = [contribution for contribution in here.tuned.judged.contributions if contribution.knob in group]
    for effect in effects:
        members = [contribution for contribution in alone if contribution.program == effect.program]
        if tune_attribution.helps(effect) and not any(member.ratio.low > 1 + here.options.margin for member in members):
            return True
        if tune_attribution.costs(effect) and not any(map(tune_attribution.costs, members)):
            return True
    return False


def _measure_groups(
    here: ConfirmationRun, groups: Iterable[Group]
) -> Generator[PhaseRequest, PhaseResult, dict[Group, tuple[AblationEffect, ...]]]:
    """Yield runs without these groups and return their effects by program; none if the time does not allow them."""
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
    why = "fresh runs without several settings at once, which may have the same effect"
    confirmation = yield from here.measure(arms, replace(shape, loops=loops), why)
    return {
        names[arm]: tuple(
            contribution for contribution in confirmation.contributions if WITHOUT + contribution.knob == arm
        )
        for arm in arms
        if arm in names
    }


def _with_groups(
    judged: tune_confirmation.Confirmation, groups: dict[Group, tuple[AblationEffect, ...]]
) -> tune_confirmation.Confirmation:
    """Return a confirmation with the effects of groups; the most useful member of a helpful group is not droppable."""
    needed: set[str] = set()
    for group, effects in groups.items():
        if any(map(tune_attribution.helps, effects)) and not needed.intersection(group):
            needed |= set([unit for unit in judged.spare if unit in group][-1:])
    return replace(
        judged,
        contributions=(*judged.contributions, *(effect for effects in groups.values() for effect in effects)),
        spare=tuple(unit for unit in judged.spare if unit not in needed),
    )
