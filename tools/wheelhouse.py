"""Collect becalm and what it depends on for machines without a network: `make wheelhouse`.

    python tools/wheelhouse.py [--python 3.12] [--glibc 2.28 | --musl] [--machine aarch64] [--extra cluster…]

`make dist` has made the wheel of becalm. It is put into `dist/wheelhouse` next to the wheels of its dependencies, for
the Python, the C library and the kind of machine that are named; by default for those of this machine. There:

    pip install --no-index --find-links wheelhouse becalm
"""

from __future__ import annotations

import argparse
import platform
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import packages

LEGACY = {5: "manylinux1", 12: "manylinux2010", 17: "manylinux2014"}
"""Names of platforms before PEP 600, by the minor version of glibc 2."""

MUSL = 2
"""The minor version of the newest musl 1 that wheels are made for (PEP 656)."""


def platforms(machine: str, glibc: int | None) -> list[str]:
    """Return the platform tags that pip installs, the newest first. `glibc`: minor version; None for musl."""
    if glibc is None:
        return [f"musllinux_1_{minor}_{machine}" for minor in range(MUSL, 0, -1)]
    names = [name for minor in range(glibc, 4, -1) for name in (f"manylinux_2_{minor}", LEGACY.get(minor)) if name]
    return [f"{name}_{machine}" for name in names]


def command(wheel: Path, to: Path, args: argparse.Namespace) -> list[str]:
    """Return pip's command line that collects the wheels."""
    extras = f"[{','.join(args.extra)}]" if args.extra else ""
    words = ["-m", "pip", "download", "-q", "--disable-pip-version-check", "--only-binary", ":all:", "-d", str(to)]
    words += ["--python-version", args.python, "--implementation", "cp"]
    for name in platforms(args.machine, None if args.musl else int(args.glibc.partition(".")[2])):
        words += ["--platform", name]
    return [*words, f"{wheel}{extras}"]


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default="{}.{}".format(*sys.version_info), help="3.11 or newer")
    parser.add_argument("--machine", default=packages.here(), choices=[target.wheel for target in packages.TARGETS])
    parser.add_argument("--glibc", default=platform.libc_ver()[1] or "2.17", help="of the machine to install on: 2.28")
    parser.add_argument("--musl", action="store_true", help="for Alpine and others with musl")
    parser.add_argument("--extra", nargs="+", default=[], help="extras of becalm: cluster, parquet, …")
    return parser.parse_args(arguments)


def collect(wheel: Path, to: Path, arguments: Sequence[str] | None = None) -> None:
    """Put a wheel and its dependencies into a folder."""
    packages.run(packages.builder(), *command(wheel, to, parse(arguments)))


def main() -> int:
    """Collect the wheels and print what to do with them."""
    machine = parse(None).machine
    wheels = sorted(packages.DIST.glob(f"becalm-*{machine}.whl"))
    if not wheels:
        sys.exit(f"dist/ has no wheel of becalm for {machine}: make dist")
    to = packages.DIST / "wheelhouse"
    shutil.rmtree(to, ignore_errors=True)
    collect(wheels[-1], to)
    print(f"{len(list(to.iterdir()))} wheels in {to}. On the other machine:")
    print("  pip install --no-index --find-links wheelhouse becalm")
    return 0


if __name__ == "__main__":
    sys.exit(main())
