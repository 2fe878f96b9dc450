"""The sentence on how long a search for settings will take."""

from __future__ import annotations

import math

from becalm.results.tune_cost import TuneCost
from becalm.units import join_names
from becalm.wording.numbers import counted, duration, percent, spent


def cost(tune_cost: TuneCost) -> str:
    """Return the sentences on the number of runs, their time, and the smallest effect that they can show."""
    candidates = counted(tune_cost.count, "factor" if tune_cost.objective == "time" else "setting")
    if tune_cost.method == "try":
        head = f"{counted(tune_cost.confirm_runs, 'run')} of what is to be tried"
    elif tune_cost.search_runs is None:
        head = f"A search ({tune_cost.method}) in {candidates} for as long as it is worth it"
        if tune_cost.factors and tune_cost.objective != "time":
            head = f"A sweep of {join_names(tune_cost.factors)}"
        # How many runs there are in a loop depends on their length.
        head += (
            f", then {f'about {tune_cost.confirm_runs:,} ' if tune_cost.run_ns else ''}fresh runs of what it chooses"
        )
    else:
        head = (
            f"About {counted(tune_cost.search_runs, 'run')} of a search ({tune_cost.method}) in {candidates}, then "
            f"about {counted(tune_cost.confirm_runs, 'fresh run')} that confirm what it finds, and more where it "
            "stays undecided"
        )
    if tune_cost.search_runs == 0 and tune_cost.method != "try":
        head = f"The limit of runs or time is too short for a search ({tune_cost.method}) in {candidates}"
    if tune_cost.run_ns:
        head += f"; a run takes {duration(tune_cost.run_ns)}"
    if tune_cost.duration_ns is not None:
        over = tune_cost.budget_ns is not None and tune_cost.duration_ns > tune_cost.budget_ns
        bound = "at most" if tune_cost.duration_ns == tune_cost.budget_ns else "about"
        head += f", all of it {bound} {spent(tune_cost.duration_ns)}"
        if over and tune_cost.budget_ns is not None:
            head += f", more than the budget of {spent(tune_cost.budget_ns)}"
        elif not tune_cost.run_ns and tune_cost.longest_ns is not None:
            head += f" if a run takes no longer than {duration(tune_cost.longest_ns)}"
    head = f"{_bought(tune_cost)}{head}."
    # The sentence about usual budgets may already have this number; without a search there is nothing to find.
    known = tune_cost.objective != "time" and any(buy.budget_ns == tune_cost.budget_ns for buy in tune_cost.buys)
    searched = tune_cost.search_runs != 0 or tune_cost.method == "try"
    return f"{head} {_smallest(tune_cost)}" if searched and not known else head


def _bought(tune_cost: TuneCost) -> str:
    """Return the sentence on what usual budgets can show; empty where that is unknown."""
    if not tune_cost.buys:
        return ""
    parts = []
    change = "a gain of " if tune_cost.objective == "time" else "a spread that falls "
    for buy in tune_cost.buys:
        minutes = f"in {buy.budget_ns / 60e9:g} min "
        if math.isnan(buy.smallest):
            parts.append(f"{minutes}nothing")
            continue
        size = f"{percent(buy.smallest)} %" if tune_cost.objective == "time" else f"{buy.smallest:.2g}-fold"
        parts.append(f"{minutes}{change}{size}{' and what each setting does' * buy.single}")
        # Only the first budget names the kind of change.
        change = ""
    length = "" if tune_cost.run_ns else ", if a run takes 1 s"
    return f"What a budget can show{length}: {', '.join(parts)}. "


def _smallest(tune_cost: TuneCost) -> str:
    if tune_cost.objective != "time":
        return f"A spread that falls {tune_cost.smallest:.2g}-fold would be seen."
    if tune_cost.noise == 0:
        return (
            "How small a gain it could find is not known yet: all pilot runs after the first came to the same value. "
            "Either nothing varies here, and any gain would be found, or it is measured too coarsely."
        )
    if not math.isfinite(tune_cost.smallest):
        return "How small a gain it could find is not known yet: too few runs were made to tell the noise."
    return (
        f"Runs differ by {percent(tune_cost.noise)} % ({counted(tune_cost.pilots, 'pilot run')}): a gain of "
        f"{percent(tune_cost.smallest)} % and more would be found."
    )
