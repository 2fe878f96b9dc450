"""Fetch and build the parts of the tests' virtual machines: kernels, a Debian that boots by GRUB, an NFS server.

`PYTHONPATH=. python tools/prepare_guests.py`. They are kept in becalm's cache directory: 130 MB a kernel, 550 MB for
the Debian. For a part that is not available the reason is printed, and its tests are skipped; with CI=true that is a
failure.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

from tests.system.guest import ganesha, image

from becalm.errors import BecalmError, UsageError
from becalm.hosts.guest import kernel

KERNELS = ("6.1", "6.12")
"""CFS and EEVDF."""


def prepare_kernel(version: str) -> None:
    """Fetch the kernel unless it is here; fetch an old package index again."""
    try:
        kernel.find(version)
    except UsageError:
        try:
            kernel.prepare(version)
        except BecalmError:
            if os.geteuid() != 0:
                raise
            subprocess.run(["apt-get", "update", "-q"], check=True)
            kernel.prepare(version)


def main() -> int:
    """Prepare everything. Returns the exit code."""
    parts: list[tuple[str, Callable[[], object]]] = [
        *((f"the kernel {version} for guests", lambda v=version: prepare_kernel(v)) for version in KERNELS),
        ("the Debian image", image.image),
        ("the NFS server", ganesha.unpacked),
    ]
    lacking = False
    for name, make in parts:
        try:
            make()
        except (BecalmError, image.Unavailable, ganesha.Unavailable, OSError, subprocess.SubprocessError) as error:
            lacking = True
            print(f"{name[0].upper()}{name[1:]} is not here, and its tests cannot run: {error}", file=sys.stderr)
    return int(lacking and os.environ.get("CI") == "true")


if __name__ == "__main__":
    sys.exit(main())
