"""The report of a search for settings as one HTML page with its pictures."""

from __future__ import annotations

from becalm.errors import UsageError
from becalm.report.formats import Document
from becalm.report.steady import html
from becalm.steadiness import from_json


def write(document: Document) -> str:
    """The page. Raises UsageError for a study of another kind, or an unfinished one."""
    if document.study.kind != "tune" or document.verdict is None:
        raise UsageError("Only a finished `becalm tune` has a report in HTML. Use --format markdown.")
    return html.page(from_json(document.verdict))
