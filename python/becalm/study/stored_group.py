"""The joint verdict of several hosts, again from the store: also when becalm was killed before it could conclude."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from becalm.analysis.multi_host import pool
from becalm.nouns.options.measuring import CompareOptions, RunOptions
from becalm.report.document import Document
from becalm.results.compare import Verdict
from becalm.results.multi_host import HostResult, MultiHostVerdict


def pool_verdicts(documents: Sequence[Document], conclude: Callable[[Document], object]) -> MultiHostVerdict:
    """Return the verdict on the studies of one `run` or `compare` on several hosts, as if they had just been
    measured."""
    study = documents[-1].study
    options = (CompareOptions if study.kind == "compare" else RunOptions).from_json(study.options)
    hosts = []
    for document in documents:
        found = conclude(document)
        usable = found if isinstance(found, Verdict) and found.summaries else None
        lost = "" if document.verdict is not None else "it was not measured to its end."
        hosts.append(HostResult(document.study.host, usable, document.number, lost, 3 if lost else 0))
    # Of each host by itself; of all of them together as many times the error.
    confidence = max(0.5, 1 - (1 - options.confidence) * len(hosts))
    return pool(study.kind, options.group, hosts, confidence, ())
