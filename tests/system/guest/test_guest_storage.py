"""Guests with a disk and swap, and without: load of the disk and shortage of memory."""

import re

import pytest
from tests.system.guest.kernels import LIMIT, kernel_or_skip, outputs, shell

import becalm
from becalm import hosts
from becalm.errors import MachineError
from becalm.load.plan import FACTORS
from becalm.verbs.load_experiment import room

MIB = 1 << 20


def test_the_disk_is_there_for_everybody_and_swap_is_on(guest):
    swaps, mounts, about, written = outputs(
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


SWAPPED = """
before=$(cat /sys/block/vda/stat)
while [ "$(cat /sys/block/vda/stat)" = "$before" ]; do sync; sleep 0.05; done
swapped() {
  while read -r name value; do
    if [ "$name" = pswpout ]; then pages=$value; fi
  done < /proc/vmstat
}
swapped
first=$pages
while [ "$((pages - first))" -lt 4352 ]; do sleep 0.05; swapped; done
"""
"""A command that ends when something is on the disk and 17 MiB have been swapped out."""


def test_every_kind_of_load_of_a_plan_can_be_made_there(guest):
    space = room(guest, "/var/tmp")
    assert not space.excluded
    assert {factor.name for factor in space.factors} == set(FACTORS)
    assert all(factor.high > 0 for factor in space.factors)
    options = {"memory": 192 * MIB, "limit": 64 * MIB, "disk": "/var/tmp", "rate": "20M"}
    load = becalm.make_load(**options, command=("sh", "-c", SWAPPED), host=guest)
    assert (load.failure, load.status) == (None, 0)
    assert load.swapped_out_bytes > 16 * MIB
    assert load.done("disk") > 0


def test_disk_writes_are_in_the_guests_own_figures(guest):
    written = shell("grep ' vda ' /proc/diskstats; echo something > /var/tmp/more; sync; grep ' vda ' /proc/diskstats")
    (text,) = outputs(guest, (written, 0))
    before, after = (int(line.split()[9]) for line in text.splitlines())
    assert after > before, "sectors written"


def test_a_guest_without_disk_and_swap_names_the_options_for_them():
    kernel_or_skip("6.1")
    name = f"guest:6.1?{LIMIT}"
    with hosts.open(name) as opened:
        space = room(opened, "/var/tmp")
        assert set(space.excluded) == {"memory", "disk"}
        assert f"{name}&swap=512M" in space.excluded["memory"]
        assert f"{name}&disk=1G" in space.excluded["disk"]
        with pytest.raises(MachineError, match=re.escape(f"{name}&disk=1G")):
            room(opened, "/var/tmp", ["disk"])
