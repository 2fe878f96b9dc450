"""The service that restores as the machine starts: what is installed, and that it works."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
from tests.support.laptop import changed, laptop, snapshot
from tests.support.talk import Agent, end, guards

from becalm.errors import MachineError
from becalm.hosts.agent import agent_path
from becalm.verbs import settings_service


def test_files_and_their_report(tmp_path):
    before = os.umask(0o077)
    try:
        sentences = settings_service.install_service(tmp_path)
    finally:
        os.umask(before)
    agent, unit = tmp_path / settings_service.AGENT, tmp_path / settings_service.UNIT
    assert agent.read_bytes() == Path(agent_path()).read_bytes()
    assert stat.S_IMODE(agent.stat().st_mode) == 0o755
    assert stat.S_IMODE(unit.stat().st_mode) == 0o644
    assert {agent.stat().st_uid, unit.stat().st_uid} == {os.geteuid()}
    assert any(str(agent) in sentence for sentence in sentences)
    assert any("not enabled" in sentence for sentence in sentences)
    assert {path.name for path in agent.parent.iterdir()} == {"becalm-agent"}
    agent.write_bytes(b"an older one")
    assert settings_service.install_service(tmp_path) == sentences, "again, it replaces"
    assert agent.read_bytes() == Path(agent_path()).read_bytes()
    removed = settings_service.remove_service(tmp_path)
    assert len(removed) == 2
    assert not agent.parent.exists()
    assert not unit.exists()
    assert settings_service.remove_service(tmp_path) == []


def test_a_file_in_the_way_of_the_service_is_reported(tmp_path):
    (tmp_path / "usr").write_text("a file")
    with pytest.raises(MachineError, match="cannot be installed"):
        settings_service.install_service(tmp_path)


def test_an_ordinary_user_is_refused(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for call in (settings_service.install_service, settings_service.remove_service):
        with pytest.raises(MachineError, match="run this as root"):
            call()


def test_the_installed_agent_restores(tmp_path):
    root = laptop(tmp_path / "root", cpus=4)
    before = snapshot(root)
    agent = Agent(root)
    agent.done("hold", settings={"swappiness": 10})
    for guard in guards(root):
        end(guard)
    agent.kill()
    settings_service.install_service(tmp_path / "system")
    (command,) = [line for line in settings_service.TEXT.splitlines() if line.startswith("ExecStart=")]
    program, *words = command.removeprefix("ExecStart=").split()
    done = subprocess.run([str(tmp_path / "system") + program, *words, "--root", str(root)], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert changed(before, snapshot(root)) == {}
