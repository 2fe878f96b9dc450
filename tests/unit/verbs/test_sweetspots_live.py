"""Reports of missing parts of a recording."""

import io

import pytest
from msgspec.structs import replace

import becalm
from becalm.errors import UsageError
from becalm.hosts.recorded import Recorded
from becalm.migration.sweetspots import Spotted
from becalm.verbs.sweetspots_live import EventReceiver
from becalm.wording.sweetspots import counts


def remarks_on(absent, **trouble):
    receiver = EventReceiver(io.StringIO(), lambda: None, 7, None, None)
    receiver.take([Recorded(3, trouble, absent, 0)])
    return receiver.sentence()


def test_missing_recordings_have_their_reason():
    assert remarks_on({}) == ""
    assert remarks_on({"3": "it is offline"}) == " CPU 3 was not recorded: it is offline."
    why = "The pages of process 7 may not be looked at by this user. Run becalm as root."
    assert remarks_on({"pages": why}) == f" {why}"
    assert "1,200 records were lost" in remarks_on({}, lost=1200)
    assert "5 times meanwhile" in remarks_on({}, shared=5)
    assert "could not be read 2 times, as while it goes offline" in remarks_on({}, unread=2)
    assert "Others" not in remarks_on({}, unread=2)


def test_a_program_of_another_machine_is_not_moved_also_where_that_is_a_virtual_one():
    for host in ("guest:6.1", "ssh://far"):
        with pytest.raises(UsageError, match=f"on the machine where becalm runs, not on {host}"):
            becalm.record_sweetspots("true", host=host, migrate=1)
        with pytest.raises(UsageError, match=f"on the machine where becalm runs, not on {host}"):
            becalm.account_command("true", host=host)


def test_only_a_miss_ratio_is_called_one():
    spotted = Spotted("live", "page faults", "ns", "rise", {}, miss_ratio=False)
    assert counts(spotted) == ("counted", "new")
    assert counts(replace(spotted, miss_ratio=True)) == ("references", "missed")


def test_means_that_there_are_not_are_named_with_those_that_there_are():
    with pytest.raises(UsageError, match="--by is one of perf, bpf, not 'dtrace'"):
        becalm.record_sweetspots("true", by="dtrace")
