"""`becalm run`: one program, and how far its run time can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack, overload

from becalm.hosts import Host
from becalm.nouns.metric import Response, Work
from becalm.nouns.options.measuring import RunOptions
from becalm.nouns.signature import takes
from becalm.nouns.workload import CommandLine, Workload
from becalm.results.compare import Verdict
from becalm.study.interleaved import measure_interleaved
from becalm.study.session_options import SessionOptions, SeveralHosts, WithProfile, split_keywords
from becalm.workloads import Text, single

if TYPE_CHECKING:
    from becalm.results.multi_host import MultiHostVerdict
    from becalm.verbs.keywords import RunKeywords


@overload
def run(command: Text, **options: Unpack[RunKeywords]) -> Verdict: ...
@overload
def run(
    command: Text,
    *,
    hosts: Sequence[str | Host],
    cluster: str | None = None,
    **options: Unpack[RunKeywords],
) -> MultiHostVerdict: ...
@overload
def run(
    command: Text,
    *,
    hosts: Sequence[str | Host] | None = None,
    cluster: str,
    **options: Unpack[RunKeywords],
) -> MultiHostVerdict: ...
@takes(SeveralHosts, RunOptions, Response, Work, CommandLine, Workload, WithProfile, SessionOptions)
def run(
    command: Text,
    *,
    hosts: Sequence[str | Host] | None = None,
    cluster: str | None = None,
    **keywords: Any,
) -> Verdict | MultiHostVerdict:
    """Measure one program: mean, median and variation with intervals, drift, modes, outliers.

    Arguments:
        command: a command line (split as a shell would, not given to one), an argument list, a Workload, or a function
            without arguments, calls of which are timed in fresh processes.

    Returns a Verdict whose one summary has times in ns; with `hosts` or `cluster` a MultiHostVerdict. Stops at
    `precision`, `runs` or `budget`, whatever comes first.

    Raises UsageError, WorkloadError (the program cannot be run or fails at once), MachineError, StoreError.
    """
    options, session, program = split_keywords(RunOptions, keywords, WithProfile, Response, Work)
    workload = single(command, **program).measuring(Response.of(keywords), Work.of(keywords))

    def measure(chosen: RunOptions, where: SessionOptions) -> Verdict:
        return measure_interleaved(where.study("run", [workload], chosen), chosen, where)

    if hosts is None and cluster is None:
        return measure(options, session)
    from becalm.study.multi_host import measure_on  # One host starts without it.

    return measure_on(hosts or (), cluster, "run", options, session, measure)
