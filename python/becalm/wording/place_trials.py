"""Sentences about placements that were tried in simulation, and about trained placement methods."""

from __future__ import annotations

from collections.abc import Sequence

from becalm.placement.trials import MODEL, PlacementTrials
from becalm.placement.validation import Score, Training
from becalm.results.place_costs import PlacementObjective
from becalm.units import join_names
from becalm.wording.numbers import counted

NEAR = 1e-9


def sentence(trials: PlacementTrials) -> str:
    """Return the sentence about the best methods, and their gain over Linux."""
    best = trials.best
    assert best is not None
    known = {row.method: row.cost(trials.objective) for row in trials.rows}
    costs = {name: cost for name, cost in known.items() if cost is not None}
    winners = [name for name, cost in costs.items() if cost <= best + NEAR]
    measure = "degradation" if trials.objective is PlacementObjective.DEGRADATION else "slowdown"
    result = f"In the model, {counted(len(trials.tasks), 'program')} lose {100 * best:.2f} % on average at best"
    result += f" (mean {measure}; {join_names(winners)})"
    if "linux" in costs:
        result += f", {100 * costs['linux']:.2f} % where Linux puts them when they start in this order"
    if "random" in costs:
        result += f", {100 * costs['random']:.2f} % by chance, on average over all sharings"
    return f"{result}. Nothing was measured."


def origin() -> str:
    """Return the sentence on where the figures come from."""
    return f"Costs are of a {MODEL}."


def learned(training: Training) -> str:
    """Return the sentence on how good a trained method is on programs it has not seen, next to DI."""
    rows = {score.method: score for score in training.scores if score.held_out == "programs"}
    di = rows["di"]
    better = [name for name, score in rows.items() if name not in ("di", "random") and score.regret < di.regret]
    names = [name for name in rows if name not in ("di", "random")]
    first = f"On held-out programs DI loses {_cost(di)} more than the best sharing; " + (
        f"{join_names(better)} lose less." if better else f"none of {join_names(names)} loses less."
    )
    costs = {cost.method: cost for cost in training.costs}
    return (
        f"{first} Costs are predicted with a correlation of {costs['costs'].correlation:.3f} "
        f"({costs['linear'].correlation:.3f} by a linear model)."
    )


def _cost(score: Score) -> str:
    return f"{100 * score.regret:.2f} % of speed"


def joined(lines: Sequence[str]) -> str:
    """Return the lines that are not empty as one text."""
    return "\n".join(line for line in lines if line)
