"""Stored runs that programs are compared with: `becalm compare --baseline`.

Programs are paired by name and parameters, never by position. Both sides must measure the same quantity, too: the time
of one iteration is not compared with that of a whole run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from becalm.errors import UsageError
from becalm.nouns.metric import Metric
from becalm.nouns.run import Run
from becalm.nouns.workload import Workload
from becalm.report.document import by_program
from becalm.report.formats.benchmarks import NS, unusable
from becalm.stats.arrays import Floats
from becalm.study.stored import Warned, stored_or_file
from becalm.wording.program_names import names_of


class BaselineProgram(msgspec.Struct, frozen=True):
    """A program of a baseline with its displayed name and its wall times in ns or values of a metric, all above 0."""

    workload: Workload
    called: str
    values: Floats


class Baseline(msgspec.Struct, frozen=True):
    """Stored runs to compare with."""

    title: str
    programs: tuple[BaselineProgram, ...]

    def series_for(self, workload: Workload, *, alone: bool = False) -> tuple[str, Floats]:
        """Return a title for the same program in the baseline, and its values.

        `alone`: whether it is the only measured program; the only program of a baseline then matches under any name.
        Raises UsageError where no program matches, or several do.
        """
        named = [program for program in self.programs if program.workload.name == workload.name]
        same = [program for program in named if program.workload.parameters == workload.parameters]
        matches = same or [program for program in named if _parameters_agree(program.workload, workload)]
        if not named and alone and len(self.programs) == 1:
            matches = list(self.programs)
        if len(matches) == 1:
            return f"{matches[0].called} in {self.title}", matches[0].values
        names = ", ".join(repr(program.called) for program in self.programs)
        parameters = ", ".join(f"{name}={value}" for name, value in workload.parameters)
        meant = f"{workload.name!r}" + (f" with {parameters}" if parameters else "")
        if matches:
            raise UsageError(f"The baseline {self.title} has several programs {meant}; it has {names}.")
        raise UsageError(f"The baseline {self.title} has no program {meant}; it has {names}. Use --name to match.")


def _parameters_agree(workload: Workload, other: Workload) -> bool:
    """Return whether no parameter of two programs of one name differs."""
    mine, theirs = dict(workload.parameters), dict(other.parameters)
    return all(mine[name] == theirs[name] for name in mine.keys() & theirs.keys())


def read_baseline(
    reference: str | int, store: str | None = None, *, warned: Warned | None = None, metric: Metric | None = None
) -> Baseline:
    """Read the runs of a stored study (number or "last") or of an exported file. Raises UsageError, StoreError.

    `metric`: the metric to read, matched by its name and unit; None for wall times.
    """
    document = stored_or_file(reference, store, warned=warned)
    title = Path(str(reference)).name if document.number is None else f"study {document.number}"
    programs = []
    reasons: dict[str, None] = {}
    workloads = document.study.workloads
    for workload, (_, runs), called in zip(workloads, by_program(document), names_of(workloads), strict=True):
        values = _values(workload, runs, metric)
        if isinstance(values, str):
            reasons[values] = None
        else:
            programs.append(BaselineProgram(workload, called, values))
    if not programs:
        why = "; ".join(reasons) or "it holds no good run"
        raise UsageError(f"The baseline {title} holds nothing to compare with: {why}.")
    return Baseline(title, tuple(programs))


def _values(workload: Workload, runs: Sequence[Run], metric: Metric | None) -> Floats | str:
    """Return the values of a metric of a program's runs, or their wall times; where there are none, the reason."""
    if metric is None:
        values = [float(run.wall_ns) for run in runs if run.wall_ns is not None]
        if runs and not values:
            return "its times are of one iteration, and what is measured now is the time of a whole run"
    else:
        places = [
            (place, NS.get(candidate.unit, 1.0) / NS.get(metric.unit, 1.0))
            for place, candidate in enumerate(workload.metrics)
            if candidate.name == metric.name
            and (candidate.unit == metric.unit or {candidate.unit, metric.unit} <= NS.keys())
        ]
        if not places:
            return f"it has no run with the metric {metric.name!r}" + (f" in {metric.unit}" if metric.unit else "")
        place, scale = places[0]
        values = [run.metrics[place] * scale for run in runs if run.metrics is not None and len(run.metrics) > place]
    good = [value for value in values if unusable(value) is None]
    return np.array(good, dtype=np.float64) if good else "it holds no good run"
