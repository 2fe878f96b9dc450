"""The user as whom a script is asked, by real programs."""

import os
import pwd
from pathlib import Path

import pytest

from becalm.errors import WorkloadError
from becalm.workloads import script
from becalm.workloads.program_options import ProgramOptions

NOBODY = pwd.getpwnam("nobody")


@pytest.fixture(autouse=True)
def not_through_sudo(monkeypatch):
    monkeypatch.delenv("SUDO_UID", raising=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_script_asked_as_another_user_has_that_users_rights_alone():
    owner = script.account("nobody")
    done = script.call(["/bin/sh", "-c", "id -u; id -G; echo $HOME"], ProgramOptions(base=Path("/")), owner)
    uid, groups, home = done.stdout.split("\n")[:3]
    assert (uid, home) == (str(NOBODY.pw_uid), NOBODY.pw_dir)
    assert "0" not in groups.split()


def test_a_program_that_cannot_be_started_is_reported(tmp_path):
    with pytest.raises(WorkloadError, match=r"could not be started in .*nowhere: No such file"):
        script.call(["true"], ProgramOptions(base=tmp_path / "nowhere"), None)
