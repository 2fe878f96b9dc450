"""Delay accounting of this machine: on while a program is watched as root, and as it was before afterwards."""

import os
from pathlib import Path

import pytest

import becalm

SWITCH = Path("/proc/sys/kernel/task_delayacct")

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not SWITCH.exists(), reason="needs root, and a kernel that can switch delay accounting"
)


@pytest.mark.parametrize("before", ["0", "1"])
def test_waits_are_counted_while_a_program_is_watched(home, before):
    text = SWITCH.read_text()
    SWITCH.write_text(before)
    try:
        watched = becalm.watch(["cat", str(SWITCH)], output="keep")
        assert SWITCH.read_text().strip() == before
    finally:
        SWITCH.write_text(text)
    assert watched.level == 3
    assert watched.load.swapin_ns is not None
    assert ("delay_accounting" in watched.settings) == (before == "0")
    assert watched.more == ()
