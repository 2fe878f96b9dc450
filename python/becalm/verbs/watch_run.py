"""`becalm watch -- COMMAND`: one run of a program, and what the machine did meanwhile.

The run is measured and stored like any other, as a study of the kind "watch", with its load and the load over time;
what is said of it is computed of what was stored, so that `show` says the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from becalm.errors import MachineError, UsageError
from becalm.hosts import Event, LoadDetail, Loads
from becalm.load.record import Load, Series
from becalm.load.run_report import Watched
from becalm.load.time_accounting import Times, middle
from becalm.load.time_accounting import of as times_of
from becalm.nouns.run import Block, Outcome, Run, Step
from becalm.nouns.stopping_rule import StoppingRule
from becalm.nouns.study import Study
from becalm.nouns.workload import Output, Workload
from becalm.report.document import Document
from becalm.report.watch.stored import UNLOADED, conclude
from becalm.study.measure import measure
from becalm.study.options import MeasureOptions
from becalm.study.options import options as sort_options
from becalm.study.session import StudySession, open_session
from becalm.units import duration_ns
from becalm.verbs import records


def watch(command: str | Iterable[str] | Workload, *, reference: str | float | None = None, **options: Any) -> Watched:
    """Run a program once and say what delayed it.

    Arguments:
        command: as for `becalm.run`.
        reference: the program on an idle machine: seconds or text with a unit ("1.5s"), the number of a study or
            "last", or a file that `becalm export` wrote. Without one the run's own CPU time is the reference.
        options: those of `Workload` and, as far as they make sense for one run, of `MeasureOptions`. Output is
        inherited.

    A program that fails is watched all the same: `Watched.run` tells its outcome. Raises UsageError, WorkloadError (it
    cannot be run), MachineError, StoreError.
    """
    measuring, workload = sort_options({"output": Output.INHERIT, **options})
    made = Workload.of(command, **workload)
    unloaded = None if reference is None else _unloaded(reference, made, measuring)
    goal = StoppingRule(budget_ns=None, runs=1, precision=None, warmup=0)
    study = measuring.study("watch", [made], goal, 0, None)
    study = replace(study, options={**study.options, UNLOADED: unloaded})
    with open_session(measuring, "becalm watch") as opened:
        opened.host.define(study.workloads, study.settings, dangerous=measuring.dangerous)
        number = opened.begin(study)
        one = _One(opened, study)
        one.measure()
        opened.settle()
        if one.run is None:
            raise MachineError("Interrupted before the program was started: there is nothing to say of it.")
        found = conclude(one.document(number, opened.host.facts()), opened.shown)
        opened.store.conclude(number, found.to_json())
    return found


@dataclass(slots=True)
class _One:
    """The one run while it is measured: what the measuring loop remembers, and what was recorded beside it."""

    opened: StudySession
    study: Study
    run: Run | None = None
    loads: list[Load] = field(default_factory=list)
    series: list[Series] = field(default_factory=list)
    next_seq: int = 0
    interrupted: bool = False
    failure: Run | None = None

    def measure(self) -> None:
        """Run it. An interrupted run is a run; what was recorded is in the store when this returns or raises."""
        detail = LoadDetail.SERIES if self.opened.measuring.load else LoadDetail.NONE
        measure(self.opened.host, self._plan, self, self._take, detail=detail)

    def extend(self, rows: Sequence[Run]) -> None:
        """Take the finished run."""
        for row in rows:
            self.run, self.next_seq = row, row.seq + 1

    def document(self, number: int, facts: Mapping[str, Any]) -> Document:
        """The study as the store would give it."""
        runs = [] if self.run is None else [self.run]
        return Document(
            self.study, runs, facts=facts, number=number, loads=tuple(self.loads), series=tuple(self.series)
        )

    def _plan(self, state: _One) -> Block | None:
        return None if state.next_seq else Block((Step(0, 0, 0, 0),))

    def _take(self, event: Event) -> None:
        self.opened.take(event)
        if isinstance(event, Loads):
            self.loads += event.loads
            self.series += event.series


def _unloaded(reference: str | float, workload: Workload, measuring: MeasureOptions) -> dict[str, Any]:
    """The reference in the form that is stored. Raises UsageError."""
    text = str(reference).strip()
    if not isinstance(reference, str) or not (text.isdecimal() or text == "last" or Path(text).is_file()):
        try:
            return {"wall_ns": duration_ns(reference)}
        except UsageError:
            raise UsageError(
                f"--reference {text!r} is neither a time with its unit (1.5s), nor a study (its number, or last), nor "
                "a file that becalm exported."
            ) from None
    document = records.document(text, measuring.place, warned=measuring.listener.warned)
    found = middle(_times(document, _program(document, workload.name, text)))
    if found is None:
        raise UsageError(f"The reference {text} has no run that ended well.")
    return found.to_json()


def _program(document: Document, name: str, text: str) -> int:
    names = [each.name for each in document.study.workloads]
    if name in names:
        return names.index(name)
    if len(names) == 1:
        return 0
    raise UsageError(f"The reference {text} has no program {name!r}; it has {', '.join(map(repr, names))}.")


def _times(document: Document, program: int) -> list[Times]:
    """Times of the good runs of a program, with their loads where these cover none but them."""
    good = [r for r in document.runs if r.outcome == Outcome.OK and not r.warmup and r.workload == program]
    found: list[Times] = []
    taken: set[int] = set()
    for load in document.loads:
        mine = [run for run in good if load.first <= run.seq <= load.last]
        if mine and len(mine) == load.last - load.first + 1:
            found.append(times_of(mine, load))
            taken |= {run.seq for run in mine}
    return found + [times_of([run]) for run in good if run.seq not in taken]
