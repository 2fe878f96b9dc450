"""Sentences about which programs belong together: the advice, its reasons and basis, and refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from becalm.results.corun import CoRunProfile
from becalm.results.place import SURE, Gain, PlacementAdvice, SharingShape
from becalm.results.place_costs import PlacementObjective
from becalm.units import join_names
from becalm.wording.numbers import counted, duration
from becalm.wording.numbers import percent as number
from becalm.wording.printable import printable

SHOWN_PAIRS = 3

NEAR = 1e-6
"""The cost, or share of it, that solvers cannot tell from 0."""


def percent(value: float, uncertainty: float | None = None) -> str:
    """Return a share as a percentage."""
    return f"{number(value, uncertainty)} %"


def sentence(advice: PlacementAdvice) -> str:
    """Return the advice with its gain, or the statement that nothing is gained."""
    groups = "; ".join(_together(names) for names in advice.sharing if names)
    gain = advice.over_random
    if advice.shape is SharingShape.ROUNDS:
        placement = (
            f"All CPUs share one cache, so what matters is which programs run at the same time. Run these rounds one "
            f"after the other: {groups}"
        )
        cost = f"they take {duration(1e9 * advice.cost)} in all"
        than = f"{_less(gain.estimate)} time than random rounds"
    else:
        placement = f"These share a chip: {groups}"
        cost = f"they lose {percent(advice.cost, gain.noise)} of their speed on average"
        than = f"{_less(gain.estimate)} than by chance (the mean of all sharings)"
    if gain.noise is None:
        worth = percent(abs(gain.estimate))
        return f"{placement}. So {cost}, {worth} {than}; it is not known how certain that is ({_unsure(gain)})."
    if not gain.found:
        if gain.estimate == gain.noise == 0:
            return f"There is nothing to choose: all sharings cost the same. The choice would be {groups}."
        worth, noise = percent(abs(gain.estimate), gain.noise), percent(gain.noise, gain.noise)
        seen = (
            f"the best sharing gains {worth} over chance, which is not clearly above {SURE:g} times its noise of "
            f"{noise}"
            if gain.estimate >= 0
            else f"judged by other rounds than those that chose it, it is {worth} worse than chance, with a noise of "
            f"{noise}"
        )
        return f"No gain is shown: {seen}. The choice would be {groups}."
    return f"{placement}. So {cost}, {percent(gain.estimate, gain.noise)} {interval(gain)} {than}."


def _less(gain: float) -> str:
    return "more" if gain < 0 else "less"


def interval(gain: Gain) -> str:
    """Return the 95 % interval of a gain in brackets."""
    if gain.low is None or gain.high is None:
        return "(no interval)"
    return f"({number(gain.low, gain.noise)} to {percent(gain.high, gain.noise)})"


def _unsure(gain: Gain) -> str:
    return "the costs come without errors" if not gain.parts else f"only {counted(gain.parts, 'part')} to judge by"


def _together(names: Sequence[str]) -> str:
    shown = [printable(name) for name in names]
    return f"{shown[0]} alone" if len(shown) == 1 else " with ".join(shown)


def notes(advice: PlacementAdvice) -> list[str]:
    """Return further facts: the proof, the worst sharing, unmeasured pairs, warnings about the machine."""
    lines = [proof(advice)]
    worst = advice.over_worst
    if advice.over_random.found:
        what = "time" if advice.shape is SharingShape.ROUNDS else "speed"
        lines.append(f"Over the worst sharing it gains {percent(worst.estimate, worst.noise)} of {what} "
                    f"{interval(worst)}.")  # fmt: skip
    return [*lines, *unmeasured(advice), *advice.warnings]


def proof(advice: PlacementAdvice) -> str:
    """Return the sentence on how far the sharing may be from the optimum."""
    if advice.bound is None or advice.gap is None:
        late = "The search ran out of time. " if advice.out_of_time else ""
        return f"{late}Whether another sharing is better by these costs was not proved (method {advice.method})."
    if advice.gap < NEAR or advice.cost - advice.bound <= NEAR:
        return "By these costs no other sharing is better; that is proved."
    late = (
        "The search ran out of time: this is the best that was found, and " if advice.out_of_time else "By these costs "
    )
    return f"{late}no other sharing is better by more than {percent(advice.gap)} of its cost."


def unmeasured(advice: PlacementAdvice) -> list[str]:
    """Return the sentence on what unmeasured pairs could change; an empty list where all were measured."""
    if not advice.unmeasured:
        return []
    pairs = [f"{printable(first)} and {printable(second)}" for first, second in advice.unmeasured]
    more = f" and {len(pairs) - SHOWN_PAIRS} more" if len(pairs) > SHOWN_PAIRS else ""
    result = f"Not measured together: {'; '.join(pairs[:SHOWN_PAIRS])}{more}."
    cost = duration(1e9 * advice.could_change) if advice.shape is SharingShape.ROUNDS else percent(advice.could_change)
    if advice.could_change > 0:
        result += f" If they cost each other nothing, another sharing would be better by {cost}."
    else:
        result += " Even if they cost each other nothing, no other sharing would be better."
    if advice.resting_on:
        resting = join_names(f"{printable(first)} with {printable(second)}" for first, second in advice.resting_on)
        result += f" This sharing has {resting} all the same, assumed to cost as much as the costliest pair."
    return [result]


def explained(advice: PlacementAdvice) -> list[str]:
    """Return the reasons for the advice."""
    if advice.shape is SharingShape.ROUNDS:
        result = [
            "Programs that run at the same time on one cache slow each other down by different amounts. Rounds put "
            "together those that hardly do, and keep apart those that do; a round lasts until its last program ends."
        ]
        if advice.alone_s is not None:
            result.append(
                f"One after the other, each by itself, they would take {duration(1e9 * advice.alone_s)}; in these "
                "rounds "
                f"{duration(1e9 * advice.cost)}."
            )
    else:
        what = "the share of speed that a program loses"
        if advice.objective is PlacementObjective.SLOWDOWN:
            what = "how much longer a program takes"
        result = [
            f"The placement minimises {what} next to those on its chip, on average over the programs. Programs on "
            "other chips have another cache and do not count."
        ]
    for cost in advice.costliest[:SHOWN_PAIRS]:
        where = "run together all the same" if advice.together(cost.first, cost.second) else "are on different chips"
        result.append(
            f"{printable(cost.first)} and {printable(cost.second)} {where}: next to each other they lose "
            f"{percent(cost.of_first, cost.error)} and {percent(cost.of_second, cost.error)} of their speed."
        )
    if advice.costliest:
        least = advice.costliest[-1]
        where = "run together" if advice.together(least.first, least.second) else "do not run together"
        result.append(
            f"{printable(least.first)} and {printable(least.second)} lose least "
            f"({percent(least.both, least.error)} together); they {where}."
        )
    gain = advice.over_random
    if gain.parts:
        result.append(
            f"The best of several noisy costs looks better than it is. So the measurement was divided into "
            f"{gain.parts} parts, and each judged only what the others had chosen; noise is the standard error of "
            "these judgements."
        )
    if gain.noise is not None and not gain.found:
        result.append("More rounds of `becalm corun` make the noise smaller, if there is anything to be seen.")
    return result


def trouble(profile: CoRunProfile) -> list[str]:
    """Return sentences about what failed while the profile was measured."""
    lines = []
    for program in profile.programs:
        if program.solo_s is None:
            why = f" ({printable(program.failed[0].reason)})" if program.failed else ""
            lines.append(f"{printable(program.name)} never ended well alone{why}, and is not placed.")
    for run in profile.co_runs:
        if run.failed and not run.runs:
            lines.append(
                f"{printable(run.program)} fails next to {join_names(map(printable, run.alongside))}: "
                f"{printable(run.failed[0].reason)}"
            )
    if profile.interrupted:
        lines.append("The profile was interrupted: some pairs have fewer rounds than others.")
    return [*lines, *(f"The profile reports: {printable(remark)}" for remark in profile.remarks)]


def machine(facts: Mapping[str, object], chips: int) -> list[str]:
    """Return the sentences about a machine that hides how CPUs share caches."""
    virtual = facts.get("virtualisation")
    hidden = virtual if isinstance(virtual, dict) else {}
    result = []
    if hidden.get("container"):
        result.append(
            f"This is a container ({printable(str(hidden['container']))}): which CPUs share a cache, and which it may "
            "use, may differ from what it shows. Profile and place on the host."
        )
    if hidden.get("guest"):
        what = "only the hypervisor reports which CPUs share a cache, and it may make that up"
        if chips == 1:
            what = "only the hypervisor reports that all CPUs share one cache, and it may make that up"
        result.append(f"This is a virtual machine: {what}.")
    return result


def elsewhere(source: str, differs: Sequence[str], theirs: Mapping[str, str], ours: Mapping[str, str]) -> str:
    """Return the sentence about a profile that comes from another machine."""
    differences = join_names(f"{key} {printable(theirs[key])} and not {printable(ours[key])}" for key in differs)
    return (
        f"{printable(source)} was measured on another machine: {differences}. What programs cost each other differs "
        "there."
    )


def refused_elsewhere(warning: str) -> str:
    """Return the warning about another machine as a refusal, with the way out."""
    return f"{warning} Measure here with `becalm corun`, or take it all the same with --force."
