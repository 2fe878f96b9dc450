"""A guest's disk and swap: none of both, or what its name asks for (`disk=1G`, `swap=512M`).

The disk is a file of this machine that is made for the boot and goes with it, with an ext4 in it; swap is compressed
memory of the guest's own (zram). `of` says what a kernel needs for them, `Storage.made` makes the file, and the agent
as process 1 mounts the one and switches the other on (crates/becalm-agent/src/storage.rs). `GuestMachine` calls them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from becalm.errors import MachineError
from becalm.hosts.guest import kernel
from becalm.hosts.guest.options import GuestOptions

DISK, SWAP = ("virtio_pci", "virtio_blk", "ext4"), ("zram",)
"""Kernel modules for each, where they are not built in."""
CHECKSUMS = ("crc32c_generic",)
"""The modules that ext4 requests by modprobe(8), which a guest has not; built in where they are not there."""
COMPRESSORS = ("lzo_rle", "lz4", "zstd")
"""The same of zram: whichever of them is the kernel's default (CONFIG_ZRAM_DEF_COMP)."""
PLACE = "/var/tmp"
"""The mount point of the disk: for large files that need not last (hier(7)), and the default of `--disk`."""
MAKER = "mke2fs"
PLACES = "/usr/sbin:/sbin"
"""The directories of mke2fs on machines whose ordinary users do not have these in PATH."""


@dataclass(frozen=True, slots=True)
class Storage:
    """The needs of a guest's disk and swap: `modules` of the kernel, `files` by their place; the disk's size in MiB."""

    disk: int | None = None
    modules: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()

    @property
    def directories(self) -> tuple[str, ...]:
        """Return the directories of the guest that are there because of its storage."""
        return () if self.disk is None else (PLACE,)

    def made(self, place: Path) -> list[str]:
        """Make the disk in a directory; words for QEMU. Raises MachineError."""
        if self.disk is None:
            return []
        path = place / "disk"
        try:
            with path.open("wb") as file:
                file.truncate(self.disk << 20)
            # What would be written in the background while something is measured is left out here and there.
            words = [_maker(), "-q", "-F", "-t", "ext4", "-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard"]
            done = subprocess.run([*words, str(path)], capture_output=True, text=True, check=False)
        except OSError as error:
            raise MachineError(f"The guest's disk cannot be made in {place}: {error.strerror}.") from error
        if done.returncode != 0:
            raise MachineError(f"The guest's disk cannot be made: {MAKER} says: {done.stderr.strip()[-300:]}")
        # In an option of QEMU's a comma is written twice.
        name = str(path).replace(",", ",,")
        drive = f"file={name},format=raw,if=none,id=disk,cache=writeback"
        return ["-drive", drive, "-device", "virtio-blk-pci,drive=disk"]

    def opened(self, place: Path) -> None:
        """Remove the disk's name once QEMU has it open, so that it goes with QEMU whatever happens to becalm."""
        if self.disk is not None:
            (place / "disk").unlink()


def of(wanted: GuestOptions, image: kernel.Kernel) -> Storage:
    """Return the disk and swap of a guest with this kernel. Raises MachineError without a driver or mke2fs."""
    modules: list[str] = []
    files: list[tuple[str, str]] = []
    if wanted.disk is not None:
        modules += _of_kernel(image, DISK, CHECKSUMS, "disk", "a virtio block device (CONFIG_VIRTIO_BLK) and ext4")
        files.append(("/etc/becalm/disk", f"{PLACE}\n"))
        _maker()
    if wanted.swap is not None:
        modules += _of_kernel(image, SWAP, COMPRESSORS, "swap", "compressed memory as a device (CONFIG_ZRAM)")
        files.append(("/etc/becalm/swap", f"{wanted.swap << 20}\n"))
    return Storage(wanted.disk, tuple(modules), tuple(files))


def lacking(name: str, wanted: GuestOptions, *, disk: bool, swap: bool) -> str:
    """Return which of these a guest with this name lacks, and how it would have them: a sentence each."""
    said = []
    joined = "&" if "?" in name else "?"
    if disk and wanted.disk is None:
        said.append(f"A guest has a disk, at {PLACE}, where its name asks for one: {name}{joined}disk=1G")
    if swap and wanted.swap is None:
        # More than half of the memory is not taken.
        size = min(512, wanted.mem // 2)
        said.append(f"A guest has swap where its name asks for it: {name}{joined}swap={size}M")
    return " ".join(said)


def _of_kernel(
    found: kernel.Kernel, modules: tuple[str, ...], optional: tuple[str, ...], option: str, what: str
) -> list[str]:
    """Return the modules, after the optional ones that are there; none for a kernel whose modules are not known."""
    if found.modules is None:
        return []
    there = []
    for name in optional:
        with contextlib.suppress(MachineError):
            kernel.modules(found, [name])
            there.append(name)
    try:
        kernel.modules(found, modules)
    except MachineError as error:
        raise MachineError(
            f"{option}=… needs a kernel with {what}. {error} Leave {option} out, or take another kernel: "
            "becalm guest prepare 6.1."
        ) from None
    return [*there, *modules]


def _maker() -> str:
    path = shutil.which(MAKER, path=f"{os.environ.get('PATH', '')}:{PLACES}")
    if path is None:
        raise MachineError(
            f"A guest's disk needs {MAKER}, which was not found. Debian, Ubuntu, Fedora: install e2fsprogs; or leave "
            "disk out of the host's name."
        )
    return path
