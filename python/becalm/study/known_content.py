"""Search the store for the content of a file: importing it again would count the same runs twice."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable
from typing import Any

from becalm.nouns.study import StoredStudy, Study
from becalm.report.document import Document
from becalm.store import Store


class KnownContent:
    """The studies of an open store, found by their content."""

    def __init__(self, opened: Store) -> None:
        self._opened = opened
        self._known: dict[str, list[StoredStudy]] = {}
        for stored in opened.studies(None, facts=False):
            if not stored.wrong:
                self._known.setdefault(_key(stored.study), []).append(stored)
        self._added: dict[str, list[tuple[int, Document]]] = {}

    def number(self, document: Document) -> int | None:
        """Return the study with the same programs, options and runs; None where there is none.

        Where the document has the time of its measurement, the study must have begun at that time.
        """
        key = _key(document.study)
        for number, other in self._added.get(key, ()):
            if _content(other) == _content(document) and other.created_ns == document.created_ns:
                return number
        for stored in self._known.get(key, ()):
            same_time = document.created_ns in (None, stored.created_ns)
            if same_time and stored.rows == len(document.runs) and self._holds(stored.number, document):
                return stored.number
        return None

    def regions(self, study: Study, created_ns: int, pieces: Callable[[], Iterable[bytes]]) -> int | None:
        """Return the study that holds the same file of timed regions with the same options; None where there is none.

        `pieces`: yields the file's pieces, read anew for each study that may be the same.
        """
        for stored in self._known.get(_key(study), ()):
            if stored.created_ns == created_ns:
                pairs = itertools.zip_longest(self._opened.regions(stored.number), pieces())
                if all(stored_piece == piece for stored_piece, piece in pairs):
                    return stored.number
        return None

    def add(self, number: int, document: Document) -> None:
        """Add a study that was stored after this object was created."""
        self._added.setdefault(_key(document.study), []).append((number, document))

    def _holds(self, number: int, document: Document) -> bool:
        if document.verdict is not None and self._opened.verdict(number) != document.verdict:
            return False
        if document.regions:
            return b"".join(self._opened.regions(number)) == b"".join(document.regions)
        if document.runs:
            same = list(self._opened.runs(number)) == list(document.runs)
            # A damaged study is repaired by importing the file to which it was exported.
            return same and not self._opened.damaged(number)
        return document.verdict is not None


def _content(document: Document) -> tuple[Any, ...]:
    return list(document.runs), list(document.regions), document.verdict


def _key(study: Study) -> str:
    """Return the description of a study as text: equal for studies of the same programs, settings and options."""
    programs = [workload.to_json() for workload in study.workloads]
    settings = [setting.to_json() for setting in study.settings]
    described = [study.kind, study.title, study.host, study.seed, dict(study.options), programs, settings]
    return json.dumps(described, sort_keys=True, default=str)
