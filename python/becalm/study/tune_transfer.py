"""`becalm tune` on several hosts: settings found on the first one are tried on the others, as they are.

The first host is searched and its study concluded as ever; the others each get a study that only tries what it
recommends (as `--try` does), on fresh, interleaved runs. With `--try`, all hosts try the profiles given.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace

from becalm.analysis.multi_host import further
from becalm.errors import UsageError
from becalm.hosts import Host
from becalm.methods import complete
from becalm.nouns.finding import Finding
from becalm.nouns.options.tune import CHOOSING, SEARCHING, TuneOptions
from becalm.results.multi_host import HostResult, MultiHostVerdict
from becalm.results.progress import ProgressListener
from becalm.results.tune import Transfer, TuneVerdict
from becalm.study.multi_host import machines, on_hosts
from becalm.study.session_options import SessionOptions
from becalm.wording import multi_host
from becalm.wording.findings import finding


def transferred(
    hosts: Sequence[str | Host],
    cluster: str | None,
    options: TuneOptions,
    session: SessionOptions,
    measure: Callable[[TuneOptions, SessionOptions], TuneVerdict],
) -> MultiHostVerdict:
    """Tune on the first host, and try what it recommends on each other one; return the joint verdict.

    Hosts that are lost do not stop the others. Raises UsageError, and what `becalm.tune` raises for the first host.
    """
    if session.store is False:
        raise UsageError("What is found on one host is tried on others from the store. Leave out --no-store.")
    options = replace(options, group=secrets.token_hex(8))
    with machines(hosts, cluster, session.listener) as named:

        def one(host: str | Host, heard: ProgressListener) -> TuneVerdict:
            return measure(options, session.on(host, heard))

        if options.tried:
            return _concluded(on_hosts(named, one, session), None, options)
        (first,) = on_hosts(named[:1], one, session)
        found = first.verdict
        assert isinstance(found, TuneVerdict)
        if len(named) == 1 or not found.settings:
            return _concluded([first], found, options)
        usual = TuneOptions()
        rest = replace(
            options, tried=(str(found.study),), **{name: getattr(usual, name) for name in (*SEARCHING, *CHOOSING)}
        )

        def other(host: str | Host, heard: ProgressListener) -> TuneVerdict:
            return measure(complete(rest), replace(session.on(host, heard), seed=None))

        return _concluded([first, *on_hosts(named[1:], other, session, needs=False)], found, options)


def _concluded(measured: Sequence[HostResult], verdict: TuneVerdict | None, options: TuneOptions) -> MultiHostVerdict:
    """Put together what was found on the first host and what became of it on the others."""
    first = measured[0].host
    transfer: list[Transfer] = []
    single = True
    for result in measured if verdict is None else measured[1:]:
        if isinstance(result.verdict, TuneVerdict):
            many = len(result.verdict.programs) > 1
            single = single and not many
            for one in result.verdict.transfer:
                row = f"{result.host}, {one.row}" if many else result.host
                transfer.append(Transfer(row, one.column if verdict is None else first, one.ratio))
    findings: tuple[Finding, ...] = ()
    if verdict is not None and not verdict.settings:
        findings = (finding("nothing", {"host": first}),)
    multi_host_verdict = MultiHostVerdict(
        kind="tune",
        group=options.group,
        confidence=options.confidence,
        hosts=tuple(measured),
        transfer=tuple(transfer),
        further=further(transfer, options.confidence) if single else (),
        findings=findings,
    )
    opening = [] if verdict is None else [f"{first}: {line}" for line in verdict.sentence.splitlines()]
    closing = [each.sentence for each in findings]
    return replace(
        multi_host_verdict, sentence="\n".join([*opening, multi_host.several(multi_host_verdict), *closing]).strip()
    )
