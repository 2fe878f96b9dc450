"""The noun SwarmParameters: the motion, the size and the duration of a particle swarm."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import structs

from becalm.errors import UsageError


class SwarmParameters(msgspec.Struct, frozen=True):
    """The parameters of a particle swarm (Shi & Eberhart 1998).

    - `omega`: the share of its velocity that a particle keeps.
    - `phi_p`, `phi_g`: the strength of a particle's attraction to its own best place, and to the best of all.
    - `particles`, `iterations`: the largest numbers of these.
    - `evaluations`: the number of trials, repeated places included; a swarm of few evaluations has fewer particles.

    Anderson 2013 found the default values by a Box-Behnken design; `becalm design swarm` makes such a design.
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
                raise UsageError(f"--swarm {name} must be from {low:g} to {high:g}, not {getattr(self, name):g}.")

    @classmethod
    def parse(cls, argument: SwarmParameters | str | Mapping[str, float]) -> SwarmParameters:
        """Return the parameters of a text such as omega=0.4,phi=3,particles=10; phi sets both. Raises UsageError."""
        if isinstance(argument, SwarmParameters):
            return argument
        pairs = dict(argument) if isinstance(argument, Mapping) else _pairs(argument)
        if "phi" in pairs:
            pairs = {"phi_p": pairs["phi"], "phi_g": pairs["phi"], **{k: v for k, v in pairs.items() if k != "phi"}}
        types = cls.__annotations__
        if unknown := [name for name in pairs if name not in types]:
            raise UsageError(f"--swarm has no {unknown[0]!r}. It has phi, {', '.join(types)}.")
        for name, value in pairs.items():
            if types[name] == "int" and not float(value).is_integer():
                raise UsageError(f"--swarm {name} must be a whole number, not {value:g}.")
        values: dict[str, Any] = {n: int(v) if types[n] == "int" else float(v) for n, v in pairs.items()}
        return cls(**values)

    @property
    def spelled(self) -> str:
        """The text of the parameters that differ from the defaults, as `parse` reads it."""
        defaults = SwarmParameters()
        pairs = structs.asdict(self)
        return ",".join(f"{name}={value:g}" for name, value in pairs.items() if value != getattr(defaults, name))


LIMITS = (
    ("omega", -1.0, 1.0),
    ("phi_p", 0.0, 10.0),
    ("phi_g", 0.0, 10.0),
    ("particles", 2, 1000),
    ("iterations", 1, 10_000),
    ("evaluations", 2, 1_000_000),
)
"""The limits of each parameter; with an omega above 1 the velocity grows without bound (Trelea 2003)."""


def _pairs(text: str) -> dict[str, float]:
    result: dict[str, float] = {}
    for part in text.split(",") if text.strip() else ():
        name, equals, value = part.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not equals or not math.isfinite(number):
            raise UsageError(f"--swarm takes numbers by name, such as omega=0.4,phi=3, not {part.strip()!r}.")
        result[name.strip()] = number
    return result
