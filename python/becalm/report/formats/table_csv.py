"""Comma-separated values: one line a run, with the program's name; unknown is empty (RFC 4180)."""

from __future__ import annotations

import csv
import io

from becalm.nouns import COLUMNS
from becalm.report.formats import Document


def write(document: Document) -> str:
    """All runs in order, warm-ups and failed ones too."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(("program", *COLUMNS))
    names = [each.name for each in document.study.workloads]
    table.writerows((names[run.workload], *run) for run in document.runs)
    return out.getvalue()
