"""The spool: finished runs are on disk before becalm has heard of them.

The agent writes each finished run at once to a file that becalm handed to it (docs/protocol.md, --spool-fd), and
empties it when the next block begins, because whoever asks for that has stored the block before. When becalm or the
agent is killed, `recover` puts what is left into the store. A spool in use is locked (flock); the lock belongs to the
open file that the agent shares, so it is free as soon as both are gone.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from becalm.errors import StoreError
from becalm.nouns import Run
from becalm.paths import state_dir
from becalm.store.store import Store

SUFFIX = ".spool"


@dataclass(frozen=True, slots=True)
class Recovered:
    """Runs of an earlier, killed becalm that are in the store now."""

    study_id: int
    runs: int


class Spool:
    """The spool of one study while it is measured. Leaving it removes the file, after taking over what is in it."""

    def __init__(self, store: Store, path: Path | None, descriptor: int | None) -> None:
        self._store = store
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def create(cls, store: Store) -> Spool:
        """A new, private, locked file; none for a store in memory, which does not outlive becalm either."""
        if store.location.memory:
            return cls(store, None, None)
        path = _directory() / f"{_key(store)}-new-{os.getpid()}{SUFFIX}"
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return cls(store, path, descriptor)

    def assign(self, number: int) -> None:
        """Say which study the runs belong to: it is in the file's name."""
        if self._path is not None:
            named = self._path.with_name(f"{_key(self._store)}-{number}-{os.getpid()}{SUFFIX}")
            self._path.rename(named)
            self._path = named

    def fileno(self) -> int | None:
        """The descriptor for the agent."""
        return self._descriptor

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._descriptor is None or self._path is None:
            return
        os.close(self._descriptor)
        self._descriptor = None
        if error is None:
            self._path.unlink(missing_ok=True)
            return
        # After a fault the file may hold runs that never reached us. A store that fails too keeps them there.
        with contextlib.suppress(StoreError):
            recover(self._store)


def recover(store: Store) -> list[Recovered]:
    """Put the runs of killed becalms into the store and remove their spools; spools in use are left alone."""
    if store.location.memory:
        return []
    found = []
    for path in sorted(_directory().glob(f"{_key(store)}-*{SUFFIX}")):
        with _unused(path) as free:
            if not free:
                continue
            number = path.name.split("-")[1]
            count = _take_over(store, int(number), path) if number.isdigit() else 0
            path.unlink(missing_ok=True)
            if count:
                found.append(Recovered(int(number), count))
    return found


def _take_over(store: Store, number: int, path: Path) -> int:
    rows = {run.seq: run for run in read(path)}
    missing = store.missing(number, rows)
    store.append(number, [rows[seq] for seq in sorted(missing)])
    return len(missing)


def read(path: Path) -> Iterator[Run]:
    """The runs in a spool, up to the first line that is torn or no `runs` event."""
    with path.open("rb") as lines:
        for line in lines:
            try:
                for row in json.loads(line)["rows"]:
                    yield Run._make(row)
            except (ValueError, KeyError, TypeError):
                return


@contextlib.contextmanager
def _unused(path: Path) -> Iterator[bool]:
    """Whether nobody uses a spool; while this lasts, nobody else recovers it."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        yield False
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(descriptor)


def _directory() -> Path:
    path = state_dir() / "spool"
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def _key(store: Store) -> str:
    """Tells the spools of one store from those of others."""
    return hashlib.sha256(os.path.abspath(store.shown).encode()).hexdigest()[:12]
