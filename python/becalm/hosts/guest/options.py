"""The options in a guest's name: `guest:6.1?cpus=2&mem=1G&append=isolcpus=1&modules=loop&files=/a:/b&disk=1G`."""

from __future__ import annotations

import difflib
import os
import re
from urllib.parse import unquote_plus

import msgspec
from msgspec.structs import replace

from becalm.errors import UsageError
from becalm.units import duration_ns

MEMORY = {"": 1, "M": 1, "G": 1024}
SMALLEST_MIB = 128
"""The least memory with which a distribution's kernel and an initramfs boot, MiB."""
SMALLEST_SWAP_MIB, SMALLEST_DISK_MIB = 16, 128
"""The least sizes, MiB: of swap, what a load needs to swap at all; of a disk, room for a load's file (64 MiB) and for
ext4 itself."""


class GuestOptions(msgspec.Struct, frozen=True):
    """The options of a guest.

    - `kernel`: a version as `becalm guest prepare` takes it, or the path of a vmlinuz
    - `mem`: MiB
    - `append`: parameters of the kernel's command line
    - `accel`: "auto", "kvm" or "tcg" (software emulation)
    - `net`: "none" or "user" (`network`)
    - `swap`, `disk`: MiB; None for none (`storage`)
    - `limit_s`: the time in which it must boot, s
    """

    kernel: str
    cpus: int = 1
    mem: int = 1024
    append: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    accel: str = "auto"
    net: str = "none"
    swap: int | None = None
    disk: int | None = None
    limit_s: float = 120.0


def parse(text: str) -> GuestOptions:
    """Return the options in a host's name after "guest:". Raises UsageError."""
    kernel, _, query = text.partition("?")
    if not kernel:
        raise UsageError(
            "Which kernel? Name one: guest:6.1 (`becalm guest prepare 6.1` fetches it), or guest:/boot/vmlinuz."
        )
    options = GuestOptions(kernel)
    for pair in query.split("&") if query else ():
        name, equals, value = pair.partition("=")
        # In a query a plus sign is a space, and %2B a plus sign.
        value = unquote_plus(value)
        if name not in READERS:
            near = difflib.get_close_matches(name, READERS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise UsageError(f"A guest has no option {name!r}.{hint} Options: {', '.join(READERS)}.")
        if not equals or not value:
            raise UsageError(f"The guest's option {name} needs a value: {name}=….")
        options = READERS[name](options, value)
    if options.swap is not None and 2 * options.swap > options.mem:
        raise UsageError(
            f"A guest's swap is in its own memory, compressed: at most half of that can be swap, "
            f"{options.mem // 2}M of {options.mem}M, not {options.swap}M. More memory: mem={2 * options.swap}M."
        )
    return options


def parameters(text: str) -> tuple[str, ...]:
    """Return the parameters of a kernel's command line, separated by spaces, or by a comma before NAME=.

    "isolcpus=domain,1,nohz_full=1" has the parameters isolcpus=domain,1 and nohz_full=1.
    """
    return tuple(part for word in text.split() for part in re.split(r",(?=[A-Za-z_][\w.-]*=)", word) if part)


def _cpus(options: GuestOptions, value: str) -> GuestOptions:
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= 255:
        raise UsageError(f"A guest has 1 to 255 CPUs, not {value}.")
    return replace(options, cpus=int(value))


def _mebibytes(noun: str, value: str, least: int) -> int:
    match = re.fullmatch(r"(\d+)([MG]?)(iB)?", value)
    mebibytes = int(match[1]) * MEMORY[match[2]] if match else 0
    if mebibytes < least:
        raise UsageError(f"A guest's {noun} is written 512M or 2G and is at least {least}M, not {value}.")
    return mebibytes


def _mem(options: GuestOptions, value: str) -> GuestOptions:
    return replace(options, mem=_mebibytes("memory", value, SMALLEST_MIB))


def _swap(options: GuestOptions, value: str) -> GuestOptions:
    return replace(options, swap=_mebibytes("swap", value, SMALLEST_SWAP_MIB))


def _disk(options: GuestOptions, value: str) -> GuestOptions:
    return replace(options, disk=_mebibytes("disk", value, SMALLEST_DISK_MIB))


def _append(options: GuestOptions, value: str) -> GuestOptions:
    return replace(options, append=(*options.append, *parameters(value)))


def _modules(options: GuestOptions, value: str) -> GuestOptions:
    return replace(options, modules=(*options.modules, *(name for name in value.split(",") if name)))


def _files(options: GuestOptions, value: str) -> GuestOptions:
    paths = [path for path in value.split(":") if path]
    for path in paths:
        if not os.path.exists(path):
            raise UsageError(f"The guest is to have {path}, but there is no such file here.")
    return replace(options, files=(*options.files, *map(os.path.abspath, paths)))


def _accel(options: GuestOptions, value: str) -> GuestOptions:
    if value not in ("auto", "kvm", "tcg"):
        raise UsageError(f"accel is auto, kvm or tcg (software emulation), not {value}.")
    return replace(options, accel=value)


def _net(options: GuestOptions, value: str) -> GuestOptions:
    if value not in ("none", "user"):
        raise UsageError(f"net is none, or user (the network of QEMU that needs no rights), not {value}.")
    return replace(options, net=value)


def _limit(options: GuestOptions, value: str) -> GuestOptions:
    return replace(options, limit_s=duration_ns(value) / 1e9)


READERS = {
    "cpus": _cpus,
    "mem": _mem,
    "append": _append,
    "modules": _modules,
    "files": _files,
    "accel": _accel,
    "net": _net,
    "swap": _swap,
    "disk": _disk,
    "limit": _limit,
}
"""The parsers of the options, by name."""
