"""Sentences of findings of a completed design: the faults and doubts of a fit, and the next steps.

A fit of the trials of `becalm tune` has `search` among its numbers, since the next steps differ there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from becalm.nouns.finding import Interval
from becalm.units import join_names
from becalm.wording.design import MODELS, interval, level_place, number, p_value, transform
from becalm.wording.numbers import counted

Numbers = Mapping[str, Any]


def lack_of_fit(response: str, n: Numbers) -> str:
    """Return the sentences about a model whose errors exceed the differences of repeated runs."""
    problem = (
        f"The {MODELS[n['model']]} model of {response} does not fit: it misses by more than repeated runs differ "
        f"(lack of fit, p {p_value(n['p_value'])}). Do not use its optimum as it is. "
    )
    if n.get("search"):
        return (
            problem + "Next: narrower ranges about what was found (--factor), or a composite design (--method surface "
            "--design composite), to see what bends it."
        )
    if n["larger"]:
        return problem + f"Next: --model {n['larger'][0]}."
    if n["power"] is not None:
        return problem + f"Next: --transform {transform(n['power'])}, or narrower ranges about the best run."
    if n["curvature"]:
        return problem + "These runs cannot tell which factor bends it. Next: axial points, becalm design central."
    return problem + "Next: narrower ranges about the best run, where a surface of second order is nearer to the truth."


def curvature(response: str, n: Numbers) -> str:
    """Return the sentence about centre points that lie off the plane of the corners."""
    side = "above" if n["value"] > 0 else "below"
    sign = math.copysign(1.0, n["value"])
    off = Interval(abs(n["value"]), *sorted((sign * n["low"], sign * n["high"])))
    return (
        f"{response} is curved: the centre lies {interval(off)} {side} the mean of the corners ("
        f"{number(abs(n['t']), 3)} standard errors, p {p_value(n['p_value'])}; 1 degree of freedom, tested against "
        f"pure error with {n['freedom']}). Which factor bends it these runs cannot tell."
    )


def near_ridge(response: str, n: Numbers) -> str:
    """Return the sentence about a surface that is nearly level in some direction."""
    ways = "; ".join(
        f"{direction} (bends {number(100 * share, 2)} % as strongly as in the steepest direction)"
        for direction, share in zip(n["directions"], n["shares"], strict=True)
    )
    return (
        f"The surface of {response} is nearly level along {ways}: places along it are about equally good. Choose among "
        "them by what else matters; the interval of the best place says how far they go."
    )


def no_effect(response: str, n: Numbers) -> str:
    """Return the sentence about a response without visible effects."""
    more = "More trials (--most-runs)" if n.get("search") else "More runs (becalm design … --replicates)"
    return (
        f"Nothing that was varied changes {response} visibly. {more} or wider ranges would show effects below "
        f"{number(n['detectable'], 3)}."
    )


def saturated(response: str, n: Numbers) -> str:
    """Return the sentence about a model that leaves no run for its error."""
    real = f"Probably real: {join_names(n['real'])}. " if n["real"] else "None is significant. "
    more = "more trials (--most-runs)" if n.get("search") else "centre points or replicates"
    return (
        f"The {MODELS[n['model']]} model of {response} takes all runs, and none is left for its error. {real}Next: "
        f"{more}, with the factors that matter."
    )


def aliased_terms(response: str, n: Numbers) -> str:
    """Return the sentence about terms that these runs cannot tell apart."""
    some = list(n["terms"])[:4]
    more = f", and {len(n['terms']) - 4} more" if len(n["terms"]) > 4 else ""
    return (
        f"A {MODELS[n['model']]} model of {response} cannot be estimated from these runs: {'; '.join(some)}{more}. "
        "It was not tried."
    )


def partly_aliased(response: str, n: Numbers) -> str:
    """Return the sentence about effects of factors that contain parts of interactions."""
    more = (
        "more trials (--most-runs)."
        if n.get("search")
        else "the foldover as a second block; the design's own command with the same --seed and --fold all writes it."
    )
    return (
        f"Each factor's effect on {response} contains up to {number(n['share'], 2)} of an interaction of two others: a "
        f"large interaction can hide an effect, or look like one. Next: {more}"
    )


def power(response: str, n: Numbers) -> str:
    """Return the sentence about a power of the response that fits better than the response."""
    return (
        f"The model fits a power of {response} better than {response} itself: {n['power']:.2f} "
        f"({_end(n['low'], -5)} to {_end(n['high'], 5)}). Next: --transform {transform(n['advised'])}."
    )


def _end(value: float | None, reach: int) -> str:
    return f"beyond {reach}" if value is None or abs(value) > 5 else f"{value:.2f}"


def no_power(response: str, n: Numbers) -> str:
    """Return the sentence about values for which no power can be fitted."""
    return (
        f"{response} has values that are not above 0 (the smallest is {number(n['smallest'])}), so no power of "
        "it was tried. Where its zero is arbitrary, add a constant to all values."
    )


def fit_outlier(response: str, n: Numbers) -> str:
    """Return the sentence about a run that is far from what the other runs predict."""
    return (
        f"Run {n['run']} does not belong to the others: {response} is {number(abs(n['studentised']), 3)} standard "
        f"errors from what the others predict (p {p_value(n['p_value'])}). Look at what happened"
        + (": becalm explain." if n.get("search") else ", and make it again.")
    )


def influential(response: str, n: Numbers) -> str:
    """Return the sentence about runs that dominate the fit."""
    again = f" Make {'it' if len(n['runs']) == 1 else 'them'} again."
    return (
        f"The model of {response} depends strongly on {'run' if len(n['runs']) == 1 else 'runs'} "
        f"{join_names([str(r) for r in n['runs']])} "
        f"(Cook's distance {number(n['cook'], 3)} of run {n['run']})."
        + (" Do not use its optimum as it is." if n.get("search") else again)
    )


def imprecise(response: str, n: Numbers) -> str:
    """Return the sentence about a surface that hardly rises above its noise."""
    return (
        f"The surface of {response} hardly rises above its noise: adequate precision {number(n['precision'], 3)}, "
        f"where {n['needed']:g} are needed. Make more runs, or widen the ranges, before you use it."
    )


def overfitted(response: str, n: Numbers) -> str:
    """Return the sentence about a model that predicts worse than it fits."""
    predicted = number(n["predicted"], 3) if n["predicted"] >= 0 else "below 0, worse than the mean of all runs"
    return (
        f"The model of {response} fits better than it predicts: R² adjusted {n['adjusted']:.3f}, predicted "
        f"{predicted}. It has too many terms for these runs, or one run dominates it."
    )


def untested_fit(response: str, n: Numbers) -> str:
    """Return the sentence about a fit that cannot be tested without replicates."""
    text = f"Whether the {MODELS[n['model']]} model of {response} fits cannot be tested: no point was run twice"
    return f"{text}." if n.get("search") else f"{text} in one block. Repeat centre points."


def at_border(response: str, n: Numbers) -> str:
    """Return the sentence about a best place at the end of a range."""
    where = {"min": "lower", "max": "higher"}.get(n["goal"], "better")
    return (
        f"The best place for {response} lies at the end of the range of {join_names(n['factors'])}: {response} may be "
        f"{where} beyond it. Next: a {'--factor' if n.get('search') else 'design'} whose "
        f"{'range goes' if n.get('search') else 'ranges go'} on there, where the machine allows it."
    )


def stationary(response: str, n: Numbers) -> str:
    """Return the sentence about a surface that is level elsewhere, or in another way than the goal needs."""
    where = level_place(n["inside"], n.get("distance", 0.0), n.get("place", ""))
    return f"The surface of {response} has its stationary point {where}: a {n['kind']}" + (
        "." if n["kind"] == n["wanted"] else f", not a {n['wanted']}; the best place is where the ranges end."
    )


def extrapolated(response: str, n: Numbers) -> str:
    """Return the sentence about a best place without runs nearby."""
    return (
        f"No run of {response} is near its best place: the prediction is extrapolated (leverage "
        f"{number(n['leverage'], 3)}, that of the runs is at most {number(n['largest'], 3)}). Make a run there before "
        "relying on it."
    )


def missing_runs(response: str, n: Numbers) -> str:
    """Return the sentence about runs without a value."""
    return (
        f"{counted(n['missing'], 'run')} of {n['missing'] + n['runs']} have no value of {response} and were left "
        f"out: the design is not balanced any more.{'' if n.get('search') else ' Make them if you can.'}"
    )


def outside_range(response: str, n: Numbers) -> str:
    """Return the sentence about axial points beyond the ranges."""
    return (
        f"Axial points lie outside the ranges: {'; '.join(n['ends'])}. To stay inside take --alpha inscribed or "
        "face-centred."
    )
