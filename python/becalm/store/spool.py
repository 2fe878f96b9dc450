"""The spool: a file in which finished runs are on disk before becalm receives them.

The agent writes each finished run at once to a file descriptor from becalm (docs/reference/protocol.md, --spool-fd),
and empties the file when the next block begins, because becalm has stored the block before by then. After becalm or the
agent was killed, `recover` stores the remaining runs. A spool in use is locked (flock); the lock belongs to the open
file that the agent shares, so it is released when both have ended.

A spool's name has a hash of the store's location, the study's number and the beginning of the study, so that runs are
never added to another study with the same number.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from becalm.errors import BecalmError, MachineError, StoreError, UsageError
from becalm.nouns.elsewhere import Place, place_in
from becalm.nouns.metric import are_valid
from becalm.nouns.run import COLUMNS, Outcome, Run
from becalm.paths import private_directory, spool_dir, state_dir
from becalm.store.store import Store

SUFFIX = ".spool"
ASIDE = ".aside"
"""The suffix of a spool that could not be read to its end, or whose study is not in the store."""

_UNASSIGNED = "new"
"""The name of a spool without a study, whose runs (probes, pilots) belong to none."""

_LONGEST_PLACE = 65536

_LARGEST = 1 << 26
"""The largest number of bytes read from a spool; a block of runs has a megabyte or two, and a file may be endless."""

_OPTIONAL = frozenset(name for name, kind in Run.__annotations__.items() if "None" in str(kind)) - {"wall_ns"}
"""The columns of a run that may be unknown."""


class Recovered(msgspec.Struct, frozen=True):
    """Runs of an earlier, killed becalm that have been stored.

    `aside`: the path at which the spool is kept if not all of it could be stored; else None.
    """

    study_id: int
    runs: int
    aside: Path | None = None


class Elsewhere(msgspec.Struct, frozen=True):
    """A study whose last runs may still be on another machine. `place`: their place, in the form of its host."""

    store: Store
    path: Path
    place: Place

    @property
    def study_id(self) -> int:
        """The study's number."""
        return _study(self.path)[0]

    def take(self, lines: bytes) -> list[Recovered]:
        """Store the runs in these lines. Raises MachineError if the spool cannot be written."""
        with _unused(self.path) as descriptor:
            if descriptor is None:
                return []
            try:
                held = _without_place(descriptor) + lines
                os.pwrite(descriptor, held, 0)
                os.ftruncate(descriptor, len(held))
            except OSError as error:
                raise MachineError(f"{self.path} cannot be written: {error.strerror}.") from error
        return list(_recover(self.store, self.path, heard=True))


class Spool:
    """The spool of a study while it is measured, as a context manager, which removes the file at its end.

    After an error its runs are stored first.
    """

    def __init__(self, store: Store, path: Path | None, descriptor: int | None) -> None:
        self._store = store
        self._path = path
        self._descriptor = descriptor
        self._assigned = False

    @classmethod
    def create(cls, store: Store) -> Spool:
        """Return the spool with a new, private, locked file; without a file for a store in memory.

        Raises MachineError if the file cannot be created, since a killed becalm would lose runs without it.
        """
        if store.location.memory:
            return cls(store, None, None)
        # state_dir makes its parents private; mkdir would create them with default permissions.
        state_dir()
        # The name is random, not the process's number: processes in containers share numbers and home directories.
        path = private_directory(spool_dir()) / f"{_key(store)}-{_UNASSIGNED}-{secrets.token_hex(8)}{SUFFIX}"
        try:
            # Another becalm may remove the file as abandoned before it is locked; then it is created again.
            while (descriptor := _locked(path, os.O_CREAT, fcntl.LOCK_EX)) is None:
                continue
        except OSError as error:
            raise MachineError(
                f"The file {path}, which keeps finished runs safe, cannot be made: {error.strerror}. Nothing was run. "
                "Set XDG_STATE_HOME to a directory you may write."
            ) from error
        return cls(store, path, descriptor)

    def assign(self, number: int) -> None:
        """Assign the spool to a study by renaming the file. Raises StoreError, MachineError."""
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
        self._assigned = True

    def lacking(self, rows: Sequence[Run]) -> list[Run]:
        """Return the runs that the file lacks: all of them without a file, or if it cannot be read."""
        if self._path is None:
            return list(rows)
        try:
            # A new descriptor, because the position of the other one is shared with the agent.
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                held, _ = read(descriptor)
            finally:
                os.close(descriptor)
        except OSError:
            return list(rows)
        return [row for row in rows if held.get(row.seq) != row]

    def fileno(self) -> int | None:
        """Return the descriptor for the agent."""
        return self._descriptor

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._descriptor is None or self._path is None:
            return
        os.close(self._descriptor)
        self._descriptor = None
        # Runs before there was a study (pilots of one that was then refused) belong to none.
        if error is None or not self._assigned:
            with contextlib.suppress(OSError):
                self._path.unlink()
            return
        # After an error the file may have runs that were never received. If the store fails, too, they stay there.
        with contextlib.suppress(BecalmError):
            recover(self._store, heard=False)


def recover(store: Store, *, heard: bool = True) -> list[Recovered]:
    """Store the runs of killed becalms and remove their spools; spools in use are left alone.

    A damaged spool, or one whose study is not in the store, is renamed with the suffix ASIDE and named in the result,
    if `heard`: the caller reports it to somebody; otherwise it stays for the next time. So does a spool if the store is
    read-only, locked or full. The spool of a becalm that was killed before its study began is removed.
    """
    if store.location.memory:
        return []
    try:
        directory = spool_dir()
    except MachineError:
        # Without a directory for spools there are none, and the store can still be read.
        return []
    return [recovered for path in _paths(store, directory) for recovered in _recover(store, path, heard)]


