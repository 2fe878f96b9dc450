"""What is particular to each source of sweet spots; tests/contract/conformance has what all of them promise."""

import pytest
from tests.support.count_files import LOG, written

import becalm
from becalm.errors import UsageError
from becalm.migration import thesis_log


def test_what_cannot_be_read_is_said(tmp_path):
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        becalm.sweetspots(tmp_path / "nothing")
    with pytest.raises(UsageError, match="cannot be read"):
        becalm.sweetspots(tmp_path)
    with pytest.raises(UsageError, match="counted already"):
        becalm.sweetspots(written(tmp_path, LOG), window="1ms")
    with pytest.raises(UsageError, match="There are no rules 'best'"):
        becalm.sweetspots(written(tmp_path, LOG), rules="best")


def test_unknown_windows_have_no_line():
    window = {"from_ns": 0, "until_ns": 5, "references": 1, "misses": 1, "others_references": 0, "others_misses": 0}
    marks = {"change": False, "evicted": False}
    text = thesis_log.written(3, [{**window, **marks, "known": False}], [], ended=False)
    assert text == "Start tracking task with pid 3\n"
