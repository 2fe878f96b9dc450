"""The disk and swap of a guest, if its name asks for them (`disk=1G`, `swap=512M`).

The disk is a file of this machine with an ext4, created for a boot and removed with it; swap is compressed memory of
the guest (zram). `of` returns what a kernel needs for them, `Storage.create` makes the file, and the agent as process 1
mounts the disk and switches swap on (crates/becalm-agent/src/storage.rs). `GuestMachine` calls them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import msgspec

from becalm.errors import MachineError
from becalm.hosts.guest import kernel
from becalm.hosts.guest.options import GuestOptions

DISK, SWAP = ("virtio_pci", "virtio_blk", "ext4"), ("zram",)
"""The kernel modules for each, if they are not built in."""
CHECKSUMS = ("crc32c_generic",)
"""The modules that ext4 requests by modprobe(8), which a guest lacks; where they do not exist they are built in."""
COMPRESSORS = ("lzo_rle", "lz4", "zstd")
"""The compressors of zram, one of which is the kernel's default (CONFIG_ZRAM_DEF_COMP)."""
PLACE = "/var/tmp"
"""The mount point of the disk: the directory of large temporary files (hier(7)), and the default of `--disk`."""
MAKER = "mke2fs"
PLACES = "/usr/sbin:/sbin"
"""The directories of mke2fs where ordinary users do not have them in PATH."""


class Storage(msgspec.Struct, frozen=True):
    """The needs of disk and swap: the size of `disk` in MiB, `modules` of the kernel, `files` as pairs of path and
    text."""

    disk: int | None = None
    modules: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()

    @property
    def directories(self) -> tuple[str, ...]:
        """The directories that the storage needs in the guest."""
        return () if self.disk is None else (PLACE,)

    def create(self, place: Path) -> list[str]:
        """Create the disk in a directory, and return its options for QEMU. Raises MachineError."""
        if self.disk is None:
            return []
        path = place / "disk"
        try:
            with path.open("wb") as file:
                file.truncate(self.disk << 20)
            # ext4 must not write in the background during measurements.
            words = [_maker(), "-q", "-F", "-t", "ext4", "-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard"]
            done = subprocess.run([*words, str(path)], capture_output=True, text=True, check=False)
        except OSError as error:
            raise MachineError(f"The guest's disk cannot be made in {place}: {error.strerror}.") from error
        if done.returncode != 0:
            raise MachineError(f"The guest's disk cannot be made: {MAKER}: {done.stderr.strip()[-300:]}")
        # QEMU's options have two commas for one.
        name = str(path).replace(",", ",,")
        drive = f"file={name},format=raw,if=none,id=disk,cache=writeback"
        return ["-drive", drive, "-device", "virtio-blk-pci,drive=disk"]

    def unlink(self, place: Path) -> None:
        """Remove the file of the disk once QEMU has opened it, so that it ends with QEMU even if becalm is killed."""
        if self.disk is not None:
            (place / "disk").unlink()


def of(wanted: GuestOptions, image: kernel.Kernel) -> Storage:
    """Return the disk and swap of a guest with this kernel. Raises MachineError without a driver or mke2fs."""
    modules: list[str] = []
    files: list[tuple[str, str]] = []
    if wanted.disk is not None:
        modules += _modules(image, DISK, CHECKSUMS, "disk", "a virtio block device (CONFIG_VIRTIO_BLK) and ext4")
        files.append(("/etc/becalm/disk", f"{PLACE}\n"))
        _maker()
    if wanted.swap is not None:
        modules += _modules(image, SWAP, COMPRESSORS, "swap", "compressed memory as a device (CONFIG_ZRAM)")
        files.append(("/etc/becalm/swap", f"{wanted.swap << 20}\n"))
    return Storage(wanted.disk, tuple(modules), tuple(files))


def lacking(name: str, wanted: GuestOptions, *, disk: bool, swap: bool) -> str:
    """Return a sentence for each that the guest of this name lacks, on how to get it; empty if it lacks none."""
    sentences = []
    separator = "&" if "?" in name else "?"
    if disk and wanted.disk is None:
        sentences.append(f"A guest has a disk, at {PLACE}, where its name asks for one: {name}{separator}disk=1G")
    if swap and wanted.swap is None:
        # Swap takes at most half of the memory.
        size = min(512, wanted.mem // 2)
        sentences.append(f"A guest has swap where its name asks for it: {name}{separator}swap={size}M")
    return " ".join(sentences)


def _modules(
    image: kernel.Kernel, modules: tuple[str, ...], optional: tuple[str, ...], option: str, feature: str
) -> list[str]:
    """Return the existing ones of the optional modules, then the required ones; none if the modules are unknown."""
    if image.modules is None:
        return []
    existing = []
    for name in optional:
        with contextlib.suppress(MachineError):
            kernel.modules(image, [name])
            existing.append(name)
    try:
        kernel.modules(image, modules)
    except MachineError as error:
        raise MachineError(
            f"{option}=… needs a kernel with {feature}. {error} Leave {option} out, or take another kernel: "
            "becalm guest prepare 6.1."
        ) from None
    return [*existing, *modules]


def _maker() -> str:
    path = shutil.which(MAKER, path=f"{os.environ.get('PATH', '')}:{PLACES}")
    if path is None:
        raise MachineError(
            f"A guest's disk needs {MAKER}, which was not found. Debian, Ubuntu, Fedora: install e2fsprogs; or leave "
            "disk out of the host's name."
        )
    return path
