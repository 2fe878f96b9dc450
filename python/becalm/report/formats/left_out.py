"""Entries of a file that yield no value: every reader reports them here, and reads the rest.

A reader opens each entry in `with left_out.entry(name):`, and passes entries that it skips to `left_out.add`. The
findings are stored with the study and repeated in comparisons of it; a file without any usable entry is refused with
all reasons.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator

from becalm.nouns.finding import Finding
from becalm.report.formats.layout import Unlike
from becalm.wording.findings import finding
from becalm.wording.left_out import entries
from becalm.wording.printable import one_line

KIND = "left_out"
"""The kind of findings about entries that were left out."""

LOCAL_TIME = "local_time"
"""The kind of findings about dates that were read as local time."""

BROKEN = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError)
"""The exceptions raised by reading an entry that does not follow its format."""

NO_RATIO = "zero or below, which has no ratio"
NO_NUMBER = "no finite number"


class LeftOutEntries:
    """The entries of a file that are left out, by reason, in the order of the file."""

    def __init__(self) -> None:
        self._reasons: dict[str, dict[str, int]] = {}
        self._layout: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._reasons)

    def add(self, entry: str, reason: str, count: int = 1) -> None:
        """Leave out an entry, or this number of its values."""
        pairs = self._reasons.setdefault(_writable(reason), {})
        name = _writable(entry)
        pairs[name] = pairs.get(name, 0) + count

    @contextlib.contextmanager
    def entry(self, name: str) -> Iterator[None]:
        """Leave out the entry if reading it fails, with what was expected of it as the reason."""
        try:
            yield
        except BROKEN as error:
            if isinstance(error, Unlike):
                self._layout.append(str(error))
            self.add(name, reason_of(error))

    def findings(self) -> tuple[Finding, ...]:
        """Return a finding for each reason."""
        return tuple(
            finding("left_out", {"reason": reason, "entries": [list(pair) for pair in pairs.items()]})
            for reason, pairs in self._reasons.items()
        )

    def refusal(self, lacking: str) -> ValueError:
        """Return the error about a file without usable entries; `lacking`: a sentence on it, without a full stop."""
        if self._layout and len(self._layout) == len(self._reasons):
            return Unlike("; ".join(self._layout))
        return ValueError(f"{lacking} ({self.reasons()})" if self else lacking)

    def reasons(self) -> str:
        """Return all reasons with their entries, as a part of a sentence."""
        return "; ".join(
            f"{entries(list(map(list, pairs.items())))}: {one_line(reason)}" for reason, pairs in self._reasons.items()
        )


def reason_of(error: Exception) -> str:
    """Return the error in an entry, without names of Python's types."""
    if isinstance(error, KeyError):
        return f"it lacks {error}"
    if isinstance(error, ValueError) and str(error):
        return str(error)
    return "it is laid out in another way"


def _writable(text: str) -> str:
    """Return a text that can be stored; a lone half of a surrogate pair is escaped."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return ascii(text)
    return text


def of_documents(documents: Iterable[Iterable[Finding]]) -> tuple[Finding, ...]:
    """Return the findings of several studies of one import: entries merged by reason, then assumptions about dates."""
    together = LeftOutEntries()
    assumed: dict[str, Finding] = {}
    for noticed in documents:
        for finding_ in noticed:
            if finding_.kind == KIND:
                for entry, count in finding_.numbers["entries"]:
                    together.add(entry, finding_.numbers["reason"], count)
            elif finding_.kind == LOCAL_TIME:
                assumed.setdefault(finding_.numbers["offset"], finding_)
    return (*together.findings(), *assumed.values())
