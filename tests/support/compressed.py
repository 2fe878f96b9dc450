"""Swap in compressed memory for a while, and the machine as it was afterwards."""

import contextlib
import subprocess
from pathlib import Path

from tests.needs import need

ZRAM = Path("/sys/block/zram0")


def available():
    """Return whether there is a device that nobody uses."""
    return ZRAM.exists() and (ZRAM / "disksize").read_text().strip() == "0"


@contextlib.contextmanager
def zram(megabytes):
    """Swap of that size, whatever happens switched off and given back at the end."""
    swaps = Path("/proc/swaps")
    before = swaps.read_text()
    (ZRAM / "disksize").write_text(f"{megabytes}M")
    try:
        subprocess.run(["mkswap", "/dev/zram0"], check=True, capture_output=True)
        subprocess.run([need("swapon", "swapoff"), "/dev/zram0"], check=True)
        yield
    finally:
        subprocess.run(["swapoff", "/dev/zram0"], check=False, capture_output=True)
        (ZRAM / "reset").write_text("1")
        assert swaps.read_text() == before
        assert available()
