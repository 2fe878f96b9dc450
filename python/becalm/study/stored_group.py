"""The joint verdict of several hosts from stored studies, even if becalm was killed before it concluded."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from becalm.analysis.multi_host import pool
from becalm.nouns.options.measuring import CompareOptions, RunOptions
from becalm.report.document import Document
from becalm.results.compare import Verdict
from becalm.results.multi_host import HostResult, MultiHostVerdict


def pool_verdicts(documents: Sequence[Document], conclude: Callable[[Document], object]) -> MultiHostVerdict:
    """Return the joint verdict on the studies of one `run` or `compare` on several hosts."""
    study = documents[-1].study
    options = (CompareOptions if study.kind == "compare" else RunOptions).from_json(study.options)
    hosts = []
    for document in documents:
        verdict = conclude(document)
        usable = verdict if isinstance(verdict, Verdict) and verdict.summaries else None
        lost = "" if document.verdict is not None else "it was not measured to its end."
        hosts.append(HostResult(document.study.host, usable, document.number, lost, 3 if lost else 0))
    # The options have the confidence of each host; the joint verdict has the error of all hosts together.
    confidence = max(0.5, 1 - (1 - options.confidence) * len(hosts))
    return pool(study.kind, options.group, hosts, confidence, ())
