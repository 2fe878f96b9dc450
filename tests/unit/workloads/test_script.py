"""The user as whom a script is asked: never with more rights than it is measured with."""

import os
import pwd

import pytest

from becalm.errors import UsageError
from becalm.workloads import script

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
