"""The sentence on what a search for settings will take."""

from __future__ import annotations

import math

from becalm.nouns.tune_cost import TuneCost
from becalm.units import listed
from becalm.wording.measurement import counted, duration, percent, spent


def cost(found: TuneCost) -> str:
    """Return how many runs there will be, how long they take, and the smallest effect that they can show."""
    what = counted(found.count, "factor" if found.objective == "time" else "setting")
    if found.method == "try":
        head = f"{counted(found.confirm_runs, 'run')} of what is to be tried"
    elif found.search_runs is None:
        head = f"A search ({found.method}) in {what} for as long as it is worth it"
        if found.factors and found.objective != "time":
            head = f"A sweep of {listed(found.factors)}"
        head += f", then about {counted(found.confirm_runs, 'fresh run')}"
    else:
        head = (
            f"About {counted(found.search_runs, 'run')} of a search ({found.method}) in {what}, then about "
            f"{counted(found.confirm_runs, 'fresh run')} that confirm what it finds, and more of what stays undecided"
        )
    if found.search_runs == 0 and found.method != "try":
        head = f"The limit of runs or time is too short for a search ({found.method}) in {what}"
    if found.run_ns:
        head += f"; a run takes {duration(found.run_ns)}"
    if found.duration_ns is not None:
        over = found.budget_ns is not None and found.duration_ns > found.budget_ns
        head += (
            f", all of it {'at most' if found.duration_ns == found.budget_ns else 'about'} {spent(found.duration_ns)}"
        )
        if over and found.budget_ns is not None:
            head += f", more than the budget of {spent(found.budget_ns)}"
        elif not found.run_ns and found.longest_ns is not None:
            head += f" if a run takes no longer than {duration(found.longest_ns)}"
    head = f"{_bought(found)}{head}."
    # What usual budgets can show has been said, and without a search there is nothing that could be found.
    known = found.objective != "time" and any(each.budget_ns == found.budget_ns for each in found.buys)
    searched = found.search_runs != 0 or found.method == "try"
    return f"{head} {_smallest(found)}" if searched and not known else head


def _bought(found: TuneCost) -> str:
    """Return what usual budgets buy, in a sentence; nothing where that is not known."""
    if not found.buys:
        return ""
    parts = []
    what = "a gain of " if found.objective == "time" else "a spread that falls "
    for each in found.buys:
        minutes = f"in {each.budget_ns / 60e9:g} min "
        if math.isnan(each.smallest):
            parts.append(f"{minutes}nothing")
            continue
        size = f"{percent(each.smallest)} %" if found.objective == "time" else f"{each.smallest:.2g}-fold"
        parts.append(f"{minutes}{what}{size}{' and what each setting does' * each.single}")
        # Said once, of the first.
        what = ""
    length = "" if found.run_ns else ", if a run takes 1 s"
    return f"What a budget can show{length}: {', '.join(parts)}. "


def _smallest(found: TuneCost) -> str:
    if found.objective != "time":
        return f"A spread that falls {found.smallest:.2g}-fold would be seen."
    if found.noise == 0:
        return (
            "How small a gain it could find is not known yet: all pilot runs after the first came to the same value. "
            "Either nothing varies here, and any gain would be found, or it is measured too coarsely."
        )
    if not math.isfinite(found.smallest):
        return "How small a gain it could find is not known yet: too few runs were made to tell the noise."
    return (
        f"Runs differ by {percent(found.noise)} % ({counted(found.pilots, 'pilot run')}): a gain of "
        f"{percent(found.smallest)} % and more would be found."
    )
