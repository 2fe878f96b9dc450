"""`run` and `compare` on several hosts: a study for each host, then their joint verdict.

A study has one host: its facts, its spool, the order of its runs and its looks belong to one machine. So several hosts
have several studies with the same option `group`. Each is stored, shown, exported and resumed like any other study, and
a lost host costs only its own study.

`on_hosts` measures all of them: hosts on different machines at the same time, a thread each; hosts on one machine one
after the other; this machine before all others, because receiving their rows would disturb the runs here.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

import msgspec

from becalm.analysis.multi_host import per_host, pool
from becalm.errors import BecalmError, Interrupted, MachineError, UsageError, WorkloadError
from becalm.hosts import Host
from becalm.nouns.finding import Finding
from becalm.nouns.options.measuring import RunOptions
from becalm.nouns.study import StoredStudy
from becalm.results.compare import Stopped, Verdict
from becalm.results.multi_host import HostResult, MultiHostVerdict
from becalm.results.progress import ProgressListener
from becalm.results.survey import Machine
from becalm.results.tune import TuneVerdict
from becalm.store import Store
from becalm.study import interrupts
from becalm.study.conclude import conclude_stored
from becalm.study.multi_host_progress import MergedProgress
from becalm.study.same_machine import HERE, lanes
from becalm.study.session_options import SessionOptions
from becalm.study.stored import stored
from becalm.wording.findings import finding

MOST_AT_ONCE = 200
"""The number of lanes at the same time: each needs about five open files (store, spool, pipes) of the usual 1024."""

Measure = Callable[[str | Host, ProgressListener], Verdict | TuneVerdict | Machine]
"""A function that measures on one host."""

Chosen = TypeVar("Chosen", bound=RunOptions)


def measure_on(
    hosts: Sequence[str | Host],
    cluster: str | None,
    kind: str,
    options: Chosen,
    session: SessionOptions,
    measure: Callable[[Chosen, SessionOptions], Verdict],
) -> MultiHostVerdict:
    """Measure a `run` or `compare` on each host, with the error shared among them, and return the joint verdict.

    Raises UsageError, and MachineError or WorkloadError when no host has a result.
    """
    group = secrets.token_hex(8)
    with machines(hosts, cluster, session.listener) as named:
        own = replace(options, group=group, confidence=per_host(options.confidence, len(named)))

        def measure_one(host: str | Host, heard: ProgressListener) -> Verdict:
            return measure(own, session.on(host, heard))

        measured = on_hosts(named, measure_one, session)
        findings = [*_failures(measured), *_same_machine(measured, named, session)]
        return pool(kind, group, measured, options.confidence, findings)


@contextmanager
def machines(
    hosts: Sequence[str | Host], cluster: str | None, listener: ProgressListener
) -> Iterator[list[str | Host]]:
    """Yield all hosts: those named, and the workers of a cluster, which is open meanwhile."""
    if cluster is None:
        if not hosts:
            raise UsageError("Name a host at least: --host local.")
        yield list(hosts)
        return
    from becalm.hosts.cluster import opened

    with opened(cluster, listener.warned) as workers:
        yield [*hosts, *workers]


def on_hosts(
    hosts: Sequence[str | Host], measure: Measure, session: SessionOptions, *, needs: bool = True
) -> list[HostResult]:
    """Measure on each host; one that fails does not stop the others.

    Arguments:
        hosts: names, as `becalm.hosts.open` takes them, or open hosts, each once.
        measure: called with a host and a listener, on a thread of its own for each lane.
        session: options whose listener hears the merged progress, and whose store has the runs of a lost host.
        needs: whether at least one host must have a result.

    Returns the result of each host, in order. Raises UsageError, Interrupted when stopped before any result, and the
    error of the first host when no host has a result.
    """
    by_name = _by_name(hosts)
    sorted_ = lanes(hosts)
    gathered = MergedProgress(session.listener, len(hosts))
    outcomes: dict[str, _Outcome] = {}

    def work(names: Sequence[str]) -> None:
        for name in names:
            if interrupts.interrupted():
                outcomes[name] = _Outcome(None, Interrupted("Interrupted before it was its turn."), None)
                continue
            outcomes[name] = _measure_one(by_name[name], name, measure, gathered)

    with interrupts.handle_signals():
        if here := sorted_.pop(HERE, None):
            _wait([_start(work, here)])
        waiting = list(sorted_.values())
        while waiting:
            now, waiting = waiting[:MOST_AT_ONCE], waiting[MOST_AT_ONCE:]
            _wait([_start(work, names) for names in now])
    for error in (outcomes[name].defect for name in by_name):
        if error is not None:
            raise error
    measured = [_on_host(name, outcomes[name], session) for name in by_name]
    if needs and all(result.verdict is None for result in measured):
        first = next(outcome.error for outcome in (outcomes[name] for name in by_name) if outcome.error is not None)
        others = "" if len(hosts) == 1 else f"No host returned a result. {next(iter(by_name))}: "
        raise type(first)(f"{others}{first}")
    return measured


class _Outcome(msgspec.Struct, frozen=True):
    verdict: Verdict | TuneVerdict | Machine | None
    error: BecalmError | None
    study: int | None
    defect: BaseException | None = None


def _by_name(hosts: Sequence[str | Host]) -> dict[str, str | Host]:
    """Return hosts by name. Raises UsageError for one that occurs twice."""
    result: dict[str, str | Host] = {}
    for host in hosts:
        name = host if isinstance(host, str) else host.name
        if name in result:
            raise UsageError(f"--host {name} was given twice. Each host is measured once.")
        result[name] = host
    return result


def _measure_one(host: str | Host, name: str, measure: Measure, gathered: MergedProgress) -> _Outcome:
    heard = gathered.of(name)
    try:
        verdict = measure(host, heard)
    except BecalmError as error:
        if not interrupts.interrupted():
            what = "takes no part" if isinstance(error, UsageError) else "was lost"
            if isinstance(error, WorkloadError):
                what = "has no result"
            # Of a single host, the error itself reports it.
            if gathered.hosts > 1:
                gathered.listener.warned(f"{name} {what}, the others continue: {error}")
        return _Outcome(None, error, heard.study)
    except BaseException as error:
        return _Outcome(None, None, heard.study, error)
    return _Outcome(verdict, None, verdict.study)


def _start(work: Callable[[Sequence[str]], None], names: Sequence[str]) -> threading.Thread:
    # Daemons: a second Ctrl-C ends becalm at once, and agents end with their input.
    thread = threading.Thread(target=work, args=(names,), name=f"becalm {names[0]}", daemon=True)
    thread.start()
    return thread


def _wait(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        # With a time limit, because Python handles no signal during a join without one.
        while thread.is_alive():
            thread.join(0.2)


def _on_host(name: str, outcome: _Outcome, session: SessionOptions) -> HostResult:
    if outcome.error is None:
        failed = isinstance(outcome.verdict, Verdict) and outcome.verdict.stopped is Stopped.FAILED
        return HostResult(name, outcome.verdict, outcome.study, "", 4 if failed else 0)
    verdict = _lost_verdict(outcome, session)
    return HostResult(name, verdict, outcome.study, str(outcome.error), outcome.error.exit_code)


def _lost_verdict(outcome: _Outcome, session: SessionOptions) -> Verdict | None:
    """Return the verdict on the stored runs of a lost host; None where they are too few."""
    lost = isinstance(outcome.error, MachineError) and not isinstance(outcome.error, Interrupted)
    if not lost or outcome.study is None or session.store is False:
        return None
    document = stored(outcome.study, session.place, warned=session.listener.warned)
    if document.study.kind not in ("run", "compare"):
        return None
    verdict = conclude_stored(document)
    return verdict if verdict.summaries else None


def _failures(measured: Sequence[HostResult]) -> list[Finding]:
    """Return the findings on programs that failed on a host."""
    return [
        finding(failure.kind, {**failure.numbers, "host": host.host}, failure.program)
        for host in measured
        if isinstance(host.verdict, Verdict)
        for failure in host.verdict.findings
        if failure.kind in ("failure", "left_behind")
    ]


def _same_machine(
    measured: Sequence[HostResult], hosts: Sequence[str | Host], session: SessionOptions
) -> list[Finding]:
    """Return findings on hosts of different lanes that are one machine by its boot: they disturbed each other."""
    if session.store is False:
        return []
    by_boot: dict[str, list[str]] = {}
    with Store.open(session.place) as opened:
        for result in measured:
            boot = None if result.study is None else _boot(opened.study(result.study))
            if boot:
                by_boot.setdefault(boot, []).append(result.host)
    lane_of = {name: lane for lane, names in lanes(hosts).items() for name in names}
    return [
        finding("same_machine", {"hosts": names})
        for names in by_boot.values()
        if len({lane_of[name] for name in names}) > 1
    ]


def _boot(stored: StoredStudy) -> str | None:
    boot_id = (stored.facts.get("host") or {}).get("boot_id")
    return None if boot_id is None else str(boot_id)
