"""What several hosts said together, again from the store: also when becalm was killed before it could conclude.

The studies of one measurement have the option `group` in common; each is reviewed as `becalm show` does it, and put
together as if it had just been measured.
"""

from __future__ import annotations

from collections.abc import Callable

from becalm.analysis.meta_analysis import pool
from becalm.analysis.survey import conclude
from becalm.errors import MachineError, UsageError, WorkloadError
from becalm.nouns.history import History
from becalm.nouns.multi_host import HostResult, MultiHostVerdict
from becalm.nouns.survey import Machine, SurveyResult
from becalm.nouns.verdict import Verdict
from becalm.store import Store
from becalm.study.review import review
from becalm.verbs.records import show
from becalm.verbs.survey import machine_of_runs


def show_together(
    reference: str | int = "last", store: str | None = None, *, warned: Callable[[str], None] | None = None
) -> MultiHostVerdict | SurveyResult:
    """All studies that were measured together with this one. Raises UsageError when there are none, StoreError."""
    stored = show(reference, store, warned=warned)
    group = str(stored.study.options.get("group") or "")
    kind = stored.study.kind
    if not group or kind not in ("run", "compare", "survey"):
        raise UsageError(f"Study {stored.number} is a {kind} by itself: nothing was measured together with it.")
    with Store.open(store) as opened:
        numbers = opened.in_group(group)
    if kind == "survey":
        return _surveyed(numbers, group, store)
    hosts = []
    for number in numbers:
        document = show(number, store)
        verdict = review(document)
        usable = verdict if isinstance(verdict, Verdict) and verdict.summaries else None
        lost = "" if document.verdict is not None else "it was not measured to its end."
        hosts.append(HostResult(document.study.host, usable, number, lost, 3 if lost else 0))
    # Of each host by itself; of all of them together as many times the error.
    own = float(stored.study.options.get("confidence") or 0.95)
    return pool(kind, group, hosts, max(0.5, 1 - (1 - own) * len(hosts)), ())


def _surveyed(numbers: list[int], group: str, store: str | None) -> SurveyResult:
    machines: list[Machine] = []
    lost: dict[str, str] = {}
    with Store.open(store) as opened:
        for number in numbers:
            stored = opened.study(number)
            history = History(len(stored.study.workloads))
            history.extend(opened.runs(number))
            try:
                machines.append(machine_of_runs(opened, number, stored.study, history, stored.facts))
            except (MachineError, WorkloadError) as error:
                lost[stored.study.host] = str(error)
    if not machines:
        raise MachineError("None of these machines was measured long enough to say something.")
    chosen = stored.study.options
    return conclude(machines, lost, group=group, rate=chosen["rate"], at_least=chosen["at_least"])
