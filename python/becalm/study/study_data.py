"""The data of a study from which verdicts are made, in a store or in a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec
import numpy as np

from becalm.analysis.summaries import averages
from becalm.load.cpu_competition import quota_cpus
from becalm.load.own_loads import OwnLoads
from becalm.load.record import Series
from becalm.load.reported_waits import reported_waits
from becalm.nouns.run import Averages, Outcome, Run
from becalm.plans.history import Printed
from becalm.report.document import Document
from becalm.store import Store

AVERAGED = ("user_ns", "system_ns", "wait_ns", "max_rss_bytes")
"""The columns whose means a summary has."""


class StudyData(Protocol):
    """The data that a verdict needs besides wall times."""

    def averages(self, program: int) -> Averages:
        """Return the means of one program's counted good runs."""

    def columns(self, program: int, names: Sequence[str]) -> dict[str, Any]:
        """Return columns of one program's counted good runs as float arrays in order of runs; NaN where unknown."""

    def metrics(self, program: int) -> Printed:
        """Return the metrics of one program's counted good runs."""

    def own_loads(self) -> OwnLoads:
        """Return the other load of the machine around runs that have a load record of their own."""

    def series(self) -> Sequence[Series]:
        """Return the series recorded during the runs."""

    def waits(self) -> Iterator[tuple[str, msgspec.Struct]]:
        """Yield the kind of finding and its numbers for what the runs waited for (`becalm.load.reported_waits`)."""

    def texts(self) -> Mapping[int, tuple[str, str]]:
        """Return standard error and standard output of some runs, by `seq`."""


class StoredData(msgspec.Struct, frozen=True):
    """The data of a study in the store, never all in memory at once."""

    store: Store
    study: int

    def averages(self, program: int) -> Averages:
        """Return the averages as StudyData describes, computed by the database."""
        return self.store.averages(self.study, program)

    def columns(self, program: int, names: Sequence[str]) -> dict[str, Any]:
        """Return the columns as StudyData describes."""
        return self.store.columns(self.study, names, program)

    def metrics(self, program: int) -> Printed:
        """Return the metrics as StudyData describes."""
        return self.store.metrics(self.study, program)

    def own_loads(self) -> OwnLoads:
        """Return the loads as StudyData describes."""
        return self.store.own_loads(self.study)

    def series(self) -> Sequence[Series]:
        """Return the series as StudyData describes."""
        return self.store.all_series(self.study)

    def waits(self) -> Iterator[tuple[str, msgspec.Struct]]:
        """Yield the waits as StudyData describes."""
        store, study = self.store, self.study
        quota = quota_cpus(store.study(study).facts)
        return reported_waits(store.loads(study), lambda: store.runs(study), store.others(study), quota)

    def texts(self) -> Mapping[int, tuple[str, str]]:
        """Return the texts as StudyData describes."""
        return self.store.texts(self.study)


class DocumentData:
    """The data of a document: of a study that is shown again, or of a file."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._by_program: list[list[Run]] = [[] for _ in document.study.workloads]
        for run in document.runs:
            if run.outcome == Outcome.OK and not run.warmup:
                self._by_program[run.workload].append(run)

    def runs(self, program: int) -> Sequence[Run]:
        """Return the counted good runs of one program, in order."""
        return self._by_program[program]

    def averages(self, program: int) -> Averages:
        """Return the averages as StudyData describes."""
        return averages(self.columns(program, AVERAGED))

    def columns(self, program: int, names: Sequence[str]) -> dict[str, Any]:
        """Return the columns as StudyData describes."""
        runs = self._by_program[program]
        return {name: np.array([getattr(run, name) for run in runs], dtype=np.float64) for name in names}

    def metrics(self, program: int) -> Printed:
        """Return the metrics as StudyData describes."""
        pairs = [(run.seq, run.metrics) for run in self._by_program[program] if run.metrics is not None]
        return np.array([seq for seq, _ in pairs], np.int64), np.array([values for _, values in pairs], np.float64)

    def own_loads(self) -> OwnLoads:
        """Return the loads as StudyData describes."""
        return OwnLoads.of(self._document.loads)

    def series(self) -> Sequence[Series]:
        """Return the series as StudyData describes."""
        return self._document.series

    def waits(self) -> Iterator[tuple[str, msgspec.Struct]]:
        """Yield the waits as StudyData describes."""
        document = self._document
        return reported_waits(document.loads, lambda: document.runs, document.others, quota_cpus(document.facts))

    def texts(self) -> Mapping[int, tuple[str, str]]:
        """Return the texts as StudyData describes."""
        return self._document.texts
