"""The components of becalm's packages and their licences: a bill of materials (CycloneDX 1.5) and a report.

    python tools/licences.py            # the report as Markdown; fails when a licence is not allowed
    python tools/licences.py --sbom     # the bill of materials as JSON

Crates are those that the agent, the simulator and the timers are linked of on Linux, as `cargo metadata` resolves them
by Cargo.lock; libraries come with the compilers of this machine; Python packages are those that pip installs next to
becalm, by pyproject.toml.

Public: Component, components, allowed, refused, report, bill, version.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import linking
from markdown import table

ROOT = Path(__file__).parents[1]

ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0",
    "PSF-2.0", "Unicode-3.0", "Unicode-DFS-2016", "Unlicense", "Zlib",
}  # fmt: skip
"""Licences (SPDX) that let anybody pass becalm on under its own two."""

LINKABLE = {"GPL-3.0-or-later WITH GCC-exception-3.1", "LGPL-2.1-or-later"}
"""Licences of libraries that programs under any licence may be linked with. The LGPL asks that others can link them
with another version of the library: the sdist has all sources, and `make dist` links them."""

TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")

PROGRAMS = ("becalm-agent", "becalm-helper", "becalm-sim", "becalm-timers")
"""The programs of the workspace that are in a wheel."""


@dataclass(frozen=True, slots=True)
class Component:
    """A part of becalm's packages; `licence` is an SPDX expression.

    `kind`: `cargo` for a crate, `generic` for a library of the compilers, `pypi` for a Python package, whose `version`
    is what may be installed.
    """

    kind: str
    name: str
    version: str
    licence: str
    source: str = ""

    @property
    def reference(self) -> str:
        """The package URL (purl)."""
        return f"pkg:{self.kind}/{self.name}" + (f"@{self.version}" if self.kind != "pypi" else "")


def allowed(expression: str, known: Iterable[str] = frozenset(ALLOWED)) -> bool:
    """Return whether an SPDX expression lets us choose licences that are allowed: OR one of them, AND all of them."""
    words = [match for match in re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR ")) if match]
    accepted, rest = _either(words, frozenset(known))
    return accepted and not rest


def _either(words: Sequence[str], known: frozenset[str]) -> tuple[bool, Sequence[str]]:
    accepted, rest = _both(words, known)
    while rest[:1] == ["OR"]:
        other, rest = _both(rest[1:], known)
        accepted = accepted or other
    return accepted, rest


def _both(words: Sequence[str], known: frozenset[str]) -> tuple[bool, Sequence[str]]:
    accepted, rest = _one(words, known)
    while rest[:1] == ["AND"]:
        other, rest = _one(rest[1:], known)
        accepted = accepted and other
    return accepted, rest


def _one(words: Sequence[str], known: frozenset[str]) -> tuple[bool, Sequence[str]]:
    if not words:
        return False, []
    if words[0] == "(":
        accepted, rest = _either(words[1:], known)
        return (accepted, rest[1:]) if rest[:1] == [")"] else (False, rest)
    name, rest = words[0], words[1:]
    if rest[:1] == ["WITH"] and len(rest) > 1:
        name, rest = f"{name} WITH {rest[1]}", rest[2:]
    return name in known, rest


def metadata(target: str) -> dict[str, Any]:
    """Return cargo's resolution for a target, by Cargo.lock."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def crates(resolved: dict[str, Any]) -> Iterator[Component]:
    """Yield the crates that are linked into the programs: not those of build scripts or tests."""
    nodes = {node["id"]: node for node in resolved["resolve"]["nodes"]}
    packages = {package["id"]: package for package in resolved["packages"]}
    waiting = [ident for ident, package in packages.items() if package["name"] in PROGRAMS]
    seen: set[str] = set()
    while waiting:
        ident = waiting.pop()
        if ident in seen:
            continue
        seen.add(ident)
        package = packages[ident]
        yield Component(
            "cargo", package["name"], package["version"], package["license"] or "", package["repository"] or ""
        )
        linked = (dep for dep in nodes[ident]["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"]))
        waiting += [dep["pkg"] for dep in linked]


