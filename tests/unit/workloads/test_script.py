"""As whom a script is asked: never with more rights than it is measured with."""

import os
import pwd
from pathlib import Path

import pytest

from becalm.errors import UsageError, WorkloadError
from becalm.workloads import script
from becalm.workloads.asked import Asked

NOBODY = pwd.getpwnam("nobody")


@pytest.fixture(autouse=True)
def not_through_sudo(monkeypatch):
    monkeypatch.delenv("SUDO_UID", raising=False)


def test_without_a_wish_it_is_becalms_own_user():
    assert script.account(None) is None


def test_root_asks_as_the_user_wished_for_by_name_or_number(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    by_name, by_number = script.account("nobody"), script.account(str(NOBODY.pw_uid))
    assert by_name == by_number == script.Account("nobody", NOBODY.pw_uid, NOBODY.pw_gid, NOBODY.pw_dir)
    assert script.account("root") is None


def test_root_through_sudo_asks_as_who_called(monkeypatch):
    monkeypatch.setenv("SUDO_UID", str(NOBODY.pw_uid))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert script.account(None).uid == NOBODY.pw_uid
    assert script.account("root") is None
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY.pw_uid)
    assert script.account(None) is None


def test_others_cannot_ask_as_another_and_nobody_as_someone_unknown(monkeypatch):
    with pytest.raises(UsageError, match="no user 'no-such-user'"):
        script.account("no-such-user")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(UsageError, match="Only root may run programs as another user"):
        script.account("nobody")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_script_asked_as_another_user_has_that_users_rights_alone():
    owner = script.account("nobody")
    said = script.call(["/bin/sh", "-c", "id -u; id -G; echo $HOME"], Asked(base=Path("/")), owner)
    uid, groups, home = said.stdout.split("\n")[:3]
    assert (uid, home) == (str(NOBODY.pw_uid), NOBODY.pw_dir)
    assert "0" not in groups.split()


def test_a_program_that_cannot_be_started_is_said(tmp_path):
    with pytest.raises(WorkloadError, match=r"could not be started in .*nowhere: No such file"):
        script.call(["true"], Asked(base=tmp_path / "nowhere"), None)
