"""The table of programs that becalm and its tests call: which package of Debian has which, and which are missing.

`python tools/programs.py missing` prints the packages of the table that are not installed; `install` installs them
(as root, by apt-get) and says what the tests will skip where it cannot. With CI=true that is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_suffix(".toml")
SYSTEM = "/usr/local/sbin:/usr/sbin:/sbin"
"""Where daemons are, which the PATH of ordinary users leaves out."""


@dataclass(frozen=True)
class Package:
    """A row: a package of Debian, its programs, and who calls them."""

    name: str
    programs: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    makes: str = ""
    packages: str = ""
    becalm: str = ""
    tests: tuple[str, ...] = ()
    bench: tuple[str, ...] = ()

    def find(self, program: str) -> str | None:
        """Where a program of it is on this machine."""
        places = [str(path) for pattern in self.places for path in sorted(Path("/").glob(pattern.strip("/")))[::-1]]
        return shutil.which(program, path=os.pathsep.join([os.environ.get("PATH", ""), SYSTEM, *places]))


def table() -> tuple[Package, ...]:
    """All rows."""

    def row(value: Any) -> Package:
        fields: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in value.items()}
        return Package(**fields)

    return tuple(map(row, tomllib.loads(TABLE.read_text())["package"]))


def always() -> frozenset[str]:
    """Programs that every Debian has, and those that the README asks for."""
    read = tomllib.loads(TABLE.read_text())
    return frozenset([*read["always"], *read["asked"]])


def missing() -> Iterator[Package]:
    """Rows that this machine lacks, but for those that only benches need.

    Where there is no dpkg, those of whose programs one is not found.
    """
    rows = [row for row in table() if row.makes or row.becalm or row.tests]
    if shutil.which("dpkg-query") is None:
        yield from (row for row in rows if not all(map(row.find, row.programs)))
        return
    words = ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *(row.name for row in rows)]
    said = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    installed = {line.split()[0] for line in said.splitlines() if line.endswith(" installed")}
    yield from (row for row in rows if row.name not in installed)


def install() -> int:
    """Install what is missing, where that can be done. Returns the exit code."""
    names = [row.name for row in missing()]
    if not names:
        return 0
    if os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        words = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *names]
        done = subprocess.run(["apt-get", "update", "-q"], check=False).returncode == 0
        if done and subprocess.run(words, env=quiet, check=False).returncode == 0:
            return 0
        names = [row.name for row in missing()]
    strict = os.environ.get("CI") == "true"
    say = "The tests cannot run without them." if strict else "The tests that need them will be skipped and say so."
    print(f"Not installed: {' '.join(names)}. {say}", file=sys.stderr)
    return int(strict)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["missing"]:
            print(" ".join(row.name for row in missing()))
        case ["install"]:
            sys.exit(install())
        case _:
            sys.exit("usage: tools/programs.py missing|install")
