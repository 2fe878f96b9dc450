"""Write an initramfs: a cpio archive of the "newc" format (Documentation/driver-api/early-userspace/buffer-format.rst).

`Cpio` writes entries; `Copier` puts files of this machine into it at their own paths, with the symbolic links on the
way to them, so that `/bin/sh` is found where `/bin` is a link to `usr/bin`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import BinaryIO

from becalm.errors import MachineError, WorkloadError

CHUNK = 1 << 20
LARGEST = (1 << 32) - 1
"""The largest file, in bytes: the format has 32 bits for a size."""


class Cpio:
    """A writer of entries into a binary file. `size`: the memory that the contents will take, in bytes of whole
    pages."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._inode = 0
        self.size = 0

    def directory(self, name: str, mode: int = 0o755, uid: int = 0, gid: int = 0) -> None:
        """Write a directory; its parents must have been written before."""
        self._header(name, stat.S_IFDIR | mode, uid, gid)

    def link(self, name: str, target: str) -> None:
        """Write a symbolic link."""
        data = os.fsencode(target)
        self._header(name, stat.S_IFLNK | 0o777, size=len(data))
        self._padded(data)

    def device(self, name: str, mode: int, major: int, minor: int) -> None:
        """Write a character device."""
        self._header(name, stat.S_IFCHR | mode, device=(major, minor))

    def data(self, name: str, data: bytes, mode: int = 0o644, uid: int = 0, gid: int = 0) -> None:
        """Write a file with the bytes `data`."""
        self._header(name, stat.S_IFREG | mode, uid, gid, size=len(data))
        self._padded(data)

    def file(self, name: str, path: str) -> None:
        """Write a copy of a file, with its mode, owner and time. Raises OSError."""
        with open(path, "rb") as source:
            about = os.fstat(source.fileno())
            size = about.st_size
            if size > LARGEST:
                raise WorkloadError(f"{path} has {size} bytes: an initramfs takes no file of 4 GiB or more.")
            mode = stat.S_IFREG | stat.S_IMODE(about.st_mode)
            self._header(name, mode, about.st_uid, about.st_gid, time=int(about.st_mtime), size=size)
            left = size
            while left and (chunk := source.read(min(left, CHUNK))):
                self._file.write(chunk)
                left -= len(chunk)
            # If the file has shrunk meanwhile, padding keeps the following entries in place.
            self._file.write(bytes(left + -size % 4))

    def end(self) -> None:
        """Write the last entry of the archive."""
        self._inode = 0
        self._header("TRAILER!!!", 0)

    def _header(
        self,
        name: str,
        mode: int,
        uid: int = 0,
        gid: int = 0,
        *,
        time: int = 0,
        size: int = 0,
        device: tuple[int, int] = (0, 0),
    ) -> None:
        self._inode += 1
        encoded = os.fsencode(name.lstrip("/")) + b"\0"
        links = 2 if stat.S_ISDIR(mode) else 1
        # c_ino, c_mode, c_uid, c_gid, c_nlink, c_mtime, c_filesize, c_maj, c_min, c_rmaj, c_rmin, c_namesize, c_chksum
        fields = (self._inode, mode, uid, gid, links, time & 0xFFFFFFFF, size, 0, 0, *device, len(encoded), 0)
        self._file.write(b"070701" + b"".join(b"%08X" % field for field in fields))
        self._file.write(encoded + bytes(-(110 + len(encoded)) % 4))
        self.size += -(-size // 4096) * 4096

    def _padded(self, data: bytes) -> None:
        self._file.write(data + bytes(-len(data) % 4))


class Copier:
    """A copier of this machine's files, each once, with their parent directories and the links on the way."""

    def __init__(self, cpio: Cpio) -> None:
        self._cpio = cpio
        self._done: set[str] = {"/"}

    def make_directory(self, path: str) -> None:
        """Write a directory without its entries, with its mode and owner here; readable by everybody if not here."""
        self._parents(PurePosixPath(path) / "x")

    def copy(self, path: str) -> None:
        """Copy a file with the targets of its links. Raises WorkloadError if it cannot be read."""
        real = self._parents(PurePosixPath(path))
        if real in self._done:
            return
        try:
            if os.path.isdir(real):
                self._directory(real)
            elif stat.S_ISREG(os.stat(real).st_mode):
                self._done.add(real)
                self._cpio.file(real, real)
        except OSError as error:
            raise WorkloadError(f"{path} cannot be copied into the guest: {error.strerror}.") from error

    def tree(self, path: str) -> None:
        """Copy a directory with its contents; sockets, pipes and devices are left out. Raises WorkloadError."""

        def failed(error: OSError) -> None:
            raise WorkloadError(f"{error.filename} cannot be copied into the guest: {error.strerror}.") from error

        if not os.path.isdir(path):
            self.copy(path)
            return
        self.make_directory(path)
        for directory, directories, files in os.walk(path, onerror=failed):
            for name in directories:
                entry = os.path.join(directory, name)
                if os.path.islink(entry):
                    self._link(entry)
                else:
                    self.make_directory(entry)
            for name in files:
                entry = os.path.join(directory, name)
                if os.path.exists(entry):
                    self.copy(entry)
                else:
                    self._link(entry)

    def _link(self, path: str) -> None:
        """Copy a link without its target, which is elsewhere or does not exist."""
        if os.path.islink(path) and path not in self._done:
            self._done.add(path)
            self._cpio.link(path, os.readlink(path))

    def _parents(self, path: PurePosixPath, depth: int = 0) -> str:
        """Write the directories and links on the way to a path, and the path's own links. Return its real path."""
        if depth > 40:
            raise MachineError(f"{path} goes through more than 40 symbolic links.")
        here = PurePosixPath("/")
        parts = path.parts[1:]
        for index, part in enumerate(parts):
            if part == "..":
                here = here.parent
                continue
            step = here / part
            text = str(step)
            if os.path.islink(text):
                target = os.readlink(text)
                if text not in self._done:
                    self._done.add(text)
                    self._cpio.link(text, target)
                rest = parts[index + 1 :]
                return self._parents(PurePosixPath(here, target, *rest), depth + 1)
            if index < len(parts) - 1:
                self._directory(text)
            here = step
        return str(here)

    def _directory(self, path: str) -> None:
        if path in self._done:
            return
        self._done.add(path)
        try:
            about = os.stat(path)
            self._cpio.directory(path, stat.S_IMODE(about.st_mode), about.st_uid, about.st_gid)
        except OSError:
            self._cpio.directory(path)


def fill(cpio: Cpio, files: Iterable[str], trees: Iterable[str], directories: Iterable[str]) -> None:
    """Copy files and trees, and make directories. Raises WorkloadError."""
    copier = Copier(cpio)
    for path in sorted(directories):
        copier.make_directory(path)
    for path in sorted(files):
        copier.copy(path)
    for path in sorted(trees):
        copier.tree(path)
