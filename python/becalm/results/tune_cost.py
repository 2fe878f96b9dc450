"""The result TuneCost: the expected cost of a search for settings, reported before it starts."""

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
    """The expected cost of a study. Undecided settings need more runs to confirm.

    - `search_runs`, `confirm_runs`: the approximate numbers of runs of each program; None: the method decides
    - `run_ns`: the time of one run of all programs
    - `duration_ns`: the time of the whole study, None where unknown
    - `budget_ns`: its limit, which is kept if a run takes at most `longest_ns`
    - `noise`: the standard deviation of single runs, a share of their mean, from `pilots` runs; NaN where unknown
    - `smallest`: the smallest effect that the confirmation would see with a probability of 80 %: the saved share of a
      time, or the factor by which a spread falls
    - `factors`: the names of the varied factors; in a search for little variation, their `count`
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
    """The effects that usual budgets would show, with runs of 1 s where their length is unknown; none without search.
    """
