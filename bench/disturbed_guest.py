"""`bench/disturbed.py` in a guest: the same programs with a sixth to do, next to the bursts of `bench/bursts.c`.

    python bench/disturbed_guest.py
    python bench/disturbed_guest.py --quick      # one program, briefly: shows that it works
    python bench/disturbed_guest.py --report

Times in a guest without KVM are emulated: ratios of one boot mean something, times do not.
"""

from __future__ import annotations

import sys

import disturbed
from campaign import OUT
from disturbed import judged, report

__all__ = ["judged", "report"]

USUAL = {
    "host": "guest:6.12?cpus=2&mem=2G&disk=1G",
    "less": 6,
    "budget": 240,
    "loops": 12,
    "out": OUT / "disturbed_guest.json",
}


if __name__ == "__main__":
    disturbed.main(__doc__, {**USUAL, "less": 30} if "--quick" in sys.argv else USUAL)
