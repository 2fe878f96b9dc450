"""List, look for and install the Debian packages that a tier of tests needs (tools/programs.toml).

    python tools/programs.py list TIER       # the packages of the tier
    python tools/programs.py missing TIER    # those that are not installed
    python tools/programs.py install TIER    # install those, as root by apt-get

Tiers are contract, system, measurement and bench. `install` lists what it would install and asks first; YES=1 answers
yes, CI=true does not ask. Where nobody can answer or apt-get cannot be used, it prints the command and returns 0, since
the tests that need a missing program are skipped; with CI=true they fail, and it returns 1.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_suffix(".toml")
TIERS = ("contract", "system", "measurement", "bench")
SYSTEM = "/usr/local/sbin:/usr/sbin:/sbin"
"""The directories of daemons, which the PATH of ordinary users leaves out."""
INSTALL = ("apt-get", "install", "-y", "-q", "--no-install-recommends")


@dataclass(frozen=True)
class Package:
    """A row: a Debian package, its programs, and who needs them."""

    name: str
    programs: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    makes: str = ""
    packages: str = ""
    becalm: str = ""
    tiers: tuple[str, ...] = ()

    def find(self, program: str) -> str | None:
        """Return the path of one of its programs on this machine."""
        places = [str(path) for pattern in self.places for path in sorted(Path("/").glob(pattern.strip("/")))[::-1]]
        return find(program, *places)


def find(program: str, *places: str) -> str | None:
    """Return the path of a program on this machine: in PATH, the directories of daemons, or these places."""
    return shutil.which(program, path=os.pathsep.join([os.environ.get("PATH", ""), SYSTEM, *places]))


def table() -> tuple[Package, ...]:
    """Return all rows."""

    def row(value: Any) -> Package:
        fields: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in value.items()}
        return Package(**fields)

    return tuple(map(row, tomllib.loads(TABLE.read_text())["package"]))


def always() -> frozenset[str]:
    """Return the programs that every Debian has, and those that the README asks for."""
    values = tomllib.loads(TABLE.read_text())
    return frozenset([*values["always"], *values["readme"]])


def needed(tier: str) -> tuple[Package, ...]:
    """Return the rows of a tier; the build, which every tier needs, is part of contract."""
    return tuple(row for row in table() if {tier, "contract"} & set(row.tiers))


def installed_names(status: str) -> set[str]:
    """Return the installed packages in lines of `dpkg-query`: a name and its state."""
    return {line.split()[0] for line in status.splitlines() if line.endswith(" installed")}


def missing(tier: str) -> tuple[Package, ...]:
    """Return the rows of a tier that this machine lacks: packages, or without dpkg those that lack a program."""
    rows = needed(tier)
    if shutil.which("dpkg-query") is None:
        return tuple(row for row in rows if not all(map(row.find, row.programs)))
    words = ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *(row.name for row in rows)]
    names = installed_names(subprocess.run(words, capture_output=True, text=True, check=False).stdout)
    return tuple(row for row in rows if row.name not in names)


def simulated_names(simulation: str) -> list[str]:
    """Return the packages in the output of `apt-get install --simulate`, dependencies included."""
    return sorted(set(re.findall(r"^Inst (\S+)", simulation, re.MULTILINE)))


def with_dependencies(names: Sequence[str]) -> list[str]:
    """Return what apt-get would install for these packages, or the packages themselves where it cannot tell."""
    done = subprocess.run([*INSTALL, "--simulate", *names], capture_output=True, text=True, check=False)
    return simulated_names(done.stdout) or list(names)


def unknown(names: Sequence[str]) -> list[str]:
    """Return the packages that apt's index does not have: it is missing or old, or another distribution's names differ.
    Empty where apt-cache cannot tell."""
    if shutil.which("apt-cache") is None:
        return []
    done = subprocess.run(["apt-cache", "pkgnames"], capture_output=True, text=True, check=False)
    index = set(done.stdout.split())
    return [name for name in names if name not in index]


def update() -> bool:
    """Fetch apt's index of packages; return whether that went well."""
    return subprocess.run(["apt-get", "update", "-q"], check=False).returncode == 0


def answer(question: str) -> str:
    """Return a person's answer; empty for none (Ctrl-D)."""
    try:
        return input(question)
    except EOFError:
        print()
        return ""


def decided(environment: Mapping[str, str]) -> bool:
    """Return whether CI=true or YES=1 has answered yes."""
    return environment.get("CI") == "true" or environment.get("YES") == "1"


def agreed(count: int, environment: Mapping[str, str], ask: Callable[[str], str] | None) -> bool:
    """Return whether to install: yes with CI=true or YES=1, else what a person answers, else no."""
    question = f"Install these {count} packages with apt-get? [y/N] "
    return decided(environment) or (ask is not None and ask(question).strip().lower() in ("y", "yes"))


def install(tier: str) -> int:
    """Install what is missing after listing it, where that is possible and wanted. Return the exit code."""
    names = [row.name for row in missing(tier)]
    if not names:
        return 0
    if os.geteuid() == 0 and shutil.which("apt-get"):
        terminal = sys.stdin.isatty() and sys.stdout.isatty()
        ask = answer if terminal else None
        # To tell a name that this distribution does not have from an old index, which would hide dependencies, too.
        updated = bool(unknown(names)) and (decided(os.environ) or terminal) and update()
        absent = unknown(names)
        if absent:
            print(f"Not in apt's index, and left out: {' '.join(absent)}", flush=True)
        available = [name for name in names if name not in absent]
        packages = with_dependencies(available) if available else []
        if packages:
            print(f"Not installed, but needed by tests ({tier}): {' '.join(packages)}", flush=True)
        if packages and agreed(len(packages), os.environ, ask):
            quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            if updated or update():
                subprocess.run([*INSTALL, *available], env=quiet, check=False)
            names = [row.name for row in missing(tier)]
    if not names:
        return 0
    strict = os.environ.get("CI") == "true"
    effect = "With CI=true the tests that need them fail" if strict else "The tests that need them are skipped"
    sudo = "" if os.geteuid() == 0 else "sudo "
    print(f"{effect}. To install them: {sudo}{' '.join((*INSTALL[:2], *INSTALL[4:], *names))}", file=sys.stderr)
    return int(strict)


def main(arguments: Sequence[str]) -> int:
    """Run a command of the module's documentation; return the exit code."""
    match arguments:
        case ["list", tier] if tier in TIERS:
            print("\n".join(row.name for row in needed(tier)))
        case ["missing", tier] if tier in TIERS:
            print("\n".join(row.name for row in missing(tier)))
        case ["install", tier] if tier in TIERS:
            return install(tier)
        case _:
            print(f"usage: tools/programs.py list|missing|install {'|'.join(TIERS)}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
