"""An agent that somebody started as root, by sudo or pkexec, gives that person no root."""

import json
import os
import pwd
import subprocess
import tempfile
from pathlib import Path

import pytest
from tests.contract.conversation import Agent, children, name_of, needs_root, sh
from tests.waiting import wait_ended

from becalm.hosts.agent import agent_path

pytestmark = needs_root

NOBODY = pwd.getpwnam("nobody")
LOAD = json.dumps({"cpu": 0.1})


@pytest.fixture
def directory():
    """Return a directory of root's that everybody may look into."""
    with tempfile.TemporaryDirectory() as path:
        os.chmod(path, 0o755)
        yield Path(path)


def lent(*words, by="SUDO_UID", **popen):
    """Run an agent as sudo or pkexec would for nobody, to its end."""
    environment = {**os.environ, by: str(NOBODY.pw_uid)}
    return subprocess.run(
        [agent_path(), *words],
        env=environment,
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        **popen,
    )


@pytest.mark.parametrize("by", ["SUDO_UID", "PKEXEC_UID"])
@pytest.mark.parametrize("words", [["copies", "1", "/usr/bin/id", "id", "-un"], ["load", LOAD, "--", "id", "-un"]])
def test_no_program_is_started_as_root(words, by):
    done = lent(*words, by=by)
    assert (done.returncode, done.stdout) == (0, "nobody\n"), done.stderr


def test_a_program_of_it_has_no_group_and_no_capability_of_roots():
    done = lent("copies", "1", "/bin/grep", "grep", "-E", "^(Uid|Gid|Groups|CapPrm|CapEff):", "/proc/self/status")
    fields = {line.split(":")[0]: line.split()[1:] for line in done.stdout.splitlines()}
    assert set(fields["Uid"]) == {str(NOBODY.pw_uid)}
    assert set(fields["Gid"]) == {str(NOBODY.pw_gid)}
    assert "0" not in fields["Groups"]
    assert (int(fields["CapPrm"][0], 16), int(fields["CapEff"][0], 16)) == (0, 0)


@pytest.mark.parametrize("user", ["root", "0", "daemon"])
def test_nobody_chooses_another_user_through_sudo(user):
    done = lent("serve", "--user", user)
    assert done.returncode == 3
    assert "never as" in done.stderr


def test_the_caller_of_sudo_may_be_named():
    agent = Agent("--user", "nobody", env={**os.environ, "SUDO_UID": str(NOBODY.pw_uid)})
    _, texts = agent.run("id", "-un", output="keep")
    agent.close()
    assert texts[0]["stdout"] == "nobody\n"


def test_its_load_ends_with_it_though_that_has_changed_its_user():
    agent = Agent(env={**os.environ, "SUDO_UID": str(NOBODY.pw_uid)})
    agent.ask("load", demand={"cpu": 0.02})
    (load,) = (pid for pid in children(agent.process.pid) if name_of(pid) == "becalm-load")
    assert Path(f"/proc/{load}").owner() == "nobody"
    parts = [load, *children(load)]
    assert len(parts) > 1
    agent.process.kill()
    agent.process.wait()
    for pid in parts:
        wait_ended(pid)
    agent.process.stdin.close()


def mine(path, text="mine"):
    """Write a file of root's that nobody else may write, though root's group may."""
    path.write_text(text)
    path.chmod(0o664)
    return path


@pytest.mark.parametrize("option", ["--spool-memory", "--spool"])
def test_no_file_is_overwritten(option, directory):
    file = mine(directory / "file")
    done = lent("serve", option, str(file))
    assert done.returncode == 3
    assert file.read_text() == "mine"


def test_memory_that_is_a_link_is_not_mapped(directory):
    file, link = mine(directory / "file"), directory / "link"
    link.symlink_to(file)
    done = subprocess.run(
        [agent_path(), "serve", "--spool-memory", str(link)], stdin=subprocess.DEVNULL, capture_output=True
    )
    assert done.returncode == 3
    assert file.read_text() == "mine"


def test_no_file_of_roots_is_read(directory):
    secret = directory / "secret"
    secret.write_text('{"runs": "hush"}')
    secret.chmod(0o600)
    done = lent("serve", "--script", str(secret))
    assert done.returncode == 3
    assert "hush" not in done.stderr + done.stdout


def test_a_directory_is_a_machine_of_whoever_called(directory):
    done = lent("restore", "--root", str(directory))
    assert not list(directory.iterdir()), done


@pytest.mark.parametrize(
    ("request_name", "fields"),
    [("facts", lambda place: {"root": place}), ("load", lambda place: {"demand": {"disk_directory": place}})],
)
def test_neither_facts_nor_load_of_a_directory_are_for_root(directory, request_name, fields):
    agent = Agent(env={**os.environ, "SUDO_UID": str(NOBODY.pw_uid)})
    answer = agent.ask(request_name, **fields(str(directory)))
    assert answer["event"] == "error", answer
    agent.close()


def test_root_itself_is_not_held_back():
    environment = {key: value for key, value in os.environ.items() if key not in ("SUDO_UID", "PKEXEC_UID")}
    for more in ({}, {"SUDO_UID": "0"}):
        done = subprocess.run(
            [agent_path(), "copies", "1", "/usr/bin/id", "id", "-un"], env={**environment, **more}, capture_output=True,
            text=True,
        )  # fmt: skip
        assert done.stdout == "root\n"


def test_commands_around_a_program_are_who_called():
    agent = Agent(env={**os.environ, "SUDO_UID": str(NOBODY.pw_uid)})
    hook = list(sh("test $(id -u) = $(id -u nobody)"))
    rows, texts = agent.run(*sh("id -un"), prepare=hook, cleanup=hook, copies=2, output="keep")
    agent.close()
    assert rows[0]["outcome"] == "ok", texts
    assert texts[0]["stdout"] == "nobody\nnobody\n"
