"""`becalm apply` of single settings on this machine."""

import pytest

pytestmark = pytest.mark.xdist_group("settings")


def test_a_single_setting_that_cannot_be_set_here_is_refused(home, becalm):
    for program in ((), ("--", "true")):
        ended = becalm("apply", "--set", "slice_ns=0" if program else "nice=3", *program)
        assert (ended.returncode, "cannot be set here" in ended.stderr) in ((3, True), (0, False))
    alone = becalm("apply", "--set", "nice=3")
    assert alone.returncode == 3
    assert "acts on one program" in alone.stderr
