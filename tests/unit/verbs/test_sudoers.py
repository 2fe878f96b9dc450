"""The sudoers file as text: whom it names, and what it cannot be made to say."""

import re
import xml.etree.ElementTree as ET

import pytest

from becalm.errors import UsageError
from becalm.verbs.sudoers import action, sudoers

HELPER = "/usr/local/lib/becalm/becalm-helper"


def test_it_names_the_helper_without_arguments_and_nothing_else():
    lines = [line for line in sudoers(["ada", "%bench"], HELPER).splitlines() if not line.startswith("#")]
    assert lines == [f'{who} ALL=(root) NOPASSWD: {HELPER} ""' for who in ("ada", "%bench")]
    text = sudoers(["ada"], HELPER)
    assert text.endswith("\n")
    assert not re.search(r"SETENV|env_keep|ALL$|agent|python", text, re.MULTILINE)


@pytest.mark.parametrize(
    "who",
    ["", "ALL", "%", "ada,eve", "ada ALL=(ALL) ALL\neve", "ada\n", "#0", "%#0", "+net", "%:x", "a b", "!ada"],
)
def test_unknown_users_and_groups_are_refused(who):
    with pytest.raises(UsageError, match="neither a user nor a group"):
        sudoers([who], HELPER)


def test_nobody_is_no_one_to_allow():
    with pytest.raises(UsageError, match="Name who"):
        sudoers([], HELPER)


@pytest.mark.parametrize("path", ["helper", "/home/a b/helper", "/x,/bin/sh", "/x*", "/x\n/y", "/x:y", "/x=y", "/x\\y"])
def test_a_path_with_a_meaning_of_its_own_is_refused(path):
    with pytest.raises(UsageError, match="characters that mean something else"):
        sudoers(["ada"], path)


def test_the_action_of_polkit_is_for_the_helper_without_arguments():
    tree = ET.fromstring(action(HELPER).partition("-->")[2])
    notes = {annotation.attrib["key"].rpartition(".")[2]: annotation.text for annotation in tree.iter("annotate")}
    assert notes == {"path": HELPER, "argv1": None}
    assert {default.text for default in tree.find("action/defaults")} == {"no", "auth_admin_keep"}
