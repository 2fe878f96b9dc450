"""The cache of `becalm history`, so that only new sessions have to be analysed.

It holds sessions as the analysis takes them, each with a stamp that changes with its study, its runs and its verdict,
and the states of searches for changes. Everything can be computed from the store again. The state directory has two
files for each store: sessions (JSON) and arrays (numpy).
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from becalm.analysis.history_searches import Searches
from becalm.analysis.history_table import RecordedSession, SessionBenchmark
from becalm.errors import BecalmError
from becalm.paths import private_directory, state_dir
from becalm.results.history import HistorySession
from becalm.stats.change_search import Arrays

VERSION = 1

MOST = 8
"""The number of searches that are kept for a store: for different projects, branches and rates."""


class SessionPlace(msgspec.Struct, frozen=True):
    """The place of a session in the history: the fields by which sessions are selected."""

    project: str
    branch: str
    commit: str
    tags: tuple[str, ...]


class HistoryCache:
    """The cached sessions and searches of one store. Unreadable files count as missing."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.sessions: dict[str, list[Any]] = {}
        self.changed = False
        if folder is not None:
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                document = json.loads((folder / "sessions.json").read_text(encoding="utf-8"))
                if document["version"] == VERSION:
                    self.sessions = dict(document["sessions"])
        self.states = [] if folder is None else _states(folder / "searches.npz")
        self.searches = Searches(self.states)

    @classmethod
    def of(cls, identity: str, *, memory: bool = False) -> HistoryCache:
        """Return the cache of the store with this identity; an empty one that is never saved where that fails."""
        if memory:
            return cls(None)
        with contextlib.suppress(BecalmError):
            name = hashlib.sha256(identity.encode()).hexdigest()[:16]
            return cls(private_directory(state_dir() / "histories" / name))
        return cls(None)

    def session(self, number: int, stamp: str) -> tuple[SessionPlace, RecordedSession] | None:
        """Return a cached session whose stamp is this one; None where there is none."""
        entry = self.sessions.get(str(number))
        if entry is None or entry[0] != stamp:
            return None
        with contextlib.suppress(ValueError, TypeError, IndexError):
            project, branch, commit, tags = entry[1]
            return SessionPlace(project, branch, commit, tuple(tags)), _recorded(entry[2])
        return None

    def keep(self, number: int, stamp: str, place: SessionPlace, recorded: RecordedSession) -> None:
        """Add a session that has a verdict or was imported."""
        names = HistorySession.__struct_fields__
        session = [getattr(recorded.session, name) for name in names]
        parts = [
            [part.name, part.unit, part.higher_is_better, part.value, part.low, part.high, part.runs, part.failed]
            for part in recorded.measured
        ]
        entry = [place.project, place.branch, place.commit, place.tags]
        self.sessions[str(number)] = [stamp, entry, [session, recorded.machine, recorded.references, parts]]
        self.changed = True

    def save(self, numbers: Sequence[int]) -> None:
        """Write the changes and remove sessions of other studies than these. Failures are ignored."""
        if self.folder is None:
            return
        gone = self.sessions.keys() - set(map(str, numbers))
        for number in gone:
            del self.sessions[number]
        with contextlib.suppress(OSError):
            if self.changed or gone:
                document = {"version": VERSION, "sessions": self.sessions}
                _write(self.folder / "sessions.json", json.dumps(document).encode())
            known = {digest for digest, _ in self.states}
            new = [state for state in self.searches.states if state[0] not in known]
            if new:
                _write(self.folder / "searches.npz", _bytes([*new, *self.states][:MOST]))


def _recorded(entry: Sequence[Any]) -> RecordedSession:
    session, machine, references, parts = entry
    name, processor, kernel, settings = machine
    values: list[Any] = [tuple(value) if isinstance(value, list) else value for value in session]
    measured = tuple(SessionBenchmark(*part) for part in parts)
    return RecordedSession(HistorySession(*values), (name, processor, kernel, settings), measured, tuple(references))


def _states(path: Path) -> list[tuple[str, Arrays]]:
    with contextlib.suppress(OSError, ValueError, KeyError, EOFError):
        with np.load(path, allow_pickle=False) as file:
            digests = file["digests"].tolist()
            states: list[dict[str, Any]] = [{} for _ in digests]
            for name in file.files:
                number, _, part = name.partition("/")
                if part:
                    states[int(number)][part] = file[name]
        return list(zip(digests, states, strict=True))
    return []


def _bytes(states: Sequence[tuple[str, Arrays]]) -> bytes:
    tables: Mapping[str, Any] = {
        f"{number}/{name}": array for number, (_, arrays) in enumerate(states) for name, array in arrays.items()
    }
    file = io.BytesIO()
    np.savez(file, digests=np.array([digest for digest, _ in states]), **tables)
    return file.getvalue()


def _write(path: Path, content: bytes) -> None:
    new = path.with_suffix(".new")
    new.write_bytes(content)
    new.replace(path)
