"""`becalm tune` on several hosts: the settings found on the first host are tried on the others.

The search on the first host is an ordinary study. Each other host has a study that only tries the recommended settings,
as `--try` does, with fresh, interleaved runs. With `--try`, all hosts try the named profiles.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from becalm.analysis.multi_host import predict_further
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


def tune_on_hosts(
    hosts: Sequence[str | Host],
    cluster: str | None,
    options: TuneOptions,
    session: SessionOptions,
    measure: Callable[[TuneOptions, SessionOptions], TuneVerdict],
) -> MultiHostVerdict:
    """Tune on the first host, try the recommended settings on each other one, and return the joint verdict.

    A lost host does not stop the others. Raises UsageError, and the errors of `becalm.tune` on the first host.
    """
    if session.store is False:
        raise UsageError("Settings found on one host are tried on others from the store. Leave --no-store out.")
    options = dataclasses.replace(options, group=secrets.token_hex(8))
    with machines(hosts, cluster, session.listener) as named:

        def measure_one(host: str | Host, heard: ProgressListener) -> TuneVerdict:
            return measure(options, session.on(host, heard))

        if options.tried:
            return _conclude(on_hosts(named, measure_one, session), None, options)
        (first,) = on_hosts(named[:1], measure_one, session)
        verdict = first.verdict
        assert isinstance(verdict, TuneVerdict)
        if len(named) == 1 or not verdict.settings:
            return _conclude([first], verdict, options)
        usual = TuneOptions()
        rest = dataclasses.replace(
            options, tried=(str(verdict.study),), **{name: getattr(usual, name) for name in (*SEARCHING, *CHOOSING)}
        )

        def try_on_host(host: str | Host, heard: ProgressListener) -> TuneVerdict:
            return measure(complete(rest), dataclasses.replace(session.on(host, heard), seed=None))

        return _conclude([first, *on_hosts(named[1:], try_on_host, session, needs=False)], verdict, options)


def _conclude(measured: Sequence[HostResult], verdict: TuneVerdict | None, options: TuneOptions) -> MultiHostVerdict:
    """Return the joint verdict of the first host's search and of the trials on the others."""
    first = measured[0].host
    transfer: list[Transfer] = []
    single = True
    for result in measured if verdict is None else measured[1:]:
        if isinstance(result.verdict, TuneVerdict):
            many = len(result.verdict.programs) > 1
            single = single and not many
            for entry in result.verdict.transfer:
                row = f"{result.host}, {entry.row}" if many else result.host
                transfer.append(Transfer(row, entry.column if verdict is None else first, entry.ratio))
    findings: tuple[Finding, ...] = ()
    if verdict is not None and not verdict.settings:
        findings = (finding("nothing", {"host": first}),)
    multi_host_verdict = MultiHostVerdict(
        kind="tune",
        group=options.group,
        confidence=options.confidence,
        hosts=tuple(measured),
        transfer=tuple(transfer),
        further=predict_further(transfer, options.confidence) if single else (),
        findings=findings,
    )
    opening = [] if verdict is None else [f"{first}: {line}" for line in verdict.sentence.splitlines()]
    closing = [remark.sentence for remark in findings]
    return replace(
        multi_host_verdict, sentence="\n".join([*opening, multi_host.several(multi_host_verdict), *closing]).strip()
    )
