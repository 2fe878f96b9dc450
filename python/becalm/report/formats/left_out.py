"""Entries of a file that become no value: every reader reports them here, and reads the rest.

A reader opens each entry in `with left_out.entry(name):` and adds by `left_out.add` what it passes over itself. The
findings are stored with the study and repeated by whoever compares it; a file of which nothing is left is refused with
all of the reasons.
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
"""The kind of these findings."""

LOCAL_TIME = "local_time"
"""The kind of findings about dates that were read as local time."""

BROKEN = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError)
"""The exceptions of reading an entry that does not follow its format."""

NO_RATIO = "zero or below, which has no ratio"
NO_NUMBER = "no finite number"


class LeftOutEntries:
    """Entries of one file that are left out, by the reason, in the order of the file."""

    def __init__(self) -> None:
        self._reasons: dict[str, dict[str, int]] = {}
        self._layout: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._reasons)

    def add(self, entry: str, reason: str, count: int = 1) -> None:
        """Leave out an entry, or so many values of it."""
        pairs = self._reasons.setdefault(_writable(reason), {})
        name = _writable(entry)
        pairs[name] = pairs.get(name, 0) + count

    @contextlib.contextmanager
    def entry(self, name: str) -> Iterator[None]:
        """Leave out the entry whose reading breaks off, with what was expected of it."""
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
        """Return the error of a file that holds nothing else; `lacking` is the sentence of it without its end."""
        if self._layout and len(self._layout) == len(self._reasons):
            return Unlike("; ".join(self._layout))
        return ValueError(f"{lacking} ({self.reasons()})" if self else lacking)

    def reasons(self) -> str:
        """Return all reasons with their entries, as a part of a sentence."""
        return "; ".join(
            f"{entries(list(map(list, pairs.items())))}: {one_line(reason)}" for reason, pairs in self._reasons.items()
        )


def reason_of(error: Exception) -> str:
    """Return the error in an entry, without Python's names of types."""
    if isinstance(error, KeyError):
        return f"it lacks {error}"
    if isinstance(error, ValueError) and str(error):
        return str(error)
    return "it is laid out in another way"


def _writable(text: str) -> str:
    """Return a text that can be stored: a lone half of a surrogate pair is written out."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return ascii(text)
    return text


def of_documents(documents: Iterable[Iterable[Finding]]) -> tuple[Finding, ...]:
    """Return findings of several studies of one import, put together by their reasons; then what was assumed of
    dates."""
    together = LeftOutEntries()
    assumed: dict[str, Finding] = {}
    for noticed in documents:
        for each in noticed:
            if each.kind == KIND:
                for entry, count in each.numbers["entries"]:
                    together.add(entry, each.numbers["reason"], count)
            elif each.kind == LOCAL_TIME:
                assumed.setdefault(each.numbers["offset"], each)
    return (*together.findings(), *assumed.values())
