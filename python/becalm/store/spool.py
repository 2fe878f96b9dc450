"""The spool: finished runs are on disk before becalm has heard of them.

The agent writes each finished run at once to a file that becalm handed to it (docs/protocol.md, --spool-fd), and
empties it when the next block begins, because whoever asks for that has stored the block before. When becalm or the
agent is killed, `recover` puts what is left into the store. A spool in use is locked (flock); the lock belongs to the
open file that the agent shares, so it is free as soon as both are gone.

A spool's name tells the store (a hash of its location), the study's number and when the study began, so that runs
never come into another study that happens to have the same number.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from becalm.errors import BecalmError, MachineError, StoreError, UsageError
from becalm.nouns import COLUMNS, Outcome, Run
from becalm.paths import made, spool_dir
from becalm.store.store import Store

SUFFIX = ".spool"
ASIDE = ".aside"
"""Added to the name of a spool that could not be read to its end, or whose study the store does not have."""

_OPTIONAL = frozenset(name for name, kind in Run.__annotations__.items() if "None" in str(kind))


@dataclass(frozen=True, slots=True)
class Recovered:
    """Runs of an earlier, killed becalm that are in the store now.

    `aside` is where the spool was kept when not all of it could be taken over; None for a whole one.
    """

    study_id: int
    runs: int
    aside: Path | None = None


class Spool:
    """The spool of one study while it is measured. Leaving it removes the file, after taking over what is in it."""

    def __init__(self, store: Store, path: Path | None, descriptor: int | None) -> None:
        self._store = store
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def create(cls, store: Store) -> Spool:
        """A new, private, locked file; none for a store in memory, which does not outlive becalm either.

        Raises MachineError when the file cannot be made: without it a killed becalm would lose runs.
        """
        if store.location.memory:
            return cls(store, None, None)
        # The name is random, not the process's number: processes in containers share numbers and home directories.
        path = made(spool_dir()) / f"{_key(store)}-new-{secrets.token_hex(8)}{SUFFIX}"
        try:
            while True:
                descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                if os.fstat(descriptor).st_nlink:
                    break
                # Another becalm took it for an abandoned one between the two calls.
                os.close(descriptor)
        except OSError as error:
            raise MachineError(
                f"The file {path}, which keeps finished runs safe, cannot be made: {error.strerror}. Nothing was run. "
                "Set XDG_STATE_HOME to a directory you may write."
            ) from error
        return cls(store, path, descriptor)

    def assign(self, number: int) -> None:
        """Say which study the runs belong to: it is in the file's name. Raises StoreError, MachineError."""
        if self._path is None:
            return
        began_ns = self._store.began_ns(number)
        named = self._path.with_name(f"{_key(self._store)}-{number}-{began_ns}{SUFFIX}")
        try:
            self._path.rename(named)
        except OSError as error:
            raise MachineError(
                f"{self._path} cannot be renamed: {error.strerror}. Nothing was run; study {number} stays empty."
            ) from error
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
            with contextlib.suppress(OSError):
                self._path.unlink()
            return
        # After a fault the file may hold runs that never reached us. When the store fails, too, they stay there.
        with contextlib.suppress(BecalmError, OSError):
            recover(self._store)


def recover(store: Store) -> list[Recovered]:
    """Put the runs of killed becalms into the store and remove their spools; spools in use are left alone.

    A spool that is damaged, or whose study is not in the store, is kept beside with the suffix ASIDE, and named in
    what is returned. A spool that the store cannot take now (it is read-only, locked, full) stays for the next time.
    """
    if store.location.memory:
        return []
    return [found for path in sorted(spool_dir().glob(f"{_key(store)}-*{SUFFIX}")) for found in _recover(store, path)]


def _recover(store: Store, path: Path) -> Iterator[Recovered]:
    with _unused(path) as descriptor:
        if descriptor is None:
            return
        name, _, began_ns = path.name.removesuffix(SUFFIX).partition("-")[2].partition("-")
        number = int(name) if name.isdecimal() else 0
        rows, whole = read(descriptor)
        try:
            missing = _take_over(store, number, int(began_ns) if began_ns.isdecimal() else 0, rows)
        except StoreError:
            return
        aside = path.with_name(path.name + ASIDE) if not whole or missing is None else None
        with contextlib.suppress(OSError):
            if aside is None:
                path.unlink()
            else:
                path.rename(aside)
        if missing or aside:
            yield Recovered(number, missing or 0, aside)


def _take_over(store: Store, number: int, began_ns: int, rows: dict[int, Run]) -> int | None:
    """How many runs the study did not have yet; None when there are runs but the store has no such study."""
    if not rows:
        return 0
    try:
        if store.began_ns(number) != began_ns:
            return None
    except UsageError:
        return None
    missing = store.missing(number, rows)
    if missing:
        store.append(number, [rows[seq] for seq in sorted(missing)])
    return len(missing)


def read(descriptor: int) -> tuple[dict[int, Run], bool]:
    """The runs in a spool by `seq`, and whether that is all there was. A torn last line is no damage: it was on its
    way when the agent was killed."""
    with open(descriptor, "rb", closefd=False) as file:
        lines = file.read().split(b"\n")
    rows: dict[int, Run] = {}
    whole = True
    for line in lines[:-1]:
        try:
            rows |= {run.seq: run for run in map(_run, json.loads(line)["rows"])}
        except (ValueError, KeyError, TypeError, RecursionError):
            whole = False
    return rows, whole


def _run(row: list[object]) -> Run:
    run = Run(*row[: len(COLUMNS)])  # type: ignore[arg-type]
    for name, value in zip(COLUMNS, run, strict=True):
        if name == "outcome":
            Outcome(str(value))
        elif type(value) is int:
            if not -(2**63) <= value < 2**63:
                raise ValueError(name)
        elif value is not None or name not in _OPTIONAL:
            raise TypeError(name)
    return run


@contextlib.contextmanager
def _unused(path: Path) -> Iterator[int | None]:
    """A descriptor of a spool that nobody uses, else None; while this lasts, nobody else recovers it."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        yield None
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Another becalm may have recovered and removed it between the two calls.
        yield descriptor if os.fstat(descriptor).st_nlink else None
    except BlockingIOError:
        yield None
    finally:
        os.close(descriptor)


def _key(store: Store) -> str:
    """Tells the spools of one store from those of others."""
    return hashlib.sha256(store.location.identity.encode(errors="surrogateescape")).hexdigest()[:12]
