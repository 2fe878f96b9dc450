"""The report of `becalm --version --verbose`: what is inside, for a report of a defect."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import json
import platform
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from becalm._version import VERSION
from becalm.hosts.own_programs import OwnProgram, own_programs

LIBRARIES = ("click", "rich", "msgspec", "numpy", "scipy", "jinja2", "matplotlib", "cloudpickle")

EXTRAS = {
    "postgresql": ("psycopg",),
    "cluster": ("distributed", "dask-jobqueue", "asyncssh", "cryptography"),
    "parquet": ("pyarrow",),
    "bayes": ("optuna",),
    "train": ("scikit-learn",),
    "mcp": ("mcp",),
    "replay": ("apache-otava", "ruptures"),
}
"""The extras of pyproject.toml that add abilities, and the packages of each."""


def version_report() -> str:
    """Return version, commit, Python, programs, libraries and extras, one per line."""
    package = Path(str(importlib.resources.files("becalm")))
    return "\n".join(
        [f"becalm {VERSION}", *rows([*origin_rows(package), *python_rows(), *program_rows(own_programs())])]
    )


def rows(pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield lines of names and values in two columns."""
    width = max(len(name) for name, _ in pairs)
    return (f"{name:{width}}  {value}".rstrip() for name, value in pairs)


def origin_rows(package: Path) -> Iterator[tuple[str, str]]:
    """Yield commit, repository and place of the package. Only a built package knows the first two."""
    origin = {}
    if (package / "origin.json").is_file():
        origin = json.loads((package / "origin.json").read_text(encoding="utf-8"))
    yield "commit", origin.get("commit") or "unknown"
    if origin.get("repository"):
        yield "repository", origin["repository"]
    yield "package", str(package)


def python_rows() -> Iterator[tuple[str, str]]:
    """Yield Python, C library, kernel, required libraries and optional extras."""
    library = " ".join(platform.libc_ver()) or "unknown"
    yield "Python", f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    yield "C library", library
    yield "kernel", f"{platform.release()}, {platform.machine()}"
    yield "libraries", ", ".join(f"{name} {_installed(name) or '(missing)'}" for name in LIBRARIES)
    present: list[str] = []
    missing: list[str] = []
    for extra, names in EXTRAS.items():
        versions = [_installed(name) for name in names]
        (present if all(versions) else missing).append(extra)
    yield "extras", _listed(present)
    yield "not installed", _listed(missing)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _installed(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def program_rows(programs: Sequence[OwnProgram]) -> Iterator[tuple[str, str]]:
    """Yield each program with its version, processor and linking, or with the reason why it does not start."""
    for program in programs:
        linking = "static" if program.static else "dynamic"
        if not program.version:
            yield program.name, f"cannot start here: {program.problem}"
        else:
            yield program.name, ", ".join(filter(None, (program.version, program.machine, linking)))
    agent = programs[0]
    if agent.version:
        yield "recording by BPF", "compiled in" if "bpf" in agent.features else "not compiled in"
