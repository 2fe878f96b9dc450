"""A directory that a host needs goes with it, and what a killed becalm has left goes with the next one."""

import os

from becalm.hosts.scratch import Scratch


def names(path):
    return sorted(path.name for path in path.iterdir())


def test_it_is_private_and_goes(tmp_path):
    scratch = Scratch("trial", str(tmp_path))
    assert os.stat(scratch.name).st_mode & 0o777 == 0o700
    scratch.cleanup()
    scratch.cleanup()
    assert names(tmp_path) == []


def test_one_that_was_just_made_is_left_alone(tmp_path):
    (tmp_path / "becalm-trial-x").mkdir()
    Scratch("trial", str(tmp_path)).cleanup()
    assert names(tmp_path) == ["becalm-trial-x"]
