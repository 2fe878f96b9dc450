"""Archives whose bytes depend on their contents only: no time, order, owner or mode of the machine that packs them.

Public: Member, sdist, wheel, read, differences.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import re
import tarfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

Member = tuple[bool, bytes]
"""Whether a file is executable, and its contents."""

ZIP_EPOCH = 315_532_800
"""1980, before which a zip archive knows no time."""


def read(path: Path) -> dict[str, Member]:
    """Return the files of an sdist or a wheel by name."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return {
                member.filename: (bool(member.external_attr >> 16 & 0o100), archive.read(member))
                for member in archive.infolist()
                if not member.is_dir()
            }
    with tarfile.open(path) as archive:
        return {member.name: (bool(member.mode & 0o100), data) for member, data in _files(archive)}


def _files(archive: tarfile.TarFile) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    for member in archive:
        if not member.isdir():
            file = archive.extractfile(member)
            if file is None:
                raise ValueError(f"{member.name} is not a plain file.")
            yield member, file.read()


def sdist(path: Path, epoch: int) -> None:
    """Pack an sdist again. `epoch`: the time of every file, in seconds since 1970."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=epoch) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, (executable, data) in sorted(read(path).items()):
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.mode = len(data), epoch, 0o755 if executable else 0o644
            archive.addfile(member, io.BytesIO(data))
    path.write_bytes(packed.getvalue())


def wheel(path: Path, to: Path, tags: tuple[str, str, str], epoch: int) -> Path:
    """Pack a wheel again into the folder `to`, for other tags: Python, ABI, platforms joined by dots."""
    files = read(path)
    name, version, *_ = path.stem.split("-")
    about = f"{name}-{version}.dist-info"
    executable, data = files[f"{about}/WHEEL"]
    files[f"{about}/WHEEL"] = executable, tagged(data.decode(), tags).encode()
    files[f"{about}/RECORD"] = False, record(files, about).encode()
    target = to / f"{name}-{version}-{'-'.join(tags)}.whl"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        # Installers read the last files first: what describes the wheel comes last (PEP 427).
        for member in sorted(files, key=lambda member: (member.startswith(about), member)):
            executable, data = files[member]
            info = zipfile.ZipInfo(member, time.gmtime(max(epoch, ZIP_EPOCH))[:6])
            info.external_attr = (0o100755 if executable else 0o100644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            archive.writestr(info, data)
    return target


def tagged(text: str, tags: tuple[str, str, str]) -> str:
    """Return the file WHEEL for other tags, one line for each platform."""
    python, abi, platforms = tags
    lines = "".join(f"Tag: {python}-{abi}-{platform}\n" for platform in platforms.split("."))
    return re.sub(r"(?:^Tag: .*\n)+", lines, text, count=1, flags=re.MULTILINE)


def record(files: Mapping[str, Member], about: str) -> str:
    """Return the file RECORD: name, checksum and size of every file but itself."""
    lines = []
    for name, (_, data) in sorted(files.items()):
        if name != f"{about}/RECORD":
            checksum = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={checksum},{len(data)}\n")
    return "".join([*lines, f"{about}/RECORD,,\n"])


def differences(first: Path, second: Path) -> list[str]:
    """Return what differs between two files: the members of archives, or the file itself; empty for the same bytes."""
    if first.read_bytes() == second.read_bytes():
        return []
    if first.suffix not in (".whl", ".gz"):
        return [first.name]
    left, right = read(first), read(second)
    members = sorted(name for name in {*left, *right} if left.get(name) != right.get(name))
    return [f"{first.name}: {name}" for name in members] or [f"{first.name}: how it is packed"]
