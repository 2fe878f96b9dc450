"""Unpacking Debian packages of kernels, with limits, because anybody can have made them."""

from __future__ import annotations

import lzma
import re
import shutil
import tarfile
from pathlib import Path
from typing import BinaryIO

from becalm.errors import MachineError
from becalm.files.text import open_bytes

MOST_UNPACKED = 2 << 30
"""The largest unpacked package, in bytes. Debian's largest kernels have 500 MB."""

MOST_FILES = 50_000
"""The largest number of files in a package. Debian's kernels have 5,000."""

MOST_ABOUT = 1 << 20
"""The largest header for a long name, in bytes."""

WANTED_FILES = re.compile(r"(\./)?((usr/)?lib/modules/[^/]+/.+|boot/(vmlinuz|config)-.+)")


def unpack(package: Path, into: Path) -> None:
    """Unpack the image, its configuration and its modules (deb(5): an ar archive that contains a tar archive).

    Raises MachineError for a damaged package, or one beyond the limits.
    """
    left = MOST_UNPACKED
    try:
        with open_bytes(package) as file, tarfile.open(fileobj=_member(file), mode="r|*", tarinfo=_Entry) as archive:
            for number, entry in enumerate(archive):
                left -= entry.size
                if left < 0 or number == MOST_FILES:
                    raise ValueError(
                        f"it holds more than {MOST_UNPACKED >> 30} GiB, or more than {MOST_FILES:,} files, which is "
                        "all that is unpacked"
                    )
                if entry.isreg() and WANTED_FILES.fullmatch(entry.name) and ".." not in entry.name:
                    target = into / entry.name.removeprefix("./").removeprefix("usr/")
                    target.parent.mkdir(parents=True, exist_ok=True)
                    source = archive.extractfile(entry)
                    if source is not None:
                        with target.open("wb") as out:
                            shutil.copyfileobj(source, out, 1 << 20)
    except (OSError, tarfile.TarError, lzma.LZMAError, EOFError, ValueError) as error:
        raise MachineError(f"The package {package} cannot be unpacked: {error}.") from error


class _Entry(tarfile.TarInfo):
    """A member of an archive. Headers for the next member, which tarfile reads at once, must not exceed the limit."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        about = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
        if self.type in (*about, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK) and self.size > MOST_ABOUT:
            raise ValueError(
                f"it has a header of {self.size:,} bytes, of which {MOST_ABOUT >> 20} MiB are read at most"
            )
        info: tarfile.TarInfo = super()._proc_member(archive)  # type: ignore[misc]
        return info


def _member(file: BinaryIO) -> BinaryIO:
    """Move an ar archive (ar(5)) to its member data.tar and return the file; tarfile finds the member's end."""
    if file.read(8) != b"!<arch>\n":
        raise ValueError("it is not a Debian package")
    while len(header := file.read(60)) == 60:
        if header.startswith(b"data.tar"):
            return file
        size = int(header[48:58])
        if size < 0:
            # Seeking backwards would never end.
            raise ValueError("a member of it has a negative size")
        file.seek(size + size % 2, 1)
    raise ValueError("it has no member data.tar")
