"""The result TuneCost: what a search for settings will take, told before it starts."""

from __future__ import annotations

import msgspec

from becalm.nouns.result import Result


class BudgetWorth(msgspec.Struct, frozen=True):
    """The worth of a budget.

    `smallest`: the smallest visible effect as in TuneCost, NaN if it is too short for any; `single`: whether there is
    time to measure the effect of each setting.
    """

    budget_ns: int
    smallest: float
    single: bool


class TuneCost(Result, frozen=True):
    """The expected cost of a study. `search_runs`, `confirm_runs`: of each program, about; None: the method decides.
    Undecided settings need more runs to confirm.

    `run_ns`: one run of all programs. `duration_ns`: of the whole study, None where that is not known; `budget_ns`: its
    limit, which is kept where a run takes at most `longest_ns`. `noise`: standard deviation of single runs, a share of
    their mean, from `pilots` runs; NaN where it is not known. `smallest`: the smallest effect that the confirmation
    would see with a probability of 80 %: the saved share of a time, or the factor by which a spread falls. `factors`:
    names of what is varied; for a search for little variation `count`.
    """

    KIND = "tune cost"

    method: str
    objective: str
    programs: tuple[str, ...]
    search_runs: int | None
    confirm_runs: int
    run_ns: int
    duration_ns: int | None
    budget_ns: int | None
    noise: float
    pilots: int
    smallest: float
    count: int
    factors: tuple[str, ...] = ()
    longest_ns: int | None = None
    sentence: str = ""
    buys: tuple[BudgetWorth, ...] = ()
    """The effects that usual budgets would show, of runs of 1 s where their length is not known; none without search.
    """
