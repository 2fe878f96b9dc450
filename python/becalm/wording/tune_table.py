"""Sentences about a choice among configurations: the advice, its promise, and what is not known."""

from __future__ import annotations

import math

from msgspec.structs import replace

from becalm.nouns.metric import Better
from becalm.results.tune_table import ConfigurationChoice, ConfigurationResult, factors
from becalm.wording.metric import quantity
from becalm.wording.numbers import counted, percent

SESSION = "session"
"""The unit of repetition on a single machine measured by becalm."""

NAMED = 4
"""The number of measurements that are named one by one."""


def worded(choice: ConfigurationChoice) -> ConfigurationChoice:
    """Return the choice with its sentences."""
    return replace(choice, sentence="\n".join(line for line in (*_answer(choice), *_next(choice)) if line))


def _answer(choice: ConfigurationChoice) -> list[str]:
    many = counted(len(choice.configurations), "configuration")
    best = choice.chosen
    if best is None:
        return [
            f"No choice among {many}: none has values on two {plural(choice.unit)} without a failure, so nothing is "
            f"known of a further {choice.unit}."
        ]
    bound = "at most" if choice.better is Better.LOWER else "at least"
    mean, promise, worst = (quantity(value, choice.value_unit) for value in (best.mean, best.promise, best.worst))
    lines = [
        f"Take {best.name}: {choice.value} {mean} on average of {counted(best.units, choice.unit)}.",
        f"On a further {choice.unit} it gives {bound} {promise} ({percent(choice.probability)} %); the worst of these "
        f"was {worst}.",
    ]
    if not best.steady:
        lines.append(
            f"All configurations vary: even this one differs by {percent(best.spread)} % from {choice.unit} to "
            f"{choice.unit} (standard deviation; the limit is {percent(choice.limit)} %)."
        )
    ahead = [
        configuration
        for configuration in choice.configurations
        if _ahead(configuration, best, choice) and configuration.units >= best.units
    ]
    if ahead and best.steady:
        lottery = max(ahead, key=lambda configuration: configuration.spread)
        lines.append(
            f"{counted(len(ahead), 'configuration')} with a better mean {'was' if len(ahead) == 1 else 'were'} not "
            f"taken: {lottery.name} differs by {percent(lottery.spread)} % from {choice.unit} to {choice.unit}."
        )
    rivals = sum(configuration.rival for configuration in choice.configurations)
    if rivals:
        lines.append(f"{rivals} of the others may be as good.")
    return lines


def _ahead(result: ConfigurationResult, best: ConfigurationResult, choice: ConfigurationChoice) -> bool:
    if result.failed or result.steady or not math.isfinite(result.mean):
        return False
    return result.mean < best.mean if choice.better is Better.LOWER else result.mean > best.mean


def _next(choice: ConfigurationChoice) -> list[str]:
    if len(choice.units) < 2:
        return [f"All was measured on one {choice.unit}. Measure on another one, too: nothing is known of others."]
    if choice.unit == SESSION:
        return ["All was measured on one machine: what another one gives is not known. Name several: --host A --host B"]
    if not choice.next:
        return []
    shown = [f"{factors(measurement.factors)} on {measurement.unit}" for measurement in choice.next]
    more = f" and {len(shown) - NAMED} more" if len(shown) > NAMED else ""
    return [f"To be surer, measure {', '.join(shown[:NAMED])}{more}."]


def plural(unit: str) -> str:
    """Return the plural of a unit's name."""
    return unit if unit.endswith("s") else f"{unit}s"
