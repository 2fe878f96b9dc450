"""The programs inside the installed package: version, kind of processor, linking, optional parts."""

from __future__ import annotations

import importlib.resources
import re
import subprocess
from pathlib import Path

import msgspec

from becalm.hosts.guest import elf

NAMES = ("becalm-agent", "becalm-helper", "becalm-sim", "becalm-timers")

MACHINES = {62: "x86_64", 183: "aarch64"}
"""e_machine of an ELF header (elf.h)."""

LONGEST_S = 10
"""The time after which a program that should only print its version counts as one that does not start."""


class OwnProgram(msgspec.Struct, frozen=True):
    """A program of the package. `version` is empty where it does not start; `problem` then has the reason."""

    name: str
    version: str
    machine: str = ""
    static: bool = False
    features: tuple[str, ...] = ()
    problem: str = ""


def own_programs(folder: Path | None = None) -> list[OwnProgram]:
    """Return the programs of the package, or of a folder."""
    place = Path(str(importlib.resources.files("becalm"))) if folder is None else folder
    return [_program(place / name) for name in NAMES]


def _program(path: Path) -> OwnProgram:
    try:
        file = elf.read(path.read_bytes())
    except OSError as error:
        return OwnProgram(path.name, "", problem=str(error.strerror))
    except elf.NotSuitable as error:
        return OwnProgram(path.name, "", problem=str(error))
    machine = MACHINES.get(file.machine, f"machine {file.machine}")
    static = file.interpreter is None and not file.needed
    output, problem = _output(path, "--version")
    match = re.match(rf"{path.name} (\d\S*)", output)
    if match is None:
        return OwnProgram(path.name, "", machine, static, problem=problem or "it prints no version")
    features = _output(path, "--features")[0] if path.name == "becalm-agent" else ""
    return OwnProgram(path.name, match[1], machine, static, tuple(features.split()))


def _output(path: Path, word: str) -> tuple[str, str]:
    """Return a program's output, and the reason to report if the output is not the expected one."""
    try:
        done = subprocess.run([path, word], capture_output=True, text=True, timeout=LONGEST_S, check=False)
    except OSError as error:
        return "", str(error.strerror)
    except subprocess.TimeoutExpired:
        return "", f"it did not end within {LONGEST_S} s"
    lines = done.stderr.strip().splitlines()
    # becalm-helper refuses every argument, with its version on standard error.
    return done.stdout or done.stderr, lines[-1] if lines else f"exit code {done.returncode}"
