"""A simulated machine from a TOML file (docs/explanation/methods.md): what disturbs programs there, and what helps.

A run takes its program's base time, times the effect of the settings on the mean, times 1 + the sum of all noise.
Every noise has a size, the standard deviation as a fraction, which settings alone or together multiply or add to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from becalm.errors import UsageError
from becalm.files.tables import check_keys, read_toml
from becalm.hosts.simulated.disturbance import KINDS, DisturbanceSeries
from becalm.nouns.domain import text
from becalm.nouns.knob import Knob, catalogue, find, known
from becalm.nouns.settings import Settings
from becalm.stats.arrays import Floats, Ints
from becalm.units import duration_ns

SHIPPED = Path(__file__).parent / "machines"

SAME = {"isolcpus": "isolation", "watchdogs_boot": "watchdogs", "idle": "cpu_dma_latency"}
"""Settings of the boot that do to a program what a live one does: with its tuned value, the same effects."""

ABSENT = {
    "services": "no service that rewrites settings runs here",
    "slice_ns": "its kernel is older than Linux 6.12",
}
"""The knobs that no simulated machine has, whatever its file says of others. A knob in neither can be set and has no
effect."""

CORES = ("first-core", "last-core")

LEAST = 0.1
"""No noise makes a program faster than this share of its time."""


@dataclass(frozen=True, slots=True)
class SettingsEffect:
    """The effect of having all of `when` set: a factor, and something added after all factors."""

    when: frozenset[tuple[str, str]]
    factor: float = 1.0
    adds: float = 0.0


@dataclass(frozen=True, slots=True)
class Bowl:
    """A run takes longer with the squared distance of a setting from its `best` value, by `costs` at one unit.

    Distances are in coded units of the knob's range, on its scale. `default`: what it is where it is not set.
    """

    knob: str
    default: int
    best: int
    costs: float

    def distance(self, settings: Mapping[str, Any]) -> float:
        """Return the distance of the setting from the best value, in coded units."""
        numbers = known()[self.knob].domain.range
        assert numbers is not None
        return numbers.coded(int(settings.get(self.knob, self.default))) - numbers.coded(self.best)


@dataclass(frozen=True, slots=True)
class NoiseSource:
    """A source of noise; `size` is its standard deviation on the baseline, as a fraction."""

    name: str
    kind: str
    size: float
    effects: tuple[SettingsEffect, ...]


@dataclass(frozen=True, slots=True)
class State:
    """The machine under some settings: sizes of all noise, shape (noises,), the mean's factor, how often it fails."""

    sizes: Floats
    time: float
    fails: float

    @property
    def spread(self) -> float:
        """Coefficient of variation of very many runs; less within a loop where the noise drifts."""
        return math.sqrt(float((self.sizes**2).sum()))


@dataclass(frozen=True, slots=True)
class SimulatedMachine:
    """A model: see `read`. `slowest` limits the factor of all effects on the mean time together.

    `boot_ns`: how long a boot takes. `boot_spread`: the standard deviation of what each boot does to the time of all
    its runs, a fraction. `ranges`: settings on which the mean time depends as a surface of second order, around the
    best values; `together`: pairs of them with what the product of their distances adds.
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
        far = {each.knob: each.distance(values) for each in self.ranges}
        squares = sum(each.costs * far[each.knob] ** 2 for each in self.ranges)
        return 1 + squares + sum(costs * far[one] * far[other] for one, other, costs in self.together)

    def state(self, settings: Settings) -> State:
        """Return the machine under these settings. Raises UsageError for a setting it does not have, or a value out of
        its domain."""
        check(settings, dict(self.unsupported))
        chosen = frozenset((knob, _alike(knob, value)) for knob, value in _when(dict(settings.values)))
        chosen |= {_tuned(SAME[knob]) for knob, value in chosen if knob in SAME and (knob, value) == _tuned(knob)}
        sizes = [_apply(noise.size, noise.effects, chosen) for noise in self.noises]
        fails = max((effect.factor for effect in self.failing if effect.when <= chosen), default=0.0)
        time = min(self.slowest, _apply(1.0, self.slower, chosen)) * self.surface(settings)
        return State(np.array(sizes), time, fails)

    def knobs(self) -> list[Knob]:
        """Return the engine's catalogue as this machine has it: present values are known of `ranges` only."""
        reasons = dict(self.unsupported)
        values = {each.knob: str(each.default) for each in self.ranges}
        return [
            replace(row, supported=row.name not in reasons, reason=reasons.get(row.name), value=values.get(row.name))
            for row in catalogue()
        ]


