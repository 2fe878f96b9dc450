"""Kernels for guests: fetched as Debian packages, or any vmlinuz; and their modules."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from becalm import paths
from becalm.errors import MachineError, UsageError
from becalm.files.text import NotTextError, decompress, open_bytes
from becalm.hosts.guest import elf, kernel_package
from becalm.hosts.limited_output import limited_output
from becalm.hosts.transport import TooMuchError

DEEPEST = 100
"""The longest chain of dependent modules; those of distributions have five."""

ATTEMPTS = 3
"""The number of packages to try, newest first: the index may name packages that the archive no longer has."""
RELEASE = re.compile(r"[0-9]+\.[0-9][0-9A-Za-z.+~_-]*")
"""The pattern of a kernel's release: the version, then characters that are safe in a path (Makefile, KERNELRELEASE)."""

MOST_OF_MODULE = 256 << 20
"""The largest unpacked module, in bytes."""

Say = Callable[[str], None]


class Kernel(msgspec.Struct, frozen=True):
    """A kernel to boot. `modules`: its /lib/modules/RELEASE, None if that does not exist."""

    release: str
    image: Path
    modules: Path | None


def shelf() -> Path:
    """Return the directory of prepared kernels, with a subdirectory for each, named by its release."""
    return paths.private_directory(paths.cache_dir() / "kernels", "XDG_CACHE_HOME")


def prepared() -> list[Kernel]:
    """Return the prepared kernels, newest first."""
    kernels = [_at(place) for place in shelf().iterdir() if (place / "vmlinuz").is_file()]
    return sorted(kernels, key=lambda kernel: _age(kernel.release), reverse=True)


def find(name: str) -> Kernel:
    """Return a kernel by version ("6.1": the newest prepared one) or by the path of its vmlinuz.

    Raises UsageError if no such kernel was prepared, MachineError if the file is not an x86-64 kernel.
    """
    if "/" in name:
        image = Path(name).expanduser()
        release = release_of(image)
        candidates = [image.parent / "modules", image.parent.parent / "lib/modules" / release]
        candidates += [image.parent.parent / "usr/lib/modules" / release, Path("/lib/modules") / release]
        return Kernel(release, image, next((path for path in candidates if (path / "kernel").is_dir()), None))
    kernels = prepared()
    for kernel in kernels:
        if _is(kernel.release, name):
            return kernel
    others = f" Prepared: {', '.join(kernel.release for kernel in kernels)}." if kernels else ""
    raise UsageError(f"There is no kernel {name} for guests here. Fetch it: becalm guest prepare {name}.{others}")


def prepare(name: str, say: Say = lambda _: None) -> Kernel:
    """Fetch a kernel package of Debian by version, or use a package file (.deb), and store the kernel.

    Raises MachineError if it cannot be fetched, UsageError if that version does not exist.
    """
    with tempfile.TemporaryDirectory(dir=shelf(), prefix=".fetch-") as scratch:
        package = Path(name) if name.endswith(".deb") else _fetch(name, Path(scratch), say)
        say(f"Unpacking {package.name}.")
        directory = Path(scratch) / "kernel"
        directory.mkdir()
        kernel_package.unpack(package, directory)
        images = list(directory.glob("boot/vmlinuz-*"))
        if len(images) != 1:
            raise UsageError(f"{package.name} holds no kernel image: it has {len(images)} files boot/vmlinuz-*.")
        place = _place(package, release_of(images[0]))
        images[0].rename(directory / "vmlinuz")
        for path in directory.glob("boot/config-*"):
            path.rename(directory / "config")
        for path in directory.glob("lib/modules/*"):
            path.rename(directory / "modules")
        if place.exists():
            shutil.rmtree(place)
        directory.rename(place)
    return _at(place)


def _place(package: Path, release: str) -> Path:
    """Return the directory for a kernel on the shelf, by the release that its image states.

    Raises UsageError if that is not a valid name, or names something else there.
    """
    place = shelf() / release
    if not RELEASE.fullmatch(release) or place.is_symlink() or (place.exists() and not (place / "vmlinuz").is_file()):
        raise UsageError(
            f"{package.name} holds a kernel that calls itself {release!r}, which is not a release such as "
            "6.1.0-50-cloud-amd64. Nothing was changed."
        )
    return place


def release_of(image: Path) -> str:
    """Return the release that a vmlinuz names in its header (Documentation/arch/x86/boot.rst, kernel_version).

    Raises MachineError if it is not a kernel for x86-64.
    """
    try:
        with open_bytes(image) as file:
            head = file.read(1 << 16)
    except (OSError, NotTextError) as error:
        raise MachineError(
            f"The kernel {image} cannot be read: {getattr(error, 'strerror', None) or error}."
        ) from error
    if head[0x202:0x206] != b"HdrS":
        if head[0x38:0x3C] == b"ARM\x64":
            raise MachineError(f"{image} is a kernel for 64-bit ARM; guests here are x86-64.")
        raise MachineError(f"{image} is not a kernel image for x86 (bzImage), such as a distribution's vmlinuz.")
    (where,) = struct.unpack_from("<H", head, 0x20E)
    (loading,) = struct.unpack_from("<H", head, 0x236)
    if not loading & 1:  # XLF_KERNEL_64
        raise MachineError(f"{image} is a 32-bit kernel; guests here are x86-64.")
    text = head[0x200 + where :].split(b"\0")[0].decode(errors="replace")
    return text.split(" ")[0] or "unknown"


