"""Everything that a study needs while it is measured: store, spool and host, opened and closed in that order.

`studying` is what `run`, `compare` and `tune` share. Whatever fails, what was measured is in the store (or rescued
beside it) and the host has ended what it started and put back what it changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from becalm import hosts
from becalm.errors import MachineError, StoreError, UnsettledError
from becalm.hosts import (
    Access,
    Event,
    Host,
    Left,
    LoadDetail,
    Loads,
    Noticed,
    Resumable,
    Runs,
    RunText,
    Written,
)
from becalm.nouns.finding import Finding
from becalm.nouns.run import Run
from becalm.nouns.settings import Settings
from becalm.nouns.study import StoredStudy, Study
from becalm.store import Elsewhere, Recovered, Spool, Store, elsewhere, recover
from becalm.study.session_options import SessionOptions
from becalm.study.settings_in_force import DELAYS, in_force, lacks_delays
from becalm.wording import compare
from becalm.wording.findings import finding, reworded


@dataclass(slots=True)
class StudySession:
    """The resources of a study. `number` is None until `begin` or `resume`."""

    store: Store
    host: Host
    measuring: SessionOptions
    _spool: Spool
    number: int | None = None
    study: Study | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    """The facts of the host when the study began."""

    drifted: dict[str, Finding] = field(default_factory=dict)
    """Places that somebody else changed while they were held, and what is to be said of them."""

    clamped: dict[tuple[str, str], Finding] = field(default_factory=dict)
    """Places that the kernel gave another value than was asked for, by place and that value."""

    remarks: list[Finding] = field(default_factory=list)
    """The remarks on settings and on programs that ran alongside others."""

    unsettled: UnsettledError | None = None
    _early: list[str] = field(default_factory=list)
    """The warnings before the study began."""

    _said: set[str] = field(default_factory=set)
    """Kinds of remarks that are kept with the study."""

    _texts: dict[int, tuple[str, str]] = field(default_factory=dict)
    """The output of runs that are not stored yet."""

    def fitted(self, study: Study) -> Study:
        """Return the study with the settings to apply for its programs, and those already applied, among its
        options."""
        study, kept = in_force(self.host, self.measuring, study, self._foretold)
        found: dict[str, Any] = {"kept": kept.to_json()} if kept.values else {}
        if unreal := self.emulated():
            found["emulated"] = unreal
        return replace(study, options={**study.options, **found}) if found else study

    def _foretold(self, sentence: str) -> None:
        """Tell the person what concerns a study that has not begun: it is kept with it when it does."""
        self.measuring.listener.warned(sentence)
        self._early.append(sentence)

    def emulated(self) -> str:
        """Return the reason why the host's times are not those of a real processor, where that may be unexpected."""
        return hosts.emulated(self.host)

    def begin(self, study: Study, pilots: Sequence[Run] = ()) -> int:
        """Record that the study begins, with runs that there are already: both or, when it is ended here, neither."""
        self.study, self.facts = study, self.host.facts()
        self.remarks, self._said = [], set()
        with self.store.together():
            self.number = self.store.begin(study, self.facts)
            if pilots:
                self.store.append(self.number, pilots)
            for sentence in self._early:
                self._remark("", sentence)
        self._spool.assign(self.number)
        if pilots:
            self.measuring.listener.running(pilots[-1].seq + 1)
        return self.number

    def resume(self, stored: StoredStudy, runs: Sequence[Run]) -> int:
        """Go on with a stored study after these runs of it."""
        self.study, self.number = stored.study, stored.number
        self._spool.assign(self.number)
        for known in self.store.noticed(stored.number, reworded):
            if known.kind == "remark":
                self.remarks.append(known)
                self._said.add(_kind(known.program, str(known.numbers["said"])))
            else:
                self._notice(known, new=False)
        if isinstance(self.host, Resumable):
            self.host.go_on(runs, stored.study.settings)
        return self.number

    @property
    def shown(self) -> int | None:
        """The study's number for the person; None when nothing is kept."""
        return None if self.measuring.store is False else self.number

    @property
    def detail(self) -> LoadDetail:
        """The detail in which the load of the machine is observed."""
        return LoadDetail.TOTALS if self.measuring.load else LoadDetail.NONE

    def take(self, event: Event) -> None:
        """Keep what a host tells, and tell the person what concerns them. Raises StoreError; runs are rescued then."""
        assert self.number is not None
        match event:
            case RunText(seq, stderr, stdout):
                self._texts[seq] = (stderr, stdout)
            case Runs(rows):
                self._keep(rows)
                if rows:
                    self.measuring.listener.running(rows[-1].seq + 1)
            case Loads(loads, series, others):
                self.store.append_loads(self.number, loads, series, others)
            case Written(stream, text):
                self.measuring.listener.wrote(stream, text)
            case Noticed():
                if self._texts:
                    self._keep(())
                self._tell(event)

    def _keep(self, rows: Sequence[Run]) -> None:
        assert self.number is not None
        assert self.study is not None
        texts, self._texts = self._texts, {}
        try:
            self.store.append(self.number, rows, texts)
        except StoreError as error:
            said, carried = self._safe(rows, self.study)
            raise StoreError(f"{error} {said}", unsaved=carried) from error

    def _safe(self, rows: Sequence[Run], study: Study) -> tuple[str, str]:
        """Return where runs are that the store did not take: in the spool, or rescued, never both; and those in
        neither."""
        lost = self._spool.lacking(rows)
        waiting = len(rows) - len(lost)
        said, carried = [], ""
        if waiting:
            said.append(f"{compare.counted(waiting, 'run')} will be put into it when becalm opens it again.")
        if lost:
            from becalm.study.rescue import rescue  # Only when a store fails.

            path, carried = rescue(lost, study)
            runs, verb = compare.counted(len(lost), "run"), "is" if len(lost) == 1 else "are"
            place = f"in {path}; `becalm import` reads them." if path else "above, for a file and `becalm import`."
            said.append(f"{runs} that it could not take {verb} {place}")
        return " ".join(said), carried

    def _tell(self, found: Noticed) -> None:
        """Tell the person what a block showed of its settings."""
        for remark in found.remarks:
            # The same remark comes with other counts each time its settings are put on.
            known = any(each["place"] in remark for each in found.clamped)
            self._tell_once("", remark, kept=not known)
        for whose, sentence in self._neighbours(found):
            self._tell_once(whose, sentence, kept=True)
        for each in found.drift:
            if self._notice(drift := finding("setting_changed", dict(each))):
                self.measuring.listener.warned(drift.sentence)
        for each in found.clamped:
            # The remark on it was told above.
            self._notice(finding("setting_clamped", dict(each)))

    def _tell_once(self, program: str, said: str, *, kept: bool) -> None:
        """Tell a sentence unless one that differs by its counts was told, and keep it once with each study."""
        kind = _kind(program, said)
        if kind not in self.measuring.told:
            self.measuring.told.add(kind)
            self.measuring.listener.warned(said)
        if kept and kind not in self._said:
            self._said.add(kind)
            self._remark(program, said)

    def _remark(self, program: str, said: str) -> None:
        """Keep with the study what the person was told of it while it was measured."""
        assert self.number is not None
        found = finding("remark", {"said": said}, program)
        self.remarks.append(found)
        self.store.notice(self.number, found)

    def _notice(self, found: Finding, *, new: bool = True) -> bool:
        """Take up what a place showed, once, and store it where it is new. Whether it was not known before."""
        place = str(found.numbers["place"])
        if found.kind == "setting_changed":
            fresh = self.drifted.setdefault(place, found) is found
        else:
            fresh = self.clamped.setdefault((place, str(found.numbers["wanted"])), found) is found
        if fresh and new:
            assert self.number is not None
            self.store.notice(self.number, found)
        return fresh

    def _neighbours(self, found: Noticed) -> Iterator[tuple[str, str]]:
        """Yield the failures of programs that ran alongside others: with which, and a sentence."""
        if not found.neighbours:
            return
        assert self.study is not None
        from becalm.wording.neighbours import trouble  # Most programs have none.

        for neighbour in found.neighbours:
            workload = self.study.workloads[neighbour["workload"]]
            for near, did in zip(workload.beside, neighbour["did"], strict=True):
                whose = f"{near.workload.name} beside {workload.name}"
                yield from ((whose, said) for said in trouble(near.workload.name, workload.name, did))

    @contextmanager
    def counting_delays(self, study: Study) -> Iterator[Study]:
        """Have the kernel count what the programs of a study wait for disk and memory, where becalm may switch that.

        It is a setting of the study like any other: held in the journal, put back at the end, and named by what it
        says. Nobody asked for it, so it gives way to settings that are on and to a becalm that is changing some.
        """
        with ExitStack() as held:
            if self.measuring.load and lacks_delays(self.host):
                with suppress(MachineError):
                    held.enter_context(self.host.hold(Settings.of({DELAYS: "on"})))
                    settings = tuple(Settings.of({DELAYS: "on", **setting.to_json()}) for setting in study.settings)
                    study = replace(study, settings=settings)
            try:
                yield study
            finally:
                try:
                    held.close()
                except UnsettledError as error:
                    self.unsettled = error

    @property
    def noticed(self) -> tuple[Finding, ...]:
        """The findings on places that were set: values of others, values that the kernel changed; and remarks."""
        return (*self.drifted.values(), *self.clamped.values(), *self.remarks)

    def put_back(self) -> None:
        """Put everything back. What is not as before is raised when all is concluded and stored."""
        try:
            self.host.settle()
        except UnsettledError as error:
            self.unsettled = error

    def settle(self) -> None:
        """Restore the settings, and end the host."""
        self.put_back()
        self.host.close()