PYTHON = {
    "click": ("BSD-3-Clause", "https://github.com/pallets/click"),
    "rich": ("MIT", "https://github.com/Textualize/rich"),
    "msgspec": ("BSD-3-Clause", "https://github.com/jcrist/msgspec"),
    "numpy": ("BSD-3-Clause", "https://github.com/numpy/numpy"),
    "scipy": ("BSD-3-Clause", "https://github.com/scipy/scipy"),
    "jinja2": ("BSD-3-Clause", "https://github.com/pallets/jinja"),
    "cloudpickle": ("BSD-3-Clause", "https://github.com/cloudpipe/cloudpickle"),
    "matplotlib": ("PSF-2.0", "https://github.com/matplotlib/matplotlib"),
}
"""Licence and repository of what becalm needs from the package index; a new dependency is a new row."""


def python_packages(file: Path = ROOT / "pyproject.toml") -> Iterator[Component]:
    """Yield the packages that pip installs next to becalm. Raises KeyError for one without a row in PYTHON."""
    for text in tomllib.loads(file.read_text(encoding="utf-8"))["project"]["dependencies"]:
        name = re.split(r"[\s<>=!~;\[]", text, maxsplit=1)[0].lower()
        yield Component("pypi", name, text[len(name) :].strip(), *PYTHON[name])


def libraries() -> Iterator[Component]:
    """Yield the libraries of the compilers that programs are linked with, in the versions of this machine."""

    def version_of(*command: str) -> str:
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        (number, *_) = re.findall(r"\d+(?:\.\d+)+|\d+", done.stdout)
        return str(number)

    yield Component(
        "generic", "glibc", version_of("getconf", "GNU_LIBC_VERSION"), "LGPL-2.1-or-later",
        "https://sourceware.org/glibc/",
    )  # fmt: skip
    yield Component(
        "generic", "libgcc", version_of("cc", "-dumpfullversion"), "GPL-3.0-or-later WITH GCC-exception-3.1",
        "https://gcc.gnu.org/",
    )  # fmt: skip
    yield Component(
        "generic", "rust-std", version_of("rustc", "-V"), "MIT OR Apache-2.0", "https://github.com/rust-lang/rust"
    )
    yield Component(
        "generic", "llvm-libunwind-of-zig", linking.ZIG, "Apache-2.0 WITH LLVM-exception", "https://ziglang.org/"
    )


def components() -> list[Component]:
    """Return all components, each once, by name."""
    parts = {*python_packages(), *libraries(), *(crate for target in TARGETS for crate in crates(metadata(target)))}
    return sorted(parts, key=lambda part: (part.kind, part.name, part.version))


def report(parts: Sequence[Component]) -> str:
    """Return the licences as a document."""
    rows = (
        (component.name, component.version, component.licence or "unknown", component.source) for component in parts
    )
    return f"# Licences of what becalm is made of\n\n{table(('name', 'version', 'licence', 'source'), rows)}"


def bill(parts: Sequence[Component], version: str) -> dict[str, Any]:
    """Return the bill of materials in the form of CycloneDX 1.5. The same components give the same serial number."""
    text = json.dumps([(component.reference, component.licence) for component in parts])
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, text)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "becalm",
                "name": "becalm",
                "version": version,
                "licenses": [{"expression": "Apache-2.0 OR MIT"}],
            }
        },
        "components": [
            {
                "type": "library",
                "bom-ref": f"{component.reference}{'' if component.kind != 'pypi' else component.version}",
                "name": component.name,
                **({"version": component.version} if component.kind != "pypi" else {}),
                "purl": component.reference,
                "licenses": [{"expression": component.licence.replace("/", " OR ")}],
            }
            for component in parts
        ],
        "dependencies": [
            {"ref": "becalm", "dependsOn": [component.reference for component in parts if component.kind != "pypi"]}
        ],
    }


def refused(parts: Sequence[Component]) -> list[Component]:
    """Return those whose licences are not allowed."""
    known = {"generic": ALLOWED | LINKABLE}
    return [part for part in parts if not allowed(part.licence, known.get(part.kind, ALLOWED))]


def version() -> str:
    """Return becalm's own version."""
    text = (ROOT / "python/becalm/_version.py").read_text(encoding="utf-8")
    (number,) = re.findall(r'^VERSION = "([^"]+)"', text, re.MULTILINE)
    return str(number)


def main() -> int:
    """Print the report or the bill."""
    parts = components()
    print(json.dumps(bill(parts, version()), indent=1) if "--sbom" in sys.argv else report(parts), end="")
    for component in refused(parts):
        print(
            f"{component.name} {component.version}: {component.licence or 'no licence'} is not allowed.",
            file=sys.stderr,
        )
    return 1 if refused(parts) else 0


if __name__ == "__main__":
    sys.exit(main())
