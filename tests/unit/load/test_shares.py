"""The holders of the largest part of an amount: processes, else names, else control groups."""

from becalm.load.others import ProcessUse
from becalm.load.shares import byte_shares, largest
from becalm.load.waits import Level


def test_a_process_with_enough_is_named_by_its_number():
    (share,) = byte_shares([ProcessUse(7, "cc1", "build", 60), ProcessUse(8, "cc1", "build", 10)], 100)
    assert (share.level, share.pid, share.name, share.count, share.share) == (Level.PROCESS, 7, "cc1", 1, 0.6)


def test_processes_of_one_name_count_together():
    (share,) = byte_shares([ProcessUse(pid, "cc1", "build", 10) for pid in range(6)], 100)
    assert (share.level, share.pid, share.name, share.group, share.count) == (Level.NAME, None, "cc1", "build", 6)


def test_processes_of_one_control_group_count_together():
    (share,) = byte_shares([ProcessUse(pid, f"task{pid}", "build", 10) for pid in range(6)], 100)
    assert (share.level, share.name, share.count, share.size_bytes) == (Level.GROUP, "build", 6, 60)


def test_nobody_is_named_below_the_least_amount():
    assert largest([ProcessUse(7, "cc1", "", 5)], 10)[1] == []
    assert largest([ProcessUse(7, "cc1", "", 5)], 0)[1] == []
