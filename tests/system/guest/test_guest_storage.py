"""Guests with a disk and swap, and without: load of the disk and shortage of memory are made there."""

import pytest
from tests.needs import need
from tests.system.guest.booted import VERSIONS, needed, said, shell

import becalm
from becalm import hosts
from becalm.errors import MachineError
from becalm.hosts.guest import storage
from becalm.load.design import FACTORS
from becalm.nouns.settings import Settings
from becalm.verbs.load_experiment import room

pytestmark = [pytest.mark.guest, pytest.mark.machine]

MIB = 1 << 20


@pytest.fixture(scope="module", params=VERSIONS)
def guest(request):
    """One machine for all tests."""
    needed(request.param)
    need(storage.MAKER)
    with hosts.open(f"guest:{request.param}?disk=512M&swap=512M") as opened:
        opened.define([shell("cat echo ls id grep stat true")], [Settings()])
        yield opened


def test_the_disk_is_there_for_everybody_and_swap_is_on(guest):
    swaps, mounts, about, written = said(
        guest,
        (shell("cat /proc/swaps"), 0),
        (shell("grep /var/tmp /proc/mounts"), 0),
        (shell("stat -c '%a %u' /var/tmp"), 0),
        (shell("echo kept > /var/tmp/file; cat /var/tmp/file"), 0),
    )
    (line,) = swaps.splitlines()[1:]
    assert line.split()[0] == "/dev/zram0"
    assert int(line.split()[2]) == (512 << 10) - 4, "KiB; the first page is the area's own"
    assert mounts.split()[:3] == ["/dev/vda", "/var/tmp", "ext4"]
    assert about == "1777 0"
    assert written == "kept"


def test_every_kind_of_load_of_a_plan_can_be_made_there(guest):
    found = room(guest, "/var/tmp")
    assert not found.excluded
    assert {each.name for each in found.factors} == set(FACTORS)
    assert all(each.high > 0 for each in found.factors)
    made = becalm.make_load(memory=192 * MIB, limit=64 * MIB, disk="/var/tmp", rate="20M", duration="2s", host=guest)
    assert made.failure is None
    assert made.swapped_out_bytes > 16 * MIB
    assert made.done("disk") > 0


def test_what_the_disk_did_is_in_the_guests_own_figures(guest):
    written = shell("grep ' vda ' /proc/diskstats; echo something > /var/tmp/more; sync; grep ' vda ' /proc/diskstats")
    (found,) = said(guest, (written, 0))
    before, after = (int(line.split()[9]) for line in found.splitlines())
    assert after > before, "sectors written"


def test_a_guest_without_says_how_it_would_have_them():
    needed("6.1")
    with hosts.open("guest:6.1") as opened:
        found = room(opened, "/var/tmp")
        assert set(found.excluded) == {"memory", "disk"}
        assert "guest:6.1?swap=512M" in found.excluded["memory"]
        assert "guest:6.1?disk=1G" in found.excluded["disk"]
        with pytest.raises(MachineError, match=r"guest:6\.1\?disk=1G"):
            room(opened, "/var/tmp", ["disk"])
