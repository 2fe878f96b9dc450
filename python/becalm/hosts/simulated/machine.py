"""A simulated machine from a TOML file (docs/explanation/methods.md): its noise, and the effects of settings.

A run takes its program's base time, times the effect of the settings on the mean, times 1 plus the sum of all noise.
Each source of noise has a size, its standard deviation as a fraction. Settings, alone or together, multiply it or add
to it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from becalm.errors import UsageError
from becalm.files.tables import check_keys, read_toml
from becalm.hosts.simulated.disturbance import KINDS, DisturbanceSeries
from becalm.nouns.domain import text
from becalm.nouns.knob import Knob, catalogue, find, knobs_by_name
from becalm.nouns.settings import Settings
from becalm.stats.arrays import Floats, Ints
from becalm.units import duration_ns

SHIPPED = Path(__file__).parent / "machines"

SAME = {"isolcpus": "isolation", "watchdogs_boot": "watchdogs", "idle": "cpu_dma_latency"}
"""The live setting to which each boot setting is equivalent, if both have their tuned values."""

ABSENT = {
    "services": "no service that rewrites settings runs here",
    "slice_ns": "its kernel is older than Linux 6.12",
}
"""The knobs that no simulated machine has, with reasons; a file can add others. Any other knob can be set, even
without an effect."""

CORES = ("first-core", "last-core")

LEAST = 0.1
"""The least factor of noise on the time of a run."""


class SettingsEffect(msgspec.Struct, frozen=True):
    """The effect of all settings in `when` together: a factor, and a summand after all factors."""

    when: frozenset[tuple[str, str]]
    factor: float = 1.0
    adds: float = 0.0


class Bowl(msgspec.Struct, frozen=True):
    """An effect that grows with the squared distance of a setting from its `best` value, by `costs` at a distance of 1.

    Distances are in coded units of the knob's range, on its scale. `default`: the value if it is not set.
    """

    knob: str
    default: int
    best: int
    costs: float

    def distance(self, settings: Mapping[str, Any]) -> float:
        """Return the distance of the setting from the best value, in coded units."""
        numbers = knobs_by_name()[self.knob].domain.range
        assert numbers is not None
        return numbers.coded(int(settings.get(self.knob, self.default))) - numbers.coded(self.best)


class NoiseSource(msgspec.Struct, frozen=True):
    """A source of noise. `size`: its standard deviation without settings, as a fraction."""

    name: str
    kind: str
    size: float
    effects: tuple[SettingsEffect, ...]


class State(msgspec.Struct, frozen=True):
    """The machine under settings: sizes of noise, shape (noises,); the factor on the mean; the probability of
    failure."""

    sizes: Floats
    time: float
    fails: float

    @property
    def spread(self) -> float:
        """The coefficient of variation of very many runs; drifting noise varies less within a loop."""
        return math.sqrt(float((self.sizes**2).sum()))


class SimulatedMachine(msgspec.Struct, frozen=True):
    """The model of a simulated machine, read from a file.

    - `slowest`: the limit of the factor of all effects on the mean time.
    - `boot_ns`: the time of a boot.
    - `boot_spread`: the standard deviation of a boot's effect on the time of all its runs, a fraction.
    - `ranges`: settings on which the mean time depends by a second-order surface around the best values.
    - `together`: pairs of these settings, with the coefficient of the product of their distances.
    """

    name: str
    what: str
    base_ns: int
    noises: tuple[NoiseSource, ...]
    slower: tuple[SettingsEffect, ...] = ()
    slowest: float = math.inf
    failing: tuple[SettingsEffect, ...] = ()
    unsupported: tuple[tuple[str, str], ...] = ()
    boot_ns: int = 0
    boot_spread: float = 0.0
    ranges: tuple[Bowl, ...] = ()
    together: tuple[tuple[str, str, float], ...] = ()

    def surface(self, settings: Settings) -> float:
        """Return the factor of settings with a range on the mean time: 1 at the best values."""
        values = settings.to_json()
        distances = {bowl.knob: bowl.distance(values) for bowl in self.ranges}
        squares = sum(bowl.costs * distances[bowl.knob] ** 2 for bowl in self.ranges)
        return 1 + squares + sum(costs * distances[first] * distances[second] for first, second, costs in self.together)

    def state(self, settings: Settings) -> State:
        """Return the machine under settings. Raises UsageError for an unsupported setting, or a value out of its
        domain."""
        check(settings, dict(self.unsupported))
        chosen = frozenset((knob, _alike(knob, value)) for knob, value in _when(dict(settings.values)))
        chosen |= {_tuned(SAME[knob]) for knob, value in chosen if knob in SAME and (knob, value) == _tuned(knob)}
        sizes = [_apply(noise.size, noise.effects, chosen) for noise in self.noises]
        fails = max((effect.factor for effect in self.failing if effect.when <= chosen), default=0.0)
        time = min(self.slowest, _apply(1.0, self.slower, chosen)) * self.surface(settings)
        return State(np.array(sizes), time, fails)

    def knobs(self) -> list[Knob]:
        """Return the engine's catalogue with the support by this machine; only knobs in `ranges` have present
        values."""
        reasons = dict(self.unsupported)
        values = {bowl.knob: str(bowl.default) for bowl in self.ranges}
        return [
            replace(row, supported=row.name not in reasons, reason=reasons.get(row.name), value=values.get(row.name))
            for row in catalogue()
        ]


class Running:
    """The random values of a machine: those of a seed do not depend on the settings."""

    def __init__(self, machine: SimulatedMachine, seed: int) -> None:
        streams = np.random.SeedSequence(seed).spawn(len(machine.noises) + 1)
        self._series = [
            DisturbanceSeries(n.kind, np.random.default_rng(s))
            for n, s in zip(machine.noises, streams[1:], strict=True)
        ]
        self._chance = np.random.default_rng(streams[0])

    def draw(self, count: int) -> Floats:
        """Draw random values, shape (noises + 1, count): a row for each source of noise, and one for failures."""
        return np.array([*(series.take(count) for series in self._series), self._chance.random(count)])

    def runs(
        self, states: Sequence[State], indices: Ints, values: Floats | None = None
    ) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Return factors on the base time, and whether runs fail, both of shape (runs,).

        `indices`: the state of each run, shape (runs,). `values`: random values by `draw`; None: the next ones.
        """
        values = self.draw(len(indices)) if values is None else values
        sizes = np.array([state.sizes for state in states]).reshape(len(states), len(self._series))
        time = np.array([state.time for state in states])[indices]
        fails = np.array([state.fails for state in states])[indices]
        factors = time * np.maximum(LEAST, 1.0 + (sizes[indices].T * values[:-1]).sum(axis=0))
        return factors, values[-1] < fails


