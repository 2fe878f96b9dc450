"""Programs that cannot be started: in a study of several programs, the others are measured nevertheless.

Public: define, findings, note_missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from becalm import system_clock
from becalm.errors import WorkloadError
from becalm.hosts import Host
from becalm.nouns.finding import Finding
from becalm.nouns.run import Outcome, Run
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from becalm.plans.run_log import RunLog
from becalm.results.progress import ProgressListener
from becalm.store import Store
from becalm.wording.findings import finding


def define(
    host: Host,
    workloads: Sequence[Workload],
    settings: Sequence[Settings | None],
    listener: ProgressListener,
    *,
    dangerous: bool,
    least: int = 1,
) -> Mapping[int, str]:
    """Define workloads and settings on a host, and return the reasons for workloads that cannot be run, by index.

    Another workload is defined in place of such a one, which no step may name; the listener is warned. Raises
    WorkloadError where fewer than `least` can be run.
    """
    try:
        host.define(workloads, settings, dangerous=dangerous)
        return {}
    except WorkloadError as error:
        first = error
    reasons: dict[int, str] = {}
    for index, workload in enumerate(workloads):
        try:
            host.define([workload], settings, dangerous=dangerous)
        except WorkloadError as error:
            reasons[index] = str(error)
    runnable = [workload for index, workload in enumerate(workloads) if index not in reasons]
    if len(runnable) < least:
        raise first
    defined = [runnable[0] if index in reasons else workload for index, workload in enumerate(workloads)]
    host.define(defined, settings, dangerous=dangerous)
    for reason in dict.fromkeys(reasons.values()):
        listener.warned(f"{reason} The others are measured all the same.")
    return reasons


def findings(workloads: Sequence[Workload], missing: Mapping[int, str]) -> tuple[Finding, ...]:
    """Return the findings on programs that a comparison leaves out."""
    return tuple(
        finding(
            "left_out",
            {"reason": reason.rstrip("."), "entries": [[workloads[index].name, 1]], "of": "the comparison"},
        )
        for index, reason in missing.items()
    )


def note_missing(store: Store, number: int, log: RunLog, missing: Mapping[int, str]) -> None:
    """Store a refused run of each program that could not be started, with the reason as its standard error."""
    if not missing or (log.interrupted and not log.rows):
        return
    now_ns = system_clock.time_ns()
    rows = [
        Run(
            log.next_seq + place, workload, 0, 0, 0, now_ns, 0, None, None, None, None, None, None, None, None,
            str(Outcome.REFUSED), None, 0,
        )
        for place, workload in enumerate(missing)
    ]  # fmt: skip
    texts = {row.seq: (missing[row.workload], "") for row in rows}
    store.append(number, rows, texts)
    log.extend(rows)
