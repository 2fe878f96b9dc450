"""The README's two commands on a minimal machine: `python tools/fresh.py debian-12 debian-13 ubuntu-24.04` (as root).

mmdebstrap makes a tree with the distribution's smallest set of packages, what the README asks for (Python, make, a C
compiler; Rust's toolchain of this machine is put next to it) and the certificates without which nothing can be fetched.
`make demo` and `make test` then run in it, in mount and process namespaces of their own, with the kernel of this
machine. They install no system package, so whatever else they needed would be missing there.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import minimal

ROOT = Path(__file__).parents[1]
PACKAGES = ("python3", "python3-venv", "make", "gcc", "libc6-dev", "ca-certificates", "apt")
COMMANDS = ("make demo", "make test")
MACHINE = "(a minimal machine)"
"""The name of the first step."""
SYSTEMS = {
    name: system for name, system in minimal.SYSTEMS.items() if (system.by, system.python) == ("mmdebstrap", "python3")
}
"""The distributions that mmdebstrap makes and whose usual Python is new enough."""


def make_tree(system: minimal.System, tree: Path) -> None:
    """Make the minimal machine, with Rust and the checkout."""
    minimal.make(system, tree, PACKAGES)
    minimal.rust(tree)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists() or (ROOT / name).is_symlink():
            target = tree / "becalm" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
    # As `git clone` gives it.
    for words in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", *words], cwd=tree / "becalm", check=True)


def try_system(name: str, commands: tuple[str, ...], keep: bool) -> list[tuple[str, str, float, int]]:
    """Return name, command, seconds and exit code of each command; after a failure nothing more is tried. Raises Absent
    or CalledProcessError when the minimal machine cannot be made."""
    done = []
    with minimal.scratch(f"fresh-{name}", keep) as place:
        tree = place / "tree"
        began = time.monotonic()
        make_tree(SYSTEMS[name], tree)
        done.append((name, MACHINE, time.monotonic() - began, 0))
        strict = {"CI": "true"} if SYSTEMS[name].strict else {}
        for command in commands:
            print(f"\n=== {name}: {command}", flush=True)
            began = time.monotonic()
            code, _ = minimal.run(tree, f"cd /becalm && {command}", strict, with_rust=True)
            done.append((name, command, time.monotonic() - began, code))
            if code != 0:
                break
    return done


def main() -> int:
    """Run the steps on every system, and return 0 when every command has ended well."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help=f"{', '.join(SYSTEMS)}; all when none is named")
    parser.add_argument("--command", action="append", help="instead of `make demo` and `make test`")
    parser.add_argument("--keep", action="store_true", help="leave the trees in /var/tmp")
    args = parser.parse_args()
    if unknown := set(args.systems) - SYSTEMS.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if os.geteuid() != 0:
        parser.error("root is needed, for namespaces and packages")
    done = []
    for name in args.systems or SYSTEMS:
        try:
            done += try_system(name, tuple(args.command or COMMANDS), args.keep)
        except (minimal.Absent, OSError, subprocess.CalledProcessError) as reason:
            print(f"{name} cannot be tried here: {reason}", file=sys.stderr)
            done.append((name, MACHINE, 0.0, 1))
    print()
    for name, command, seconds, code in done:
        print(f"{name:<14} {command:<40} {seconds:7.0f} s  {'ok' if code == 0 else f'failed ({code})'}")
    return int(any(code for *_, code in done))


if __name__ == "__main__":
    sys.exit(main())