def _apply(value: float, effects: Sequence[SettingsEffect], chosen: frozenset[tuple[str, str]]) -> float:
    active = [effect for effect in effects if effect.when <= chosen]
    return value * math.prod(effect.factor for effect in active) + sum(effect.adds for effect in active)


def check(settings: Settings, unsupported: Mapping[str, str]) -> None:
    """Raise UsageError for an unsupported setting, or a value out of its domain."""
    for name, value in settings.values:
        row = find(catalogue(), name)
        if name in unsupported:
            raise UsageError(f"The simulated machine has no {name}: {unsupported[name]}.")
        if not row.domain.holds(value):
            raise UsageError(f"{name}={value} is out of its domain: it takes {row.domain.words}.")


def names() -> list[str]:
    """Return the names of the machines that come with becalm."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def read(path: Path) -> SimulatedMachine:
    """Return the machine of a file. Raises UsageError with the file and the error in it."""
    value = read_toml(path, f"The simulated machine {str(path)!r}")
    try:
        return _machine(path.stem, value)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{str(path)!r} is not a simulated machine: {error}. See docs/explanation/methods.md."
        ) from None


def _machine(name: str, value: Mapping[str, Any]) -> SimulatedMachine:
    time, failing, boot = value.get("time", {}), value.get("failing", ()), value.get("boot", {})
    unsupported = value.get("unsupported", {})
    check_keys(value, ("what", "source", "time", "noise", "failing", "unsupported", "boot"), f"The machine {name}")
    check_keys(time, ("base", "slowest", "factors", "with", "ranges", "together"), f"[time] of the machine {name}")
    check_keys(boot, ("takes", "spread"), f"[boot] of the machine {name}")
    check_keys(unsupported, knobs_by_name(), f"[unsupported] of the machine {name}")
    for row in failing:
        check_keys(row, ("set", "share"), f"[[failing]] of the machine {name}")
    return SimulatedMachine(
        name=name,
        what=str(value["what"]),
        base_ns=duration_ns(time.get("base", "1s")),
        noises=tuple(_noise(row) for row in value["noise"]),
        slower=_effects(time),
        slowest=float(time.get("slowest", math.inf)),
        failing=tuple(SettingsEffect(_when(row["set"]), float(row.get("share", 1.0))) for row in failing),
        unsupported=tuple({**ABSENT, **{knob: str(reason) for knob, reason in unsupported.items()}}.items()),
        boot_ns=duration_ns(boot["takes"]) if "takes" in boot else 0,
        boot_spread=float(boot.get("spread", 0.0)),
        ranges=tuple(_bowl(row) for row in time.get("ranges", ())),
        together=tuple((*_pair(row["knobs"]), float(row["costs"])) for row in time.get("together", ())),
    )


def _pair(knobs: Sequence[str]) -> tuple[str, str]:
    first, second = knobs
    return first, second


def _bowl(value: Mapping[str, Any]) -> Bowl:
    check_keys(value, ("knob", "default", "best", "costs"), "A row of ranges")
    bowl = Bowl(str(value["knob"]), int(value["default"]), int(value["best"]), float(value["costs"]))
    if bowl.knob not in knobs_by_name() or knobs_by_name()[bowl.knob].domain.range is None:
        raise ValueError(f"{bowl.knob} is not a setting with a range")
    return bowl


def _noise(value: Mapping[str, Any]) -> NoiseSource:
    check_keys(value, ("name", "kind", "size", "factors", "with"), "A row of [[noise]]")
    if value["kind"] not in KINDS:
        raise ValueError(f"there is no noise of the kind {value['kind']!r}, only {', '.join(KINDS)}")
    size = float(value["size"])
    if not 0.0 <= size < 1.0:
        raise ValueError(f"the size of {value['name']!r} is {size}, not a fraction")
    return NoiseSource(str(value["name"]), value["kind"], size, _effects(value))


def _effects(value: Mapping[str, Any]) -> tuple[SettingsEffect, ...]:
    alone = tuple(
        SettingsEffect(frozenset([_tuned(knob)]), float(factor)) for knob, factor in value.get("factors", {}).items()
    )
    together = tuple(
        SettingsEffect(_when(row["set"]), float(row.get("factor", 1.0)), float(row.get("adds", 0.0)))
        for row in value.get("with", ())
    )
    return alone + together


def _when(values: Mapping[str, str | int | bool]) -> frozenset[tuple[str, str]]:
    wrong = set(values) - set(knobs_by_name())
    if wrong:
        raise ValueError(f"there is no setting {', '.join(sorted(wrong))}")
    return frozenset((knob, text(value)) for knob, value in values.items())


def _alike(knob: str, value: str) -> str:
    """Return a value, or the tuned value if both are cores, as all cores of a simulated machine are alike."""
    tuned = knobs_by_name()[knob].tuned_value
    return tuned if tuned in CORES and value in CORES else value


def _tuned(knob: str) -> tuple[str, str]:
    """Return a knob with the value that a search tries."""
    value = knobs_by_name()[knob].tuned_value if knob in knobs_by_name() else None
    if value is None:
        raise ValueError(f"{knob} is not tried by any search")
    return knob, value
