"""The evidence in observations of one program on one machine: delays, waterfalls, others' load, and a cause.

Public: Evidence, evidence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from becalm.load.attribution import AttributedRuns, Attribution, attribute
from becalm.load.background_load import Observed, others, unloaded
from becalm.load.delay import Delay
from becalm.load.time_accounting import Times
from becalm.load.waterfall import NAMES, REFERENCE, Waterfall, waterfall


class Evidence(msgspec.Struct, frozen=True):
    """Observations with their evidence, in lists of the same order. `reference`: None where no run was unloaded; own
    CPU time is the reference then."""

    program: str
    machine: str
    observations: tuple[Observed, ...]
    reference: Times | None
    delays: tuple[Delay, ...]
    waterfalls: tuple[Waterfall, ...]
    measures: Mapping[str, Sequence[float | None]]
    attribution: Attribution

    @property
    def runs(self) -> int:
        """The number of runs in all observations."""
        return sum(observation.times.runs for observation in self.observations)

    def bar_ns(self, name: str) -> float | None:
        """Return the time of all runs in one bar, ns; None where it is unknown for any observation."""
        values = [fall[name].ns for fall in self.waterfalls]
        known = [
            v * observation.times.runs
            for v, observation in zip(values, self.observations, strict=True)
            if v is not None
        ]
        return math.fsum(known) if len(known) == len(values) else None


def evidence(
    observations: Sequence[Observed],
    *,
    designed: bool = False,
    injected: Iterable[str] = (),
    reference: Times | None = None,
    seed: int = 0,
) -> Evidence | None:
    """Return the evidence of the observations of one program on one machine; None when no delay can be computed.

    `reference`: an unloaded run measured elsewhere; by default one is searched among the observations. `designed`:
    whether loads were drawn at random; `injected`: the causes of these loads, if all observations have such loads.
    """
    table = others(observations)
    base = unloaded(observations, table) if reference is None else reference
    usable = []
    for index, observation in enumerate(observations):
        late, fall = observation.delay(base), waterfall(observation.times, base, observation.around.cpus)
        if late is not None and fall is not None:
            usable.append((index, observation, late, fall))
    if not usable:
        return None
    measures = {name: [values[index] for index, *_ in usable] for name, values in table.items()}
    delays, falls = tuple(late for _, _, late, _ in usable), tuple(fall for *_, fall in usable)
    carried = {
        name: np.array(
            [np.nan if f[name].ns is None else (f[name].ns or 0.0) / (f[REFERENCE].ns or 1.0) for f in falls]
        )
        for name in NAMES[1:]
    }
    refused = sum(bool(fall.refused) for fall in falls) / len(falls)
    sampled = _sampled(measures["queue"])
    rows = AttributedRuns(
        np.array([delays[index].factor for index in sampled]),
        {name: [values[index] for index in sampled] for name, values in measures.items()},
        {name: values[sampled] for name, values in carried.items()},
        designed,
        refused,
        frozenset(injected),
    )
    first = usable[0][1]
    return Evidence(
        program=first.program,
        machine=first.machine,
        observations=tuple(observation for _, observation, *_ in usable),
        reference=base,
        delays=delays,
        waterfalls=falls,
        measures=measures,
        attribution=attribute(rows, seed=seed),
    )


UNSAMPLED = 0.25
"""The share of observations without a sample of the run queue that may be left out of the attribution."""


def _sampled(queue: Sequence[float | None]) -> list[int]:
    """Return the observations on which the attribution rests: those with a run queue, or all if too many lack one.

    The queue is sampled, so a short observation may lack it. Keeping such observations would cost the measure on which
    the judgement of the CPU mostly rests.
    """
    known = [index for index, value in enumerate(queue) if value is not None]
    return known if len(known) >= (1 - UNSAMPLED) * len(queue) else list(range(len(queue)))
