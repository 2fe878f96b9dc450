"""The report of a search for settings, or of a watched run, as one HTML page with its pictures."""

from __future__ import annotations

from becalm.errors import UsageError
from becalm.nouns.tune_verdict import from_json
from becalm.report.document import Document
from becalm.report.tune import html


def write(document: Document) -> str:
    """The page. Raises UsageError for a study of another kind, or an unfinished one."""
    if document.study.kind == "watch":
        from becalm.report.watch.html import page
        from becalm.report.watch.stored import conclude

        return page(conclude(document, document.number))
    if document.study.kind != "tune" or document.verdict is None:
        raise UsageError(
            "Only a finished `becalm tune` and `becalm watch` have a report in HTML. Use --format markdown."
        )
    return html.page(from_json(document.verdict))