def modules(kernel: Kernel, names: Sequence[str]) -> list[tuple[str, bytes]]:
    """Return modules with their dependencies in the order of loading, as pairs of name and unpacked content.

    Debian's packages have no modules.dep, so the dependencies are read from the modules (`depends` in .modinfo).
    Modules that are built into the kernel are left out. Raises MachineError for a module that does not exist.
    """
    if not names:
        return []
    if kernel.modules is None:
        raise MachineError(f"The modules of the kernel {kernel.release} were not found next to {kernel.image}.")
    files = {_plain(path.name.split(".ko")[0]): path for path in kernel.modules.rglob("*.ko*")}
    builtin: set[str] = set()
    with contextlib.suppress(OSError):
        lines = (kernel.modules / "modules.builtin").read_text().split()
        builtin = {_plain(Path(line).name.removesuffix(".ko")) for line in lines}
    order: dict[str, bytes] = {}
    waiting: list[str] = []

    def add(name: str, origin: str) -> None:
        if name in order or name in builtin:
            return
        if name not in files:
            raise MachineError(f"The kernel {kernel.release} has no module {name}{origin}.")
        if name in waiting or len(waiting) > DEEPEST:
            raise MachineError(f"The modules of the kernel {kernel.release} depend on each other without end: {name}.")
        data = _module(files[name])
        try:
            depends = elf.notes(data).get("depends", "")
        except elf.NotSuitable as error:
            raise MachineError(f"The module {files[name]} cannot be used: {error}.") from None
        waiting.append(name)
        for dependency in filter(None, depends.split(",")):
            add(_plain(dependency), f", which {name} depends on")
        waiting.remove(name)
        order[name] = data

    for name in names:
        add(_plain(name), "")
    return list(order.items())


def _module(path: Path) -> bytes:
    try:
        with open_bytes(path) as file:
            data = file.read(MOST_OF_MODULE + 1)
        if path.suffix in (".xz", ".gz"):
            data = decompress(data, MOST_OF_MODULE)
    except (OSError, NotTextError) as error:
        raise MachineError(f"The module {path} cannot be unpacked: {error}.") from None
    if path.suffix == ".zst":
        data = _unzstd(path)
    if len(data) > MOST_OF_MODULE:
        raise _too_large(path)
    return data


def _too_large(path: Path) -> MachineError:
    return MachineError(f"The module {path} has more than {MOST_OF_MODULE >> 20} MiB, which is all that is read.")


def _unzstd(path: Path) -> bytes:
    """Return the content of a file packed by zstd, by the program zstd: Python has none before 3.14. Raises
    MachineError."""
    try:
        done = limited_output(["zstd", "-dcq", "--", str(path)], b"", MOST_OF_MODULE, env=os.environ)
    except TooMuchError:
        raise _too_large(path) from None
    except OSError:
        raise MachineError(
            f"{path} is packed with zstd, and the program zstd is missing: install it (apt-get install zstd)."
        ) from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise MachineError(f"{path} cannot be unpacked: {lines[-1] if lines else 'zstd gave no reason'}.")
    return done.stdout


def _why(error: Exception) -> object:
    return getattr(error, "strerror", None) or error


def _plain(name: str) -> str:
    # The kernel treats - and _ alike (kernel/module).
    return name.replace("-", "_")


def _at(place: Path) -> Kernel:
    modules = place / "modules"
    return Kernel(place.name, place / "vmlinuz", modules if modules.is_dir() else None)


def _is(release: str, name: str) -> bool:
    """Return whether a release belongs to a version: 6.1.0-50-cloud-amd64 belongs to 6.1, 6.12.9 does not."""
    return release == name or (release.startswith(name) and not release[len(name)].isalnum())


def _age(release: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", release))


def _fetch(name: str, scratch: Path, say: Say) -> Path:
    if not re.fullmatch(r"[0-9][0-9A-Za-z.+~-]*", name):
        raise UsageError(f"A kernel is named by its version, such as 6.1, or by a package file; not {name!r}.")
    for tool in ("apt-cache", "apt-get"):
        if shutil.which(tool) is None:
            raise MachineError(
                f"{tool} was not found: kernels are fetched from Debian's archive. Elsewhere name any vmlinuz: "
                "--host guest:/boot/vmlinuz-… or a downloaded package: becalm guest prepare linux-image-….deb"
            )
    names = subprocess.run(
        ["apt-cache", "pkgnames", f"linux-image-{name}"], capture_output=True, text=True, check=False
    ).stdout.split()
    packages = []
    for package in names:
        release = package.removeprefix("linux-image-")
        # Kernels for virtual machines have a third of the size and boot in half the time.
        if re.fullmatch(r"\d+\.\d+\.\d.*-cloud-amd64", release) and _is(release, name):
            packages.append(package)
    packages.sort(key=_age, reverse=True)
    if not packages:
        raise UsageError(
            f"The package index has no linux-image-{name}…-cloud-amd64. Refresh it (apt-get update), name another "
            "version, or use a vmlinuz: --host guest:/boot/vmlinuz-…"
        )
    reason = ""
    for package in packages[:ATTEMPTS]:
        say(f"Fetching {package}.")
        done = subprocess.run(
            ["apt-get", "download", "-q", package], cwd=scratch, capture_output=True, text=True, check=False
        )
        files = list(scratch.glob("*.deb"))
        if done.returncode == 0 and files:
            return files[0]
        reason = next((line for line in done.stderr.splitlines() if line.startswith("E:")), done.stderr.strip()[-200:])
    raise MachineError(f"{packages[0]} cannot be fetched: {reason or 'apt-get gave no reason'}. Is there a network?")