def in_use(store: Store) -> set[int]:
    """Return the numbers of the studies that are being measured on this machine."""
    result = set()
    with contextlib.suppress(MachineError):
        for path in () if store.location.memory else _paths(store, spool_dir()):
            with _unused(path) as descriptor:
                if descriptor is None and path.exists():
                    result.add(_study(path)[0])
    return result


def elsewhere(store: Store) -> list[Elsewhere]:
    """Return the studies of killed becalms whose last runs may still be on another machine."""
    elsewheres = []
    with contextlib.suppress(MachineError):
        for path in () if store.location.memory else _paths(store, spool_dir()):
            with _unused(path) as descriptor:
                if descriptor is None or _unassigned(path):
                    continue
                if (place := _place(descriptor)) is not None:
                    elsewheres.append(Elsewhere(store, path, place))
    return elsewheres


def _paths(store: Store, directory: Path) -> list[Path]:
    return sorted(directory.glob(f"{_key(store)}-*{SUFFIX}"))


def _place(descriptor: int) -> Place | None:
    """Return the place on another machine that the first line names; None for another line."""
    return place_in(os.pread(descriptor, _LONGEST_PLACE, 0).partition(b"\n")[0])


def _without_place(descriptor: int) -> bytes:
    """Return all but the first line."""
    return os.pread(descriptor, min(os.fstat(descriptor).st_size, _LARGEST), 0).partition(b"\n")[2]


def _recover(store: Store, path: Path, heard: bool) -> Iterator[Recovered]:
    with _unused(path) as descriptor:
        if descriptor is None:
            return
        if _unassigned(path):
            with contextlib.suppress(OSError):
                path.unlink()
            return
        number, began = _study(path)
        try:
            rows, whole = read(descriptor)
            missing = _take_over(store, number, began, rows)
        except (StoreError, OSError):
            return
        aside = None
        if _place(descriptor) is not None:
            # It is kept until the runs have been fetched from there.
            pass
        elif whole and missing is not None:
            with contextlib.suppress(OSError):
                path.unlink()
        elif heard:
            aside = path.with_name(path.name + ASIDE)
            try:
                path.rename(aside)
            except OSError:
                aside = path
        if missing or aside:
            yield Recovered(number, missing or 0, aside)


def _study(path: Path) -> tuple[int, int]:
    """Return the number and the beginning of the study in a spool's name; zeros without a study."""
    name, _, began = path.name.removesuffix(SUFFIX).partition("-")[2].partition("-")
    return int(name) if name.isdecimal() else 0, int(began) if began.isdecimal() else 0


def _unassigned(path: Path) -> bool:
    """Return whether the spool belongs to no study, because becalm was killed before one began."""
    return path.name.partition("-")[2].startswith(f"{_UNASSIGNED}-")


def _take_over(store: Store, number: int, began: int, rows: dict[int, Run]) -> int | None:
    """Store the runs that a study lacks and return their number; None if there are runs but no such study.

    `began`: the study's beginning in the spool's name, Unix ns.
    """
    if not rows:
        return 0
    try:
        began_ns = store.began_ns(number)
    except UsageError:
        return None
    if began != began_ns:
        return None
    missing = store.missing(number, rows)
    if missing:
        store.append(number, [rows[seq] for seq in sorted(missing)])
    return len(missing)


def read(descriptor: int) -> tuple[dict[int, Run], bool]:
    """Return the runs in a spool by `seq`, and whether it could be read completely. Raises OSError.

    A truncated last line is no damage, since the agent may have been killed while it wrote it.
    """
    with open(descriptor, "rb", closefd=False) as file:
        *lines, last = file.read(_LARGEST).split(b"\n")
        whole = not file.read(1)
    rows: dict[int, Run] = {}
    for line in lines:
        runs = _runs(line)
        rows |= {run.seq: run for run in runs}
        whole = whole and (bool(runs) or place_in(line) is not None)
    # The last line may lack only its end.
    rows |= {run.seq: run for run in _runs(last)}
    return rows, whole


def _runs(line: bytes) -> list[Run]:
    """Return the runs of a line; none if it is truncated or not a `runs` event."""
    try:
        return [_run(row) for row in json.loads(line)["rows"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []


def _run(row: list[object]) -> Run:
    run = Run.of(row[: len(COLUMNS)])
    for name, value in zip(COLUMNS, run, strict=True):
        if name == "outcome":
            Outcome(str(value))
        elif isinstance(value, tuple):
            _metrics(name, value)
        elif type(value) is int:
            if not -(2**63) <= value < 2**63:
                raise ValueError(name)
        elif value is not None or name not in _OPTIONAL:
            raise TypeError(name)
    return run


def _metrics(name: str, values: tuple[float, ...]) -> None:
    if name != "metrics" or not are_valid(values):
        raise ValueError(name)


@contextlib.contextmanager
def _unused(path: Path) -> Iterator[int | None]:
    """Yield a descriptor of an unused spool, else None; in the context no other process recovers it."""
    descriptor = None
    # A spool that is in use, or cannot be opened or locked, is left alone.
    with contextlib.suppress(OSError):
        descriptor = _locked(path, 0, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _locked(path: Path, flags: int, lock: int) -> int | None:
    """Return a locked descriptor of the file; None if the file was renamed or removed before it was locked.

    Raises OSError, also for a pipe or a device of that name, because reading it might never end.
    """
    wait = os.O_NONBLOCK | os.O_NOCTTY
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | wait | flags, 0o600)
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        fcntl.flock(descriptor, lock)
        if os.path.samestat(about, path.lstat()):
            return descriptor
    except FileNotFoundError:
        pass
    except OSError:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _key(store: Store) -> str:
    """Return the key of a store's spools."""
    return _hash(store.location.identity)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:12]