class Running:
    """A machine that runs programs: the same seed gives the same noise whatever the settings are."""

    def __init__(self, machine: SimulatedMachine, seed: int) -> None:
        streams = np.random.SeedSequence(seed).spawn(len(machine.noises) + 1)
        self._series = [
            DisturbanceSeries(n.kind, np.random.default_rng(s))
            for n, s in zip(machine.noises, streams[1:], strict=True)
        ]
        self._chance = np.random.default_rng(streams[0])

    def draw(self, count: int) -> Floats:
        """Return the random values of `count` runs, whatever they are: a row for each noise, and one for failures."""
        return np.array([*(series.take(count) for series in self._series), self._chance.random(count)])

    def runs(
        self, states: Sequence[State], which: Ints, drawn: Floats | None = None
    ) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Return times as factors of the base time, and which runs fail, for runs in the states `which` (indices in
        order).

        `drawn`: their chance, by `draw`; the next there is where none is given.
        """
        drawn = self.draw(len(which)) if drawn is None else drawn
        sizes = np.array([state.sizes for state in states]).reshape(len(states), len(self._series))
        time = np.array([state.time for state in states])[which]
        fails = np.array([state.fails for state in states])[which]
        factors = time * np.maximum(LEAST, 1.0 + (sizes[which].T * drawn[:-1]).sum(axis=0))
        return factors, drawn[-1] < fails


def _apply(value: float, effects: Sequence[SettingsEffect], chosen: frozenset[tuple[str, str]]) -> float:
    holding = [effect for effect in effects if effect.when <= chosen]
    return value * math.prod(each.factor for each in holding) + sum(each.adds for each in holding)


def check(settings: Settings, unsupported: Mapping[str, str]) -> None:
    """Raise UsageError for a setting that does not exist here, or a value out of its domain."""
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
    """Return the machine of a file. Raises UsageError that names the file and the error in it."""
    value = read_toml(path, f"The simulated machine {str(path)!r}")
    try:
        return _machine(path.stem, value)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{str(path)!r} is not a simulated machine: {error}. See docs/explanation/methods.md."
        ) from None


def _machine(name: str, value: Mapping[str, Any]) -> SimulatedMachine:
    time, failing, boot = value.get("time", {}), value.get("failing", ()), value.get("boot", {})
    lacking = value.get("unsupported", {})
    check_keys(value, ("what", "source", "time", "noise", "failing", "unsupported", "boot"), f"The machine {name}")
    check_keys(time, ("base", "slowest", "factors", "with", "ranges", "together"), f"[time] of the machine {name}")
    check_keys(boot, ("takes", "spread"), f"[boot] of the machine {name}")
    check_keys(lacking, known(), f"[unsupported] of the machine {name}")
    for row in failing:
        check_keys(row, ("set", "share"), f"[[failing]] of the machine {name}")
    return SimulatedMachine(
        name=name,
        what=str(value["what"]),
        base_ns=duration_ns(time.get("base", "1s")),
        noises=tuple(_noise(each) for each in value["noise"]),
        slower=_effects(time),
        slowest=float(time.get("slowest", math.inf)),
        failing=tuple(SettingsEffect(_when(each["set"]), float(each.get("share", 1.0))) for each in failing),
        unsupported=tuple({**ABSENT, **{knob: str(reason) for knob, reason in lacking.items()}}.items()),
        boot_ns=duration_ns(boot["takes"]) if "takes" in boot else 0,
        boot_spread=float(boot.get("spread", 0.0)),
        ranges=tuple(_bowl(each) for each in time.get("ranges", ())),
        together=tuple((*_pair(each["knobs"]), float(each["costs"])) for each in time.get("together", ())),
    )


def _pair(knobs: Sequence[str]) -> tuple[str, str]:
    one, other = knobs
    return one, other


def _bowl(value: Mapping[str, Any]) -> Bowl:
    check_keys(value, ("knob", "default", "best", "costs"), "A row of ranges")
    bowl = Bowl(str(value["knob"]), int(value["default"]), int(value["best"]), float(value["costs"]))
    if bowl.knob not in known() or known()[bowl.knob].domain.range is None:
        raise ValueError(f"{bowl.knob} is no setting with a range")
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
        SettingsEffect(_when(each["set"]), float(each.get("factor", 1.0)), float(each.get("adds", 0.0)))
        for each in value.get("with", ())
    )
    return alone + together


def _when(values: Mapping[str, str | int | bool]) -> frozenset[tuple[str, str]]:
    wrong = set(values) - set(known())
    if wrong:
        raise ValueError(f"there is no setting {', '.join(sorted(wrong))}")
    return frozenset((knob, text(value)) for knob, value in values.items())


def _alike(knob: str, value: str) -> str:
    """Return a value, or the tuned one where both are cores: on a simulated machine all cores are alike."""
    tuned = known()[knob].tuned_value
    return tuned if tuned in CORES and value in CORES else value


def _tuned(knob: str) -> tuple[str, str]:
    """Return a knob with the value that a search tries."""
    value = known()[knob].tuned_value if knob in known() else None
    if value is None:
        raise ValueError(f"{knob} is nothing that a search tries")
    return knob, value
