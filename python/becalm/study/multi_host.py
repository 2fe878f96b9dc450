"""`run` and `compare` on several hosts: each host a study of its own, then what they say together.

A study has one host: its facts, its spool, the order of its runs and its looks belong to one machine. So several hosts
are several studies, and what they have in common is the option `group`. Each is kept, shown, exported and resumed by
what is there for any study, and a lost host costs its own study only.

`on_hosts` measures all of them: hosts on different machines at the same time, a thread each; hosts on one machine one
after the other; this machine before all others, because receiving their rows would disturb what is measured here.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from becalm.analysis.meta_analysis import per_host, pool
from becalm.errors import BecalmError, Interrupted, MachineError, UsageError
from becalm.nouns.multi_host import HostResult, MultiHostVerdict
from becalm.nouns.progress import ProgressListener
from becalm.nouns.study import StoredStudy
from becalm.nouns.survey import Machine
from becalm.nouns.tune_verdict import TuneVerdict
from becalm.nouns.verdict import Finding, Stopped, Verdict
from becalm.nouns.workload import Workload
from becalm.report.program_output import PassOn
from becalm.store import Store
from becalm.study import interrupts
from becalm.study.multi_host_progress import MergedProgress
from becalm.study.review import review
from becalm.study.same_machine import HERE, lanes
from becalm.verbs.compare import compare
from becalm.verbs.records import show
from becalm.verbs.run import run
from becalm.wording.findings import finding

MOST_AT_ONCE = 200
"""Lanes at the same time: each needs some five open files (store, spool, pipes), and 1024 is a usual limit."""

Measure = Callable[[str, ProgressListener], Verdict | TuneVerdict | Machine]
"""Measures on one host, by its name."""


def compare_on(
    hosts: Sequence[str], commands: Sequence[str | Iterable[str] | Workload], **options: Any
) -> MultiHostVerdict:
    """`becalm.compare` on several hosts. All intervals of all hosts hold together at `confidence`.

    `options` as for `becalm.compare`, without `host`. A host that fails does not stop the others. Raises UsageError,
    and MachineError or WorkloadError when no host gave anything.
    """
    return _together("compare", hosts, lambda **given: compare(commands, **given), options)


def run_on(hosts: Sequence[str], command: str | Iterable[str] | Workload, **options: Any) -> MultiHostVerdict:
    """`becalm.run` on several hosts; as `compare_on`."""
    return _together("run", hosts, lambda **given: run(command, **given), options)


def _together(
    kind: str, hosts: Sequence[str], call: Callable[..., Verdict], options: dict[str, Any]
) -> MultiHostVerdict:
    if options.get("baseline") is not None:
        raise UsageError("--baseline belongs to one machine: its runs were made there. Name one --host.")
    group = secrets.token_hex(8)
    confidence = float(options.pop("confidence", 0.95))
    listener: ProgressListener = options.pop("listener", None) or PassOn()
    store = options.get("store")
    with machines(hosts, options.pop("cluster", None), listener) as names:

        def measure(host: str, heard: ProgressListener) -> Verdict:
            own = per_host(confidence, len(names))
            return call(host=host, listener=heard, group=group, confidence=own, **options)

        measured = on_hosts(names, measure, listener, None if store is False else store, keeps=store is not False)
        findings = [*_failures(measured), *_same_machine(measured, store)]
        return pool(kind, group, measured, confidence, findings)


@contextmanager
def machines(hosts: Sequence[str], cluster: str | None, listener: ProgressListener) -> Iterator[list[str]]:
    """The names of all hosts: those given, and the workers of a cluster, which is open meanwhile."""
    if cluster is None:
        yield list(hosts)
        return
    from becalm.hosts.cluster import opened

    with opened(cluster, listener.warned) as workers:
        yield [*hosts, *workers]


def on_hosts(
    hosts: Sequence[str],
    measure: Measure,
    listener: ProgressListener,
    store: str | None = None,
    *,
    keeps: bool = True,
    needs: bool = True,
) -> list[HostResult]:
    """Measure on each host; one that fails does not stop the others.

    Arguments:
        hosts: names, as `becalm.hosts.open` takes them, each once.
        measure: called with a name and a listener, on a thread of its own for each lane.
        listener: told of all of them together.
        store: where a lost host's runs are looked up; `keeps` False: nowhere.
        needs: one host at least must give something.

    Returns what each gave, in order. Raises UsageError, Interrupted when stopped before anything was known, and the
    error of the first host when no host gave anything.
    """
    _checked(hosts)
    sorted_ = lanes(hosts)
    gathered = MergedProgress(listener, len(hosts))
    found: dict[str, _Outcome] = {}

    def work(names: Sequence[str]) -> None:
        for name in names:
            if interrupts.stopped():
                found[name] = _Outcome(None, Interrupted("Interrupted before it was its turn."), None)
                continue
            found[name] = _one(name, measure, gathered)

    with interrupts.heard():
        if here := sorted_.pop(HERE, None):
            _wait([_started(work, here)])
        waiting = list(sorted_.values())
        while waiting:
            now, waiting = waiting[:MOST_AT_ONCE], waiting[MOST_AT_ONCE:]
            _wait([_started(work, names) for names in now])
    for error in (found[name].defect for name in hosts):
        if error is not None:
            raise error
    measured = [_on_host(name, found[name], store, keeps, listener) for name in hosts]
    if needs and all(each.verdict is None for each in measured):
        first = next(each.error for each in (found[name] for name in hosts) if each.error is not None)
        others = "" if len(hosts) == 1 else f"No host gave anything. {hosts[0]}: "
        raise type(first)(f"{others}{first}")
    return measured


@dataclass(frozen=True, slots=True)
class _Outcome:
    verdict: Verdict | TuneVerdict | Machine | None
    error: BecalmError | None
    study: int | None
    defect: BaseException | None = None


def _checked(hosts: Sequence[str]) -> None:
    if not hosts:
        raise UsageError("Name a host at least: --host local.")
    if twice := [name for name in dict.fromkeys(hosts) if list(hosts).count(name) > 1]:
        raise UsageError(f"--host {twice[0]} was given twice. Each host is measured once.")


def _one(name: str, measure: Measure, gathered: MergedProgress) -> _Outcome:
    heard = gathered.of(name)
    try:
        found = measure(name, heard)
    except BecalmError as error:
        if not interrupts.stopped():
            gathered.listener.warned(f"{name} was lost, the others go on: {error}")
        return _Outcome(None, error, heard.study)
    except BaseException as error:
        return _Outcome(None, None, heard.study, error)
    return _Outcome(found, None, found.study)


def _started(work: Callable[[Sequence[str]], None], names: Sequence[str]) -> threading.Thread:
    # Daemons: a second Ctrl-C ends becalm at once, and agents end with their input.
    thread = threading.Thread(target=work, args=(names,), name=f"becalm {names[0]}", daemon=True)
    thread.start()
    return thread


def _wait(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        # With a limit, because a wait without one hears no signals before it is over.
        while thread.is_alive():
            thread.join(0.2)


def _on_host(name: str, outcome: _Outcome, store: str | None, keeps: bool, listener: ProgressListener) -> HostResult:
    if outcome.error is None:
        failed = isinstance(outcome.verdict, Verdict) and outcome.verdict.stopped is Stopped.FAILED
        return HostResult(name, outcome.verdict, outcome.study, "", 4 if failed else 0)
    kept, found = None, None
    if keeps and outcome.study is not None:
        with contextlib.suppress(UsageError):
            # A search for settings that was not finished concludes nothing.
            found = review(show(outcome.study, store, warned=listener.warned)) if _reviewable(outcome) else None
        kept = found if isinstance(found, Verdict) and found.summaries else None
    return HostResult(name, kept, outcome.study, str(outcome.error), outcome.error.exit_code)


def _reviewable(outcome: _Outcome) -> bool:
    return isinstance(outcome.error, MachineError) and not isinstance(outcome.error, Interrupted)


def _failures(measured: Sequence[HostResult]) -> list[Finding]:
    """Programs that failed on a host."""
    return [
        finding(each.kind, {**each.numbers, "host": host.host}, each.program)
        for host in measured
        if isinstance(host.verdict, Verdict)
        for each in host.verdict.findings
        if each.kind in ("failure", "left_behind")
    ]


def _same_machine(measured: Sequence[HostResult], store: str | bool | None) -> list[Finding]:
    """Hosts that turned out to be one machine although their names did not tell: they disturbed each other."""
    if store is False:
        return []
    by_boot: dict[str, list[str]] = {}
    with Store.open(store if isinstance(store, str) else None) as opened:
        for each in measured:
            boot = None if each.study is None else _boot(opened.study(each.study))
            if boot:
                by_boot.setdefault(boot, []).append(each.host)
    lane_of = {name: lane for lane, names in lanes([each.host for each in measured]).items() for name in names}
    return [
        finding("same_machine", {"hosts": names})
        for names in by_boot.values()
        if len({lane_of[name] for name in names}) > 1
    ]


def _boot(stored: StoredStudy) -> str | None:
    found = (stored.facts.get("host") or {}).get("boot_id")
    return None if found is None else str(found)
