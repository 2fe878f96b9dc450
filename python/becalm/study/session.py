"""The resources of a study while it is measured: store, spool and host, which `open_session` opens in that order.

After any failure, everything measured is in the store or rescued to a file, and the host has ended the processes that
it started and restored the settings that it changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from becalm import hosts
from becalm.errors import MachineError, StoreError, UnsettledError, UsageError
from becalm.hosts import (
    Ability,
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
from becalm.wording import damage, numbers
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
    """The findings on applied settings that somebody else changed, by place."""

    clamped: dict[tuple[str, str], Finding] = field(default_factory=dict)
    """The findings on settings to which the kernel gave another value, by place and requested value."""

    remarks: list[Finding] = field(default_factory=list)
    """The remarks on settings and on programs that ran alongside others."""

    unsettled: UnsettledError | None = None
    _early: list[str] = field(default_factory=list)
    """The warnings before the study began."""

    _remark_kinds: set[str] = field(default_factory=set)
    """The kinds of remarks that are stored with the study."""

    _texts: dict[int, tuple[str, str]] = field(default_factory=dict)
    """The output of runs that are not stored yet."""

    def fitted(self, study: Study) -> Study:
        """Return the study with the settings to apply, and with those already applied among its options."""
        study, applied = in_force(self.host, self.measuring, study, self._warn_early)
        added: dict[str, Any] = {"standing": applied.to_json()} if applied.values else {}
        if unreal := self.emulated():
            added["emulated"] = unreal
        return replace(study, options={**study.options, **added}) if added else study

    def _warn_early(self, sentence: str) -> None:
        """Warn the person before the study begins; the warning is stored with the study when it does."""
        self.measuring.listener.warned(sentence)
        self._early.append(sentence)

    def emulated(self) -> str:
        """Return the reason why the host's times are not those of a real processor; empty where that is expected."""
        return hosts.emulated(self.host)

    def begin(self, study: Study, pilots: Sequence[Run] = ()) -> int:
        """Store the beginning of the study and its pilot runs in one transaction; return the study's number."""
        self.study, self.facts = study, self.host.facts()
        self.remarks, self._remark_kinds = [], set()
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
        """Continue a stored study after its stored runs; return its number."""
        self.study, self.number = stored.study, stored.number
        self._spool.assign(self.number)
        for noticed in self.store.noticed(stored.number, reworded):
            if noticed.kind == "remark":
                self.remarks.append(noticed)
                self._remark_kinds.add(_kind(noticed.program, str(noticed.numbers["said"])))
            else:
                self._notice(noticed, new=False)
        if isinstance(self.host, Resumable):
            self.host.go_on(runs, stored.study.settings)
        return self.number

    @property
    def shown(self) -> int | None:
        """The study's number for the person; None when nothing is stored."""
        return None if self.measuring.store is False else self.number

    @property
    def detail(self) -> LoadDetail:
        """The detail in which the load of the machine is observed."""
        return LoadDetail.TOTALS if self.measuring.load else LoadDetail.NONE

    def take(self, event: Event) -> None:
        """Store an event of the host, and report it to the listener. Raises StoreError after rescuing its runs."""
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
            sentence, carried = self._safe(rows, self.study)
            raise StoreError(f"{error} {sentence}", unsaved=carried) from error

    def _safe(self, rows: Sequence[Run], study: Study) -> tuple[str, str]:
        """Save runs that the store did not take; return a sentence on where they are, and the text of lost ones.

        Each run is either in the spool, from where it is stored later, or rescued to a file, or in the text.
        """
        lost = self._spool.lacking(rows)
        waiting = len(rows) - len(lost)
        sentences, carried = [], ""
        if waiting:
            sentences.append(f"{numbers.counted(waiting, 'run')} will be put into it when becalm opens it again.")
        if lost:
            from becalm.study.rescue import rescue  # Only when a store fails.

            path, carried = rescue(lost, study)
            runs, verb = numbers.counted(len(lost), "run"), "is" if len(lost) == 1 else "are"
            place = f"in {path}; `becalm import` reads them." if path else "above, for a file and `becalm import`."
            sentences.append(f"{runs} that it could not take {verb} {place}")
        return " ".join(sentences), carried

    def _tell(self, noticed: Noticed) -> None:
        """Report the remarks of a block on settings and neighbours to the person, and store them."""
        for remark in noticed.remarks:
            # The same remark comes with other counts each time its settings are applied.
            known = any(change["place"] in remark for change in noticed.clamped)
            self._tell_once("", remark, keep=not known)
        for names, sentence in self._neighbours(noticed):
            self._tell_once(names, sentence, keep=True)
        for change in noticed.drift:
            if self._notice(drift := finding("setting_changed", dict(change))):
                self.measuring.listener.warned(drift.sentence)
        for change in noticed.clamped:
            # The loop over remarks above has reported it.
            self._notice(finding("setting_clamped", dict(change)))

    def _tell_once(self, program: str, sentence: str, *, keep: bool) -> None:
        """Report a sentence unless one that only differs in numbers was reported; store it once for each study."""
        kind = _kind(program, sentence)
        if kind not in self.measuring.remark_kinds:
            self.measuring.remark_kinds.add(kind)
            self.measuring.listener.warned(sentence)
        if keep and kind not in self._remark_kinds:
            self._remark_kinds.add(kind)
            self._remark(program, sentence)

    def _remark(self, program: str, sentence: str) -> None:
        """Store a sentence that was reported to the person as a finding of the study."""
        assert self.number is not None
        remark = finding("remark", {"said": sentence}, program)
        self.remarks.append(remark)
        self.store.notice(self.number, remark)

    def _notice(self, change: Finding, *, new: bool = True) -> bool:
        """Add a finding on a place, store it if it is `new`, and return whether it is the first for its place."""
        place = str(change.numbers["place"])
        if change.kind == "setting_changed":
            fresh = self.drifted.setdefault(place, change) is change
        else:
            fresh = self.clamped.setdefault((place, str(change.numbers["wanted"])), change) is change
        if fresh and new:
            assert self.number is not None
            self.store.notice(self.number, change)
        return fresh

    def _neighbours(self, noticed: Noticed) -> Iterator[tuple[str, str]]:
        """Yield the failures of neighbours: the names of neighbour and program, and a sentence."""
        if not noticed.neighbours:
            return
        assert self.study is not None
        from becalm.wording.neighbours import trouble  # Most programs have none.

        for neighbour in noticed.neighbours:
            workload = self.study.workloads[neighbour["workload"]]
            for near, did in zip(workload.alongside, neighbour["did"], strict=True):
                names = f"{near.workload.name} next to {workload.name}"
                yield from ((names, sentence) for sentence in trouble(near.workload.name, workload.name, did))

    @contextmanager
    def counting_delays(self, study: Study) -> Iterator[Study]:
        """Switch on the kernel's accounting of waits for disk and memory, where becalm may do so.

        It is a setting of the study like any other: in the journal, restored at the end, and named in the verdict. It
        is left out if other settings are applied or being changed, because nobody requested it.
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
        """The findings on settings that somebody else or the kernel changed, and the remarks."""
        return (*self.drifted.values(), *self.clamped.values(), *self.remarks)

    def restore_settings(self) -> None:
        """Restore all settings. An error is raised later, after the study is concluded and stored."""
        try:
            self.host.settle()
        except UnsettledError as error:
            self.unsettled = error

    def settle(self) -> None:
        """Restore the settings, and end the host."""
        self.restore_settings()
        self.host.close()


def _kind(program: str, sentence: str) -> str:
    """Return the kind of a remark: the sentence without its numbers, which differ from block to block."""
    return f"{program} {re.sub(r'[0-9]+', '', sentence)}"


@contextmanager
def open_session(measuring: SessionOptions, title: str) -> Iterator[StudySession]:
    """Open store, spool and host. Raises BecalmError."""
    with Store.open(":memory:" if measuring.store is False else measuring.place) as store:

        def tell(recovered: Iterable[Recovered]) -> None:
            for recovery in recovered:
                measuring.listener.warned(damage.recovered(recovery.study_id, recovery.runs, recovery.aside))

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
                waits_by=measuring.by,
            )
            with hosts.open(measuring.host, access) as host:
                if measuring.by is not None and not (can := host.abilities()[Ability.READ_LOAD]):
                    raise UsageError(f"--by counts whom programs wait for, which {host.name} cannot. {can.sentence}")
                opened = StudySession(store, host, measuring, spool)
                yield opened
                if opened.unsettled is not None:
                    again = "" if opened.shown is None else f"\nWhat was measured is stored: becalm show {opened.shown}"
                    raise UnsettledError(f"{opened.unsettled}{again}")
