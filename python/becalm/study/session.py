"""Everything that a study needs while it is measured: store, spool, host, and a sink, opened and closed in that order.

`studying` is what `run`, `compare` and `tune` share. Whatever fails, what was measured is in the store (or rescued
beside it) and the host has ended what it started and put back what it changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from becalm import hosts
from becalm.errors import StoreError, UnsettledError
from becalm.hosts import Access, Host, Noticed
from becalm.load.record import Load, LoadSink, Series
from becalm.nouns.run import Run
from becalm.nouns.study import StoredStudy, Study
from becalm.nouns.verdict import Finding
from becalm.store import Spool, Store, recover
from becalm.study.measure import Sink
from becalm.study.options import MeasureOptions
from becalm.study.rescue import rescue
from becalm.wording import measurement
from becalm.wording.findings import finding


@dataclass(slots=True)
class StudySession:
    """One study's resources. `number` is None until `begin` or `resume`."""

    store: Store
    host: Host
    measuring: MeasureOptions
    _spool: Spool
    number: int | None = None
    drifted: dict[str, Finding] = field(default_factory=dict)
    """Places that somebody else changed while they were held, and what is to be said of them."""

    unsettled: UnsettledError | None = None
    _said: set[str] = field(default_factory=set)

    def begin(self, study: Study) -> int:
        """Record that the study begins."""
        self.number = self.store.begin(study, self.host.facts())
        self._spool.assign(self.number)
        return self.number

    def resume(self, stored: StoredStudy) -> int:
        """Go on with a stored study."""
        self.number = stored.number
        self._spool.assign(self.number)
        return self.number

    @property
    def shown(self) -> int | None:
        """The study's number for the person; None when nothing is kept."""
        return None if self.measuring.store is False else self.number

    def sink(self, study: Study) -> Sink:
        """Takes finished runs into the store, or rescues them."""

        def keep(rows: Sequence[Run], texts: dict[int, tuple[str, str]]) -> None:
            assert self.number is not None
            try:
                self.store.append(self.number, rows, texts)
            except StoreError as error:
                raise StoreError(f"{error} {self._safe(rows, study)}") from error

        return keep

    def _safe(self, rows: Sequence[Run], study: Study) -> str:
        """Where runs are that the store could not take: in the spool, or rescued; never in both."""
        lost = self._spool.lacking(rows)
        waiting = len(rows) - len(lost)
        said = []
        if waiting:
            said.append(f"{measurement.counted(waiting, 'run')} will be put into it when becalm opens it again.")
        if lost:
            path, verb = rescue(lost, study), "is" if len(lost) == 1 else "are"
            runs = measurement.counted(len(lost), "run")
            said.append(f"{runs} that it could not take {verb} in {path}; `becalm import` reads them.")
        return " ".join(said)

    def loads(self) -> LoadSink | None:
        """Takes what else the machine did meanwhile into the store; None when that is not wanted."""

        def keep(loads: Sequence[Load], series: Sequence[Series]) -> None:
            assert self.number is not None
            self.store.append_loads(self.number, loads, series)

        return keep if self.measuring.load else None

    def noticed(self, found: Noticed) -> None:
        """Tell the person what a block showed of its settings."""
        for remark in found.remarks:
            # The same remark comes with other counts each time its settings are put on.
            kind = re.sub(r"\d+", "", remark)
            if kind not in self._said:
                self._said.add(kind)
                self.measuring.listener.warned(remark)
        for each in found.drift:
            if each["place"] not in self.drifted:
                self.drifted[each["place"]] = finding("setting_changed", dict(each))
                self.measuring.listener.warned(self.drifted[each["place"]].sentence)

    def settle(self) -> None:
        """Put everything back and end the host. What is not as before is raised when all is concluded and stored."""
        try:
            self.host.settle()
        except UnsettledError as error:
            self.unsettled = error
        self.host.close()


@contextmanager
def open_session(measuring: MeasureOptions, title: str) -> Iterator[StudySession]:
    """Open store, spool and host. Raises BecalmError."""
    with Store.open(":memory:" if measuring.store is False else measuring.place) as store:
        for found in recover(store):
            measuring.listener.warned(measurement.recovered(found.study_id, found.runs, found.aside))
        with Spool.create(store) as spool:
            access = Access(
                measuring.user,
                measuring.sudo,
                spool.fileno(),
                measuring.root,
                title,
                reboot=measuring.allow_reboot,
                say=measuring.listener.warned,
            )
            with hosts.open(measuring.host, access) as host:
                opened = StudySession(store, host, measuring, spool)
                yield opened
                if opened.unsettled is not None:
                    again = "" if opened.shown is None else f"\nWhat was measured is kept: becalm show {opened.shown}"
                    raise UnsettledError(f"{opened.unsettled}{again}")