def _kind(program: str, said: str) -> str:
    """Return a sentence on a program without its counts, which differ from block to block."""
    return f"{program} {re.sub(r'[0-9]+', '', said)}"


@contextmanager
def open_session(measuring: SessionOptions, title: str) -> Iterator[StudySession]:
    """Open store, spool and host. Raises BecalmError."""
    with Store.open(":memory:" if measuring.store is False else measuring.place) as store:

        def tell(recovered: Iterable[Recovered]) -> None:
            for found in recovered:
                measuring.listener.warned(compare.recovered(found.study_id, found.runs, found.aside))

        def left(study: Elsewhere) -> Left:
            return Left(study.place, lambda lines: tell(study.take(lines)))

        tell(recover(store))
        with Spool.create(store) as spool:
            access = Access(
                measuring.user,
                measuring.sudo,
                spool.fileno(),
                measuring.root,
                title,
                reboot=measuring.allow_reboot,
                say=measuring.listener.warned,
                left=[left(study) for study in elsewhere(store)],
                observed=measuring.load,
            )
            with hosts.open(measuring.host, access) as host:
                opened = StudySession(store, host, measuring, spool)
                yield opened
                if opened.unsettled is not None:
                    again = "" if opened.shown is None else f"\nWhat was measured is kept: becalm show {opened.shown}"
                    raise UnsettledError(f"{opened.unsettled}{again}")
