"""The noun SwarmParameters: how a particle swarm moves, how large it is, and how long it may go on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from becalm.errors import UsageError


@dataclass(frozen=True, slots=True)
class SwarmParameters:
    """`omega`: the share of its velocity that a particle keeps; `phi_p`, `phi_g`: how strongly it is drawn to the best
    place of its own and of all (Shi & Eberhart 1998). The numbers are those that Anderson 2013 found by a Box-Behnken
    design, as `becalm design swarm` does.

    `particles`, `iterations`: of the swarm, at most. `evaluations`: trials in all, those of places that are tried
    again included; a swarm of few evaluations has fewer particles.
    """

    omega: float = 0.4365
    phi_p: float = 3.020
    phi_g: float = 3.020
    particles: int = 20
    iterations: int = 30
    evaluations: int = 60

    def __post_init__(self) -> None:
        for name, low, high in LIMITS:
            if not low <= getattr(self, name) <= high:
                raise UsageError(f"--swarm {name} is from {low:g} to {high:g}, not {getattr(self, name):g}.")

    @classmethod
    def parse(cls, given: SwarmParameters | str | Mapping[str, float]) -> SwarmParameters:
        """Return the parameters of a text: omega=0.4,phi=3 (phi is both), particles=10. Raises UsageError."""
        if isinstance(given, SwarmParameters):
            return given
        pairs = dict(given) if isinstance(given, Mapping) else _pairs(given)
        if "phi" in pairs:
            pairs = {"phi_p": pairs["phi"], "phi_g": pairs["phi"], **{k: v for k, v in pairs.items() if k != "phi"}}
        known = {field.name: field.type for field in fields(cls)}
        if unknown := [name for name in pairs if name not in known]:
            raise UsageError(f"--swarm has no {unknown[0]!r}. It has phi, {', '.join(known)}.")
        for name, value in pairs.items():
            if known[name] == "int" and not float(value).is_integer():
                raise UsageError(f"--swarm {name} is a whole number, not {value:g}.")
        values: dict[str, Any] = {n: int(v) if known[n] == "int" else float(v) for n, v in pairs.items()}
        return cls(**values)

    @property
    def spelled(self) -> str:
        """The parameters that differ from the usual ones, as `parse` reads them."""
        usual = SwarmParameters()
        pairs = {field.name: getattr(self, field.name) for field in fields(self)}
        return ",".join(f"{name}={value:g}" for name, value in pairs.items() if value != getattr(usual, name))


LIMITS = (
    ("omega", -1.0, 1.0),
    ("phi_p", 0.0, 10.0),
    ("phi_g", 0.0, 10.0),
    ("particles", 2, 1000),
    ("iterations", 1, 10_000),
    ("evaluations", 2, 1_000_000),
)
"""The limits of each parameter; with an omega beyond 1 the velocity grows without end (Trelea 2003)."""


def _pairs(text: str) -> dict[str, float]:
    result: dict[str, float] = {}
    for part in text.split(",") if text.strip() else ():
        name, equals, value = part.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not equals or not math.isfinite(number):
            raise UsageError(f"--swarm is numbers by name: omega=0.4,phi=3, not {part.strip()!r}.")
        result[name.strip()] = number
    return result
