"""`run` and `compare` on several hosts: each host a study of its own, then what they say together.

A study has one host: its facts, its spool, the order of its runs and its looks belong to one machine. So several hosts
are several studies, and what they have in common is the option `group`. Each is kept, shown, exported and resumed by
what is there for any study, and a lost host costs its own study only.

`on_hosts` measures all of them: hosts on different machines at the same time, a thread each; hosts on one machine one
after the other; this machine before all others, because receiving their rows would disturb what is measured here.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from becalm.analysis.multi_host import per_host, pool
from becalm.errors import BecalmError, Interrupted, MachineError, UsageError
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
"""Lanes at the same time: each needs some five open files (store, spool, pipes), and 1024 is a usual limit."""

Measure = Callable[[str | Host, ProgressListener], Verdict | TuneVerdict | Machine]
"""Measures on one host."""

Chosen = TypeVar("Chosen", bound=RunOptions)


def measure_on(
    hosts: Sequence[str | Host],
    cluster: str | None,
    kind: str,
    options: Chosen,
    session: SessionOptions,
    measure: Callable[[Chosen, SessionOptions], Verdict],
) -> MultiHostVerdict:
    """Measure a `run` or `compare` on each host, with the error of all of them shared out, and put them together.

    Raises UsageError, and MachineError or WorkloadError when no host gave anything.
    """
    group = secrets.token_hex(8)
    with machines(hosts, cluster, session.listener) as named:
        own = replace(options, group=group, confidence=per_host(options.confidence, len(named)))

        def one(host: str | Host, heard: ProgressListener) -> Verdict:
            return measure(own, session.on(host, heard))

        measured = on_hosts(named, one, session)
        findings = [*_failures(measured), *_same_machine(measured, named, session)]
        return pool(kind, group, measured, options.confidence, findings)


@contextmanager
def machines(
    hosts: Sequence[str | Host], cluster: str | None, listener: ProgressListener
) -> Iterator[list[str | Host]]:
    """Yield all hosts: those given, and the workers of a cluster, which is open meanwhile."""
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
        session: whose listener is told of all of them together, and in whose store a lost host's runs are looked up.
        needs: one host at least must give something.

    Returns what each gave, in order. Raises UsageError, Interrupted when stopped before anything was known, and the
    error of the first host when no host gave anything.
    """
    by_name = _by_name(hosts)
    sorted_ = lanes(hosts)
    gathered = MergedProgress(session.listener, len(hosts))
    found: dict[str, _Outcome] = {}

    def work(names: Sequence[str]) -> None:
        for name in names:
            if interrupts.stopped():
                found[name] = _Outcome(None, Interrupted("Interrupted before it was its turn."), None)
                continue
            found[name] = _one(by_name[name], name, measure, gathered)

    with interrupts.heard():
        if here := sorted_.pop(HERE, None):
            _wait([_started(work, here)])
        waiting = list(sorted_.values())
        while waiting:
            now, waiting = waiting[:MOST_AT_ONCE], waiting[MOST_AT_ONCE:]
            _wait([_started(work, names) for names in now])
    for error in (found[name].defect for name in by_name):
        if error is not None:
            raise error
    measured = [_on_host(name, found[name], session) for name in by_name]
    if needs and all(each.verdict is None for each in measured):
        first = next(each.error for each in (found[name] for name in by_name) if each.error is not None)
        others = "" if len(hosts) == 1 else f"No host gave anything. {next(iter(by_name))}: "
        raise type(first)(f"{others}{first}")
    return measured


@dataclass(frozen=True, slots=True)
class _Outcome:
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


def _one(host: str | Host, name: str, measure: Measure, gathered: MergedProgress) -> _Outcome:
    heard = gathered.of(name)
    try:
        found = measure(host, heard)
    except BecalmError as error:
        if not interrupts.stopped():
            what = "takes no part" if isinstance(error, UsageError) else "was lost"
            gathered.listener.warned(f"{name} {what}, the others continue: {error}")
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


def _on_host(name: str, outcome: _Outcome, session: SessionOptions) -> HostResult:
    if outcome.error is None:
        failed = isinstance(outcome.verdict, Verdict) and outcome.verdict.stopped is Stopped.FAILED
        return HostResult(name, outcome.verdict, outcome.study, "", 4 if failed else 0)
    verdict = _of_the_lost(outcome, session)
    return HostResult(name, verdict, outcome.study, str(outcome.error), outcome.error.exit_code)


def _of_the_lost(outcome: _Outcome, session: SessionOptions) -> Verdict | None:
    """Return the verdict on the runs of a lost host, where they give one."""
    lost = isinstance(outcome.error, MachineError) and not isinstance(outcome.error, Interrupted)
    if not lost or outcome.study is None or session.store is False:
        return None
    document = stored(outcome.study, session.place, warned=session.listener.warned)
    if document.study.kind not in ("run", "compare"):
        return None
    found = conclude_stored(document)
    return found if found.summaries else None


def _failures(measured: Sequence[HostResult]) -> list[Finding]:
    """Return programs that failed on a host."""
    return [
        finding(each.kind, {**each.numbers, "host": host.host}, each.program)
        for host in measured
        if isinstance(host.verdict, Verdict)
        for each in host.verdict.findings
        if each.kind in ("failure", "left_behind")
    ]


def _same_machine(
    measured: Sequence[HostResult], hosts: Sequence[str | Host], session: SessionOptions
) -> list[Finding]:
    """Return hosts that turned out to be one machine although their names differ: they disturbed each other."""
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
    found = (stored.facts.get("host") or {}).get("boot_id")
    return None if found is None else str(found)
