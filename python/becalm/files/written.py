"""Writing files for a person, without overwriting a file that becalm did not write itself.

`target` checks a path before anything is measured; `writing` checks it again and replaces the file as a whole. It
writes to a temporary file in the same directory and renames it (rename(2)) when it is complete, so that a failure
leaves the old file. A file that becalm wrote is recognised by an extended attribute with the SHA-256 of its content,
which does not match after an edit. Without attributes (in a copy, or on some network file systems), it is recognised by
a mark in becalm's HTML, JSON and Markdown.

Public: target, overwriting, writing, write, replace.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

from becalm.errors import MachineError, UsageError
from becalm.paths import resolve_store

DATABASE = b"SQLite format 3\0"
"""The beginning of every SQLite file (https://www.sqlite.org/fileformat.html, 1.3.1)."""

LOG = re.compile(rb"\x37\x7f\x06[\x82\x83]|\xd9\xd5\x05\xf9\x20\xa1\x63\xd7")
"""The beginning of SQLite's write-ahead log and rollback journal, in which a store's newest runs are (4.1, 3)."""

ATTRIBUTE = "user.becalm.sha256"
"""The extended attribute (xattr(7)) of a file that becalm wrote."""

MARKS = re.compile(
    rb'<meta name="generator" content="becalm |'
    rb'\A\s*\{\s*"becalm": "[^"]*",\s*"schema": |'
    rb"\A<!-- becalm |"
    rb"\A# HELP becalm_"
)
"""Marks at or near the beginning of files that becalm writes."""

HEAD = 2048
"""The bytes in which a mark is looked for."""

_ALLOWED: ContextVar[bool] = ContextVar("overwriting", default=False)


@contextmanager
def overwriting() -> Iterator[None]:
    """Permit to replace regular files that becalm did not write, within the context. A store is refused as always."""
    token = _ALLOWED.set(True)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def target(path: str | Path) -> Path:
    """Return the path of a file that is to be written.

    Raises UsageError for a store, a device, a directory, and, unless `overwriting`, for a file that becalm did not
    write, or that was edited since. An empty file and a pipe have nothing to lose.
    """
    _resolve(Path(path))
    return Path(path)


@contextmanager
def writing(path: str | Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Yield a file to write to, which replaces `path` when the context ends without an exception.

    `durable`: it is on the disk before it replaces `path`. Raises UsageError as `target` does, and OSError.
    """
    place, status = _resolve(Path(path))
    if status is not None and stat.S_ISFIFO(status.st_mode):
        with open(path, "wb") as pipe:
            yield pipe
        return
    with _replacing(place, status, durable=durable) as file:
        yield file


def write(path: str | Path, content: str | bytes) -> None:
    """Write a text, as UTF-8, or bytes. Raises UsageError as `target` does, and OSError."""
    with writing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def replace(path: Path, content: str, *, mode: int | None = None, durable: bool = True) -> None:
    """Replace becalm's own file as a whole, whatever it holds. Raises OSError, which leaves the old one unchanged."""
    try:
        status = path.stat()
    except FileNotFoundError:
        status = None
    with _replacing(path.resolve(), status, durable=durable, mode=mode) as file:
        file.write(content.encode())


def _resolve(path: Path) -> tuple[Path, os.stat_result | None]:
    """Return the target of a path and its status. Raises UsageError for a target that must not be overwritten."""
    try:
        # The kernel decides which links are followed (proc_sys_fs(5), protected_symlinks).
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            raise UsageError(f"{path} is a link to a file that is not there. Give another name.") from None
        return path, None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}. Give another name.") from None
    try:
        status = os.fstat(descriptor)
        what = f"/proc/self/fd/{descriptor}"
        if stat.S_ISREG(status.st_mode):
            _check(path, what, status)
        elif not stat.S_ISFIFO(status.st_mode):
            kind = "a directory" if stat.S_ISDIR(status.st_mode) else "a device or a socket, and not a file"
            raise UsageError(f"{path} is {kind}. Give the name of a file.")
        return Path(os.readlink(what)), status
    finally:
        os.close(descriptor)


def _check(path: Path, opened: str, result: os.stat_result) -> None:
    """Raise UsageError for a regular file that must not be overwritten."""
    try:
        with open(opened, "rb") as file:
            head = file.read(HEAD)
    except OSError:
        head = b"?"
    if _is_store(path, head, result):
        raise UsageError(f"{path} is a store, or another database, and would be lost. Give another name.")
    if not os.access(opened, os.W_OK):
        raise UsageError(f"{path} may not be written by this user. Give another name.")
    if result.st_size and not _ALLOWED.get() and not _written_here(opened, head):
        raise UsageError(
            f"{path} exists, and becalm did not write it, or it was edited since. Nothing was changed. Give another "
            "name, or --overwrite to replace it."
        )


def _is_store(path: Path, head: bytes, result: os.stat_result) -> bool:
    """Return whether a file is a database, belongs to one, or is the place of the person's own store, perhaps
    damaged."""
    if head.startswith(DATABASE) or LOG.match(head):
        return True
    base = re.sub(r"-(wal|shm|journal)$", "", str(path))
    with contextlib.suppress(OSError, MachineError):
        if base != str(path) and _head(base) == DATABASE:
            return True
        store = os.stat(resolve_store(None))
        return (store.st_dev, store.st_ino) == (result.st_dev, result.st_ino)
    return False


def _head(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(len(DATABASE))


def _written_here(opened: str, head: bytes) -> bool:
    """Return whether becalm wrote a file, as far as that can be told, and it was not edited since."""
    try:
        sum_ = os.getxattr(opened, ATTRIBUTE)
    except OSError:
        return MARKS.search(head) is not None
    try:
        with open(opened, "rb") as file:
            return sum_.decode(errors="replace") == hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return False


@contextmanager
def _replacing(
    place: Path, status: os.stat_result | None, *, durable: bool, mode: int | None = None
) -> Iterator[BinaryIO]:
    """Yield a new file next to `place`, which replaces it in the end, with the mode and owner of the old one."""
    # A name of its own, which is short enough wherever the other one is.
    new = place.parent / f".becalm-{os.getpid()}-{secrets.token_hex(4)}"
    with open(os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o666), "w+b") as file:
        try:
            yield file
            file.flush()
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            with contextlib.suppress(OSError):
                os.setxattr(file.fileno(), ATTRIBUTE, digest.encode())
            if status is not None:
                with contextlib.suppress(OSError):
                    os.fchown(file.fileno(), status.st_uid, status.st_gid)
            if mode is None and status is not None:
                mode = stat.S_IMODE(status.st_mode)
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            if durable:
                os.fsync(file.fileno())
            os.replace(new, place)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(new)
            raise
