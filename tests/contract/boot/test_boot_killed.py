"""The agent killed, or the power cut, at any system call while an entry is written or removed: what starts next is
whole, and `restore` leaves every byte as it was."""

from __future__ import annotations

import pytest
from tests.samples import samples
from tests.support.boot import NEXT, WORDS, Starter, armed, check_start, cut, reset, same
from tests.support.laptop import snapshot
from tests.support.loaders import MACHINES, restarted
from tests.support.stepping import cuts
from tests.waiting import wait_for

CUTS = samples(6, 50)
"""The number of moments in each test, spread over the whole request."""


@pytest.fixture(params=["debian, a person's custom.cfg", "fedora", "systemd-boot on /boot/efi"])
def root(request, tmp_path):
    return MACHINES[request.param](tmp_path / "root")


def test_killed_while_it_is_written(root):
    before = snapshot(root)
    moments = cut(root, "boot", None, parameters=WORDS)
    assert check_start(root) is not None
    reset(root)
    same(root, before)
    whole = 0
    for moment in cuts(moments, CUTS):
        cut(root, "boot", moment, parameters=WORDS)
        whole += check_start(root) is not None
        reset(root)
        same(root, before)
    assert 0 < whole < CUTS


def test_killed_while_it_is_removed(root):
    before = snapshot(root)
    cut(root, "boot", None, parameters=WORDS)
    moments = cut(root, "unboot", None)
    same(root, before)
    for moment in cuts(moments, CUTS):
        cut(root, "boot", None, parameters=WORDS)
        cut(root, "unboot", moment)
        check_start(root)
        reset(root)
        same(root, before)


def test_the_power_cut_while_it_is_written(root):
    """The machine starts however much was written by then, and afterwards all of it can be removed."""
    before = snapshot(root)
    moments = cut(root, "boot", None, parameters=WORDS)
    reset(root)
    for number, moment in enumerate(cuts(moments, CUTS)):
        cut(root, "boot", moment, parameters=WORDS)
        mark = check_start(root)
        restarted(root, boot=f"{NEXT[:-3]}{number:03}", mark=mark, parameters=WORDS)
        assert armed(root) is None
        with Starter(root) as agent:
            wait_for(lambda agent=agent: agent.done("status")["busy"] is None, "the lock is free")
            health = agent.done("healthy")
            assert health["ours"] == (mark is not None)
        reset(root)
        restarted(root, boot=before["proc/sys/kernel/random/boot_id"][1].decode().strip())
        # What a loader has used up it may leave there empty.
        same(root, before, "proc/cmdline")
