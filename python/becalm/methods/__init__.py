"""Methods that search for settings: one table, one interface (`becalm.methods.protocol`), one file per method.

The conformance suite in `tests/unit/conformance/test_methods.py` runs over the table.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib
from typing import Any

import msgspec
from msgspec.structs import replace

from becalm.errors import UsageError
from becalm.methods.protocol import Forecast, Method, SearchRun, TrialDesign
from becalm.nouns.objective import find, names
from becalm.nouns.options.tune import TuneOptions, flag
from becalm.nouns.search_space import Space


class MethodRow(msgspec.Struct, frozen=True):
    """A method: its name, its function, a description, and its default design of trials.

    - `minimizes`: the goals of `nouns.objective` that it supports
    - `takes`: the options of this method only, as pairs of the function's keyword and the option's name
    - `counts`: the function that forecasts its requests, `(space, rule, **own) -> Forecast | None`, if they follow from
      the rule; otherwise the method is simulated (`becalm.tuning.cost`)
    - `lasts`: whether its loops have more runs if those are short (`TuneOptions.loop_ns`)
    - `trials`: the number of trials of a search for times without a limit, and of further ones for each factor
    - `knows_lists`: whether it has the known lists among its candidates by itself (`becalm.methods.lists`)
    """

    name: str
    module: str
    function: str
    what: str
    rule: TrialDesign
    minimizes: tuple[str, ...] = ("spread",)
    takes: tuple[tuple[str, str], ...] = ()
    counts: str = ""
    lasts: bool = False
    trials: tuple[int, int] = (0, 0)
    knows_lists: bool = False

    def load(self, options: TuneOptions | None = None) -> Method:
        """Return the generator function, with the arguments that it takes from these options."""
        function: Method = getattr(importlib.import_module(self.module), self.function)
        own = {} if options is None else self._own(options)
        return functools.partial(function, **own) if own else function

    def forecast(self, options: TuneOptions, space: Space, rule: TrialDesign) -> Forecast | None:
        """Return the forecast of its requests without simulating it; None where that is impossible."""
        if not self.counts:
            return None
        count = getattr(importlib.import_module(self.module), self.counts)
        forecast: Forecast | None = count(space, rule, **self._own(options))
        return forecast

    def _own(self, options: TuneOptions) -> dict[str, Any]:
        return {keyword: getattr(options, name) for keyword, name in self.takes}


TABLE = (
    MethodRow(
        "race",
        "becalm.methods.race",
        "race",
        "many combinations with few runs each; more runs where they can still change the choice",
        TrialDesign(loops=1, runs=4, warmups=None),
        lasts=True,
        knows_lists=True,
    ),
    MethodRow(
        "greedy",
        "becalm.methods.greedy",
        "greedy",
        "one setting after the other, retained when it lowers the spread",
        TrialDesign(),
    ),
    MethodRow(
        "fast",
        "becalm.methods.greedy",
        "greedy",
        "greedy with five runs a trial: quick, and often misled",
        TrialDesign(loops=1, runs=5, warmups=0),
    ),
    MethodRow(
        "anneal",
        "becalm.methods.anneal",
        "anneal",
        "simulated annealing: adds settings in random order, and at first accepts worse ones, too",
        TrialDesign(),
    ),
    MethodRow(
        "surface",
        "becalm.methods.surface",
        "surface",
        "response surface: a small design, then a surface learnt after each run, in all factors",
        TrialDesign(loops=1, runs=1, warmups=0, objective="time"),
        ("time",),
        takes=(("design", "design"),),
        counts="forecast",
        trials=(8, 8),
    ),
    MethodRow(
        "swarm",
        "becalm.methods.swarm",
        "swarm",
        "particle swarm: for surfaces that no polynomial describes, sixty trials",
        TrialDesign(loops=1, runs=1, warmups=0, objective="time"),
        minimizes=("time",),
        takes=(("parameters", "swarm"),),
        counts="forecast",
        trials=(60, 0),
    ),
    MethodRow(
        "golden",
        "becalm.methods.golden",
        "golden",
        "golden section along one line through the space, --path: eight places",
        TrialDesign(loops=1, runs=1, warmups=0, objective="time"),
        minimizes=("time",),
        takes=(("path", "path"), ("probes", "probes")),
        trials=(48, 0),
    ),
    MethodRow(
        "bayes",
        "becalm.methods.bayes",
        "bayes",
        "Bayesian optimisation by Optuna, sixty trials, to compare with; needs the extra `bayes`",
        TrialDesign(loops=1, runs=1, warmups=0, objective="time"),
        minimizes=("time",),
        takes=(("sampler", "sampler"),),
        trials=(60, 0),
    ),
)
"""The methods; the first one for a goal is its default."""


def method(name: str) -> MethodRow:
    """Return the method of a name. Raises UsageError with the nearest name when there is none."""
    for row in TABLE:
        if row.name == name:
            return row
    near = difflib.get_close_matches(name, [row.name for row in TABLE], n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    known = "; ".join(f"{row.name}: {row.what}" for row in TABLE)
    raise UsageError(f"There is no method {name!r}.{hint} Known methods: {known}.")


def search_methods() -> tuple[MethodRow, ...]:
    """Return the methods with which `tune` can search, the default first."""
    return TABLE


def complete(options: TuneOptions, run_ns: float | None = None) -> TuneOptions:
    """Return the options with the method's defaults for missing numbers, and an objective of the requested goal.

    `run_ns`: the time of a run, from which the number of runs in a loop follows; None for the method's least number.
    Raises UsageError for an unknown method, for one that does not support the goal, and for a loop of too few runs.
    """
    row = method(options.method) if options.method else _first(options.minimize)
    usual = row.rule
    if options.minimize not in row.minimizes:
        able = [candidate.name for candidate in TABLE if options.minimize in candidate.minimizes]
        hint = f"Methods that do: {', '.join(able)}." if able else "No method does yet."
        raise UsageError(f"The method {row.name} minimizes {', '.join(row.minimizes)}, not {options.minimize}. {hint}")
    _refuse_others(row, options)
    fits = find(options.objective).minimizes == options.minimize
    objective = options.objective if fits else names(options.minimize)[0]
    if options.runs is not None and options.runs < (fewest := find(objective).fewest):
        raise UsageError(f"--runs must be at least {fewest}: a single run has no {find(objective).what}.")
    runs = options.in_a_row(usual.runs, run_ns) if row.lasts and run_ns is not None else usual.runs
    return dataclasses.replace(
        options,
        method=row.name,
        objective=objective,
        margin=options.margin or find(objective).margin,
        loops=usual.loops if options.loops is None else options.loops,
        runs=runs if options.runs is None else options.runs,
        warmups=usual.warmups if options.warmups is None else options.warmups,
    )


def _first(minimize: str) -> MethodRow:
    """Return the default method of a goal. Raises UsageError where there is none."""
    for row in TABLE:
        if minimize in row.minimizes:
            return row
    raise UsageError(f"No method minimizes {minimize} yet.")


def _refuse_others(row: MethodRow, options: TuneOptions) -> None:
    """Raise UsageError for an option that only other methods take."""
    usual = type(options)()
    for other in TABLE:
        for _, name in other.takes:
            if (name not in [own for _, own in row.takes]) and getattr(options, name) != getattr(usual, name):
                raise UsageError(f"{flag(name)} is for --method {other.name}, not for {row.name}.")


def check(options: TuneOptions) -> None:
    """Raise UsageError if the method cannot begin in the space of the host; called before anything is measured."""
    SearchRun(method(options.method).load(options), options.allowed.space, trial_design(options), 0)


def trial_design(options: TuneOptions, run_ns: float | None = None) -> TrialDesign:
    """Return the design of trials by these options. `run_ns`: the time of a run, None if it is unknown."""
    completed = complete(options, run_ns)
    assert completed.loops is not None
    assert completed.runs is not None
    return replace(
        method(completed.method).rule,
        loops=completed.loops,
        runs=completed.runs,
        warmups=completed.warmups,
        objective=completed.objective,
        threshold=options.threshold,
        most_runs=options.most_runs,
    )
