"""`becalm tune` on several hosts: settings found on the first one are tried on the others, as they are.

The first host is searched and its study concluded as ever; the others each get a study that only tries what it
recommends (as `--try` does), on fresh, interleaved runs. With `--try`, all hosts try the profiles given.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from becalm.errors import UsageError
from becalm.nouns.multi_host import HostResult, MultiHostVerdict
from becalm.nouns.progress import ProgressListener
from becalm.nouns.tune_verdict import Transfer, TuneVerdict
from becalm.nouns.verdict import Finding
from becalm.nouns.workload import Workload
from becalm.report.program_output import PassOn
from becalm.study.multi_host import machines, on_hosts
from becalm.verbs.tune import tune
from becalm.wording import multi_host
from becalm.wording.findings import finding

SEARCHING = ("method", "most_runs", "threshold", "only", "without", "preserve_multicore", "loops", "runs", "warmups")
"""Options of the search alone; what only tries settings has no use for them."""


def tune_on(
    hosts: Sequence[str], programs: Sequence[str | Iterable[str] | Workload], **options: Any
) -> MultiHostVerdict:
    """`becalm.tune` on the first host, and what it recommends tried on each other one.

    `options` as for `becalm.tune`, without `host`. Hosts that are lost do not stop the others. Raises UsageError, and
    what `becalm.tune` raises for the first host.
    """
    listener: ProgressListener = options.pop("listener", None) or PassOn()
    store = options.get("store")
    options["group"] = secrets.token_hex(8)
    if options.pop("resume", None) is not None:
        raise UsageError("A study that is resumed has its own host: name none, and then --try it on others.")
    if store is False:
        raise UsageError("What is found on one host is tried on others from the store. Leave out --no-store.")
    with machines(hosts, options.pop("cluster", None), listener) as names:
        if options.get("tried"):
            measured = on_hosts(names, lambda host, heard: _one(programs, host, heard, options), listener, store)
            return _concluded(measured, None, options)
        (first,) = on_hosts(names[:1], lambda host, heard: _one(programs, host, heard, options), listener, store)
        found = first.verdict
        assert isinstance(found, TuneVerdict)
        if len(names) == 1 or not found.settings:
            return _concluded([first], found, options)
        rest = {name: value for name, value in options.items() if name not in SEARCHING}
        rest |= {"tried": (str(found.study),), "seed": None}
        others = on_hosts(
            names[1:], lambda host, heard: _one(programs, host, heard, rest), listener, store, needs=False
        )
        return _concluded([first, *others], found, options)


def _one(
    programs: Sequence[str | Iterable[str] | Workload], host: str, listener: ProgressListener, options: dict[str, Any]
) -> TuneVerdict:
    return tune(programs, **{**options, "host": host, "listener": listener})


def _concluded(measured: Sequence[HostResult], found: TuneVerdict | None, options: dict[str, Any]) -> MultiHostVerdict:
    """Put together what was found on the first host and what became of it on the others."""
    first = measured[0].host
    transfer: list[Transfer] = []
    for each in measured if found is None else measured[1:]:
        if isinstance(each.verdict, TuneVerdict):
            many = len(each.verdict.programs) > 1
            for one in each.verdict.transfer:
                row = f"{each.host}, {one.row}" if many else each.host
                transfer.append(Transfer(row, one.column if found is None else first, one.ratio))
    findings: tuple[Finding, ...] = ()
    if found is not None and not found.settings:
        findings = (finding("nothing", {"host": first}),)
    made = MultiHostVerdict(
        kind="tune",
        group=str(options["group"]),
        confidence=float(options.get("confidence", 0.95)),
        hosts=tuple(measured),
        transfer=tuple(transfer),
        findings=findings,
    )
    opening = [] if found is None else [f"{first}: {line}" for line in found.sentence.splitlines()]
    closing = [each.sentence for each in findings]
    return replace(made, sentence="\n".join([*opening, multi_host.several(made), *closing]).strip())
