"""`becalm install-sudoers` below a directory: the files, what visudo says of them, and whom it refuses."""

import os
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.needs import need

from becalm.cli.main import becalm as command
from becalm.errors import MachineError, UsageError
from becalm.hosts import root_helper
from becalm.hosts.root_helper import INSTALLED, packaged
from becalm.verbs import sudoers


@pytest.fixture
def tree(tmp_path):
    """Return a directory for the files of a machine that has visudo."""
    need("visudo")
    tmp_path.chmod(0o755)
    return tmp_path


def test_the_file_is_one_that_visudo_accepts(tree):
    before = os.umask(0o077)
    try:
        sentence = sudoers.install_sudoers(["nobody", "%daemon"], copy=True, polkit=True, root=tree)
    finally:
        os.umask(before)
    file, helper = tree / sudoers.FILE, tree / str(INSTALLED)[1:]
    done = subprocess.run([need("visudo"), "-c", "-f", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE(file.stat().st_mode) == 0o440
    assert stat.S_IMODE(helper.stat().st_mode) == 0o755
    assert helper.read_bytes() == packaged().read_bytes()
    assert str(INSTALLED) in file.read_text()
    assert [path.name for path in file.parent.iterdir()] == ["becalm"]
    assert len(sentence) == 3
    helper.write_bytes(b"an older one")
    with pytest.raises(MachineError, match=r"of another becalm.*--copy"):
        sudoers.install_sudoers(["nobody"], root=tree)
    assert sudoers.install_sudoers(["nobody", "%daemon"], copy=True, polkit=True, root=tree) == sentence, "it replaces"
    assert len(sudoers.remove_sudoers(tree)) == 3
    assert not file.exists()
    assert not helper.parent.exists()
    assert sudoers.remove_sudoers(tree) == []


@pytest.mark.parametrize("mode", [0o775, 0o777])
def test_a_helper_that_others_could_change_is_refused(tree, mode, monkeypatch):
    shared = tree / "venv"
    shared.mkdir()
    shared.chmod(mode)
    helper = shared / "becalm-helper"
    helper.write_bytes(packaged().read_bytes())
    helper.chmod(0o755)
    monkeypatch.setattr(sudoers, "packaged", lambda: helper)
    with pytest.raises(MachineError, match=r"Users other than root can change .*venv.*--copy"):
        sudoers.install_sudoers(["nobody"], root=tree)
    assert not (tree / sudoers.FILE).exists()


def test_a_helper_below_a_link_or_of_another_owner_is_refused(tree, monkeypatch):
    (tree / "real").mkdir()
    helper = tree / "real/becalm-helper"
    helper.write_bytes(packaged().read_bytes())
    (tree / "link").symlink_to(tree / "real")
    monkeypatch.setattr(sudoers, "packaged", lambda: tree / "link/becalm-helper")
    with pytest.raises(MachineError, match="Users other than root can change"):
        sudoers.install_sudoers(["nobody"], root=tree)
    if os.geteuid() == 0:
        os.chown(helper, 65534, 65534)
        monkeypatch.setattr(sudoers, "packaged", lambda: helper)
        with pytest.raises(MachineError, match="Users other than root can change"):
            sudoers.install_sudoers(["nobody"], root=tree)


def test_a_file_that_visudo_refuses_changes_nothing(tree, monkeypatch):
    sudoers.install_sudoers(["nobody"], copy=True, root=tree)
    text = (tree / sudoers.FILE).read_text()
    monkeypatch.setattr(sudoers, "sudoers", lambda who, helper: f"{sudoers.MARK}\nthis is no sudoers file\n")
    with pytest.raises(MachineError, match="visudo does not accept"):
        sudoers.install_sudoers(["nobody"], copy=True, root=tree)
    assert (tree / sudoers.FILE).read_text() == text
    assert [path.name for path in (tree / sudoers.FILE).parent.iterdir()] == ["becalm"]


def test_a_file_of_somebody_elses_is_left(tree):
    file = tree / sudoers.FILE
    file.parent.mkdir(parents=True)
    file.write_text("ada ALL=(root) /bin/true\n")
    for call in (
        lambda: sudoers.install_sudoers(["nobody"], copy=True, root=tree),
        lambda: sudoers.remove_sudoers(tree),
    ):
        with pytest.raises(MachineError, match="not written by becalm"):
            call()
    assert file.read_text() == "ada ALL=(root) /bin/true\n"


@pytest.mark.parametrize("who", ["no-such-user-here", "%no-such-group-here"])
def test_an_unknown_user_is_refused(tree, who):
    with pytest.raises(UsageError, match="There is no"):
        sudoers.install_sudoers([who], copy=True, root=tree)


def test_an_ordinary_user_is_refused(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for call in (lambda: sudoers.install_sudoers(["nobody"]), sudoers.remove_sudoers):
        with pytest.raises(MachineError, match="run this as root"):
            call()


def test_the_file_is_shown_and_not_written():
    done = CliRunner().invoke(command, ["install-sudoers", "--print", "--copy", "nobody"])
    assert done.exit_code == 0
    assert done.stdout == sudoers.sudoers(["nobody"], str(INSTALLED))
    refused = CliRunner().invoke(command, ["install-sudoers", "--remove", "nobody"])
    assert isinstance(refused.exception, UsageError)


def test_a_sudo_that_hangs_is_not_waited_for(monkeypatch, tmp_path):
    sudo = tmp_path / "sudo"
    sudo.write_text("#!/bin/sh\nexec sleep 9000\n")
    sudo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(root_helper, "SUDO_S", 0)
    with pytest.raises(
        MachineError, match="sudo did not answer within 0 s when it was asked to start /x/becalm-helper"
    ):
        root_helper.ask_sudo("/x/becalm-helper")


def test_sudo_is_asked_for_the_helper_alone(monkeypatch):
    """A sudo that notes what it is asked for, and refuses."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "asked")
        sudo = Path(directory, "sudo")
        sudo.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {path}\nexit 1\n')
        sudo.chmod(0o755)
        monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")
        monkeypatch.delenv("SUDO_ASKPASS", raising=False)
        with pytest.raises(MachineError, match="install-sudoers"):
            root_helper.ask_sudo("/x/becalm-helper")
        quiet, loud = path.read_text().splitlines()
    assert quiet == "-n -- /x/becalm-helper"
    assert loud.startswith("-p ")
    assert loud.endswith("-- /x/becalm-helper")
