"""Swap in compressed memory for a while, and the machine as it was afterwards."""

import contextlib
import subprocess
from pathlib import Path

from tests.needs import need

ZRAM = Path("/sys/block/zram0")


def available():
    """Return whether there is a device that nobody uses."""
    return ZRAM.exists() and (ZRAM / "disksize").read_text().strip() == "0"


def areas() -> list[tuple[str, str]]:
    """Return name and priority of each swap area; others may use more or less of them meanwhile."""
    lines = [line.split() for line in Path("/proc/swaps").read_text().splitlines()[1:]]
    return [(fields[0], fields[-1]) for fields in lines]


@contextlib.contextmanager
def zram(megabytes):
    """Swap of that size, whatever happens switched off and given back at the end."""
    before = areas()
    (ZRAM / "disksize").write_text(f"{megabytes}M")
    try:
        subprocess.run(["mkswap", "/dev/zram0"], check=True, capture_output=True)
        subprocess.run([need("swapon", "swapoff"), "/dev/zram0"], check=True)
        yield
    finally:
        subprocess.run(["swapoff", "/dev/zram0"], check=False, capture_output=True)
        (ZRAM / "reset").write_text("1")
        assert areas() == before
        assert available()
