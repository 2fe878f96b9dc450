"""Compare the packages in dist/ with a second build of the last commit, byte for byte: `python tools/reproduce.py`.

`make dist` has made them. They are built again of a clone, in another directory, time zone and file mode, and compared.
What differs is named; then the exit code is 1. The same compilers are needed: the bill of materials names them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import archives
import package_origin
import packages

ELSEWHERE = {"TZ": "Pacific/Kiritimati", "LC_ALL": "C"}


def differences(dist: Path, again: Path) -> list[str]:
    """Return what differs between two folders of packages, as lines."""
    names = sorted({path.name for folder in (dist, again) for path in folder.iterdir() if path.is_file()})
    return [line for name in names for line in _difference(dist / name, again / name)]


def _difference(first: Path, second: Path) -> Iterable[str]:
    if not first.exists():
        return [f"{first.name}: it is not in {first.parent.name}/"]
    if not second.exists():
        return [f"{first.name}: it was not built again"]
    return archives.differences(first, second)


def main() -> int:
    """Build the packages a second time and compare."""
    root = packages.ROOT
    if packages.run("git", "status", "--porcelain", cwd=root):
        sys.exit("Something is not committed, and packages are compared with those of a commit.")
    who = packages.maker()
    name, _, address = who.who.rpartition(" ")
    with tempfile.TemporaryDirectory(prefix="bt-again-") as place:
        clone = Path(place, "a longer name of a directory")
        packages.run("git", "clone", "-q", root, clone)
        again = {
            **os.environ, **ELSEWHERE, "DEBFULLNAME": name, "DEBEMAIL": address.strip("<>"),
            package_origin.VARIABLE: package_origin.origin(root).repository,
        }  # fmt: skip
        command = [sys.executable, "tools/packages.py"]
        subprocess.run(command, cwd=clone, env=again, umask=0o077, check=True)
        lines = differences(packages.DIST, clone / "dist")
    print("\n".join(lines) or "Built again, every package has the same bytes.")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
