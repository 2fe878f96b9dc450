"""Metrics next to the first one that a machine cannot measure: they are left out, and the first is measured.

Public: without_unmeasurable.
"""

from __future__ import annotations

import dataclasses

from msgspec.structs import replace

from becalm.errors import RefusedError, WorkloadError
from becalm.hosts import Host
from becalm.nouns.finding import Finding
from becalm.nouns.study import Study
from becalm.results.progress import ProgressListener
from becalm.wording.findings import finding


def without_unmeasurable(
    host: Host, study: Study, listener: ProgressListener, *, dangerous: bool
) -> tuple[Study, tuple[Finding, ...]]:
    """Return a study without the further metrics that cannot be measured on a host, and a finding for each of them.

    The listener is called with each of them. Raises RefusedError if the first metric of a program cannot be measured.
    """
    findings: list[Finding] = []
    while any(len(workload.metrics) > 1 for workload in study.workloads):
        try:
            host.define(study.workloads, study.settings, dangerous=dangerous)
        except WorkloadError:
            # The caller that starts the program reports that it cannot be started.
            break
        except RefusedError as error:
            spec = _refused(study, str(error))
            if spec is None:
                raise
            reason = str(error).partition(": ")[2].rstrip(".")
            findings.append(finding("left_out", {"reason": reason, "entries": [[spec, 1]], "of": "the metrics"}))
            listener.warned(f"{error} It is left out; the other metrics are measured.")
            study = replace(
                study,
                workloads=tuple(
                    dataclasses.replace(
                        workload, metrics=tuple(metric for metric in workload.metrics if metric.spec != spec)
                    )
                    for workload in study.workloads
                ),
            )
        else:
            break
    return study, tuple(findings)


def _refused(study: Study, sentence: str) -> str | None:
    """Return the metric that a host has refused; None for the first metric of a program, or for another refusal."""
    first = {workload.metrics[0].spec for workload in study.workloads if workload.metrics}
    further = {metric.spec for workload in study.workloads for metric in workload.metrics} - first
    return next((spec for spec in further if sentence.startswith(f"{spec} cannot be measured here")), None)
