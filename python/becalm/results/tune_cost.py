"""The result TuneCost: what a search for settings will take, told before it starts."""

from __future__ import annotations

from dataclasses import dataclass

from becalm.nouns.codec import Json
from becalm.results.design import document


@dataclass(frozen=True, slots=True)
class BudgetWorth:
    """The worth of a budget.

    `smallest`: the smallest effect as in TuneCost, NaN where it is too short for any; `single`: whether there is time
    to say what each setting does.
    """

    budget_ns: int
    smallest: float
    single: bool


@dataclass(frozen=True, slots=True)
class TuneCost:
    """`search_runs` and `confirm_runs` of each program, about; None: as many as the method finds worth it. Of settings
    that stay undecided more is confirmed than that.

    `run_ns`: one run of all programs. `duration_ns`: of the whole study, None where that is not known; `budget_ns`: its
    limit, which is kept where a run takes at most `longest_ns`. `noise`: standard deviation of single runs, a share of
    their mean, from `pilots` runs; NaN where it is not known. `smallest`: what the confirmation would see with a
    probability of 80 %: of a time a saved share, of a spread how many times smaller it must be. `factors`: names of
    what is varied; for a search for little variation `count`.
    """

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

    def to_json(self) -> dict[str, Json]:
        """Return the documented form (docs/reference/json.md)."""
        return document(self, "tune cost")
