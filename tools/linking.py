"""The linking of the programs in a wheel, and the platforms that follow from it.

All programs but one are linked statically and run on any Linux. becalm-timers alone is linked dynamically, to load
libraries. Where it cannot start, as on musl, the agent evaluates timers without these libraries
(`becalm.hosts.timer_evaluation`). So its needs are no needs of the wheel, but they are kept at glibc 2.17.

Public: Linking, linking, platforms, zig_linker.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

OPTIONAL = "becalm-timers"

ZIG = "0.17.1"
"""The version of zig, whose linker and library for stack traces becalm-timers has."""

OLDEST_GLIBC = 17
"""The minor version of the oldest glibc 2 with a manylinux that all Pythons of becalm know (PEP 599)."""

MANYLINUX_NEEDS = {"libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "librt.so.1"}
"""Libraries that every manylinux has (PEP 600), besides the loader."""


@dataclass(frozen=True, slots=True)
class Linking:
    """The linking of a program. `glibc`: the minor version of the oldest glibc 2 that has its symbols."""

    static: bool
    glibc: int = 0
    foreign: tuple[str, ...] = ()


def linking(output: str) -> Linking:
    """Return how a program is linked, by the output of `readelf --program-headers --dynamic --version-info`."""
    libraries = set(re.findall(r"\(NEEDED\).*\[([^\]]+)\]", output))
    foreign = sorted(name for name in libraries - MANYLINUX_NEEDS if not name.startswith("ld-linux"))
    glibc = max((int(minor) for minor in re.findall(r"\bGLIBC_2\.(\d+)", output)), default=0)
    return Linking(not libraries and not re.search(r"^\s*INTERP\b", output, re.MULTILINE), glibc, tuple(foreign))


def programs(wheel: Path) -> dict[str, Linking]:
    """Return how each program of a wheel is linked."""
    result = {}
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as place:
        for member in archive.infolist():
            if archive.read(member)[:4] == b"\x7fELF":
                file = Path(archive.extract(member, place))
                command = ["readelf", "-W", "--program-headers", "--dynamic", "--version-info"]
                done = subprocess.run([*command, file], capture_output=True, text=True, check=True)
                result[file.name] = linking(done.stdout)
    return result


def platforms(linked: Mapping[str, Linking], machine: str) -> str:
    """Return the platform tags of a wheel, joined by dots.

    Raises SystemExit when a program is not what the tags promise.
    """
    for name, program in linked.items():
        if program.foreign:
            sys.exit(f"{name} needs {', '.join(program.foreign)}, which manylinux does not have.")
        if name != OPTIONAL and not program.static:
            sys.exit(f"{name} is linked dynamically, and so does not run on musl.")
        if program.glibc > OLDEST_GLIBC:
            sys.exit(f"{name} needs glibc 2.{program.glibc}; the wheel is for 2.{OLDEST_GLIBC} and later.")
    return f"manylinux_2_{OLDEST_GLIBC}_{machine}.manylinux2014_{machine}.musllinux_1_1_{machine}"


def zig_linker(folder: Path, python: Path, machine: str) -> Path:
    """Write a linker for glibc 2.17 on any newer machine, by the zig that `python` has installed; return its path.

    Zig has the symbols of every glibc, and LLVM's library for stack traces in place of GCC's.
    """
    path = folder / f"zig-linker-{machine}"
    path.write_text(
        "#!/bin/bash\n"
        "words=()\n"
        'for word in "$@"; do [ "$word" = -lgcc_s ] && word=-lunwind; words+=("$word"); done\n'
        f'exec "{python}" -m ziglang cc -target {machine}-linux-gnu.2.{OLDEST_GLIBC} "${{words[@]}}"\n',
        encoding="utf-8",
    )
    path.chmod(0o755)
    return path
