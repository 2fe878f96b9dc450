"""Measuring on another machine through SSH: a real sshd, a real ssh, and what goes wrong between them."""

import json
import os
import pty
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.contract.conversation import processes_with
from tests.needs import need
from tests.support.ports import free_port
from tests.system.ssh.far import Cutting, Far, keygen
from tests.waiting import wait_for

import becalm
from becalm import hosts
from becalm.cli.main import becalm as becalm_command
from becalm.errors import MachineError, WorkloadError
from becalm.hosts import Access, aliases
from becalm.hosts.agent import agent_path
from becalm.hosts.root_helper import INSTALLED, packaged
from becalm.hosts.ssh import connect, install, reconnecting
from becalm.store import Store
from becalm.verbs.host import check_host
from becalm.verbs.sudoers import sudoers

pytestmark = pytest.mark.usefixtures("own_directories")

STAT_INTERVAL = Path("/proc/sys/vm/stat_interval")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="Settings of the machine need root.")


@pytest.fixture
def another(tmp_path):
    """A maker of servers for one test."""
    servers = []

    def make(**options):
        servers.append(Far(tmp_path / "machine", **options))
        return servers[0]

    yield make
    for server in servers:
        server.close()


def output(argv, **options):
    """Return the output of a program there."""
    verdict = becalm.run(argv, host="far", runs=1, warmup=0, output="keep", **options)
    with Store.open() as store:
        return store.texts(verdict.study)[0][1]


def test_runs_of_another_machine_are_measured_and_kept(far):
    verdict = becalm.run("true", host="far", runs=12, warmup=0)
    assert verdict.summaries[0].runs == 12
    assert verdict.host == "far"
    with Store.open() as store:
        assert [run.seq for run in store.runs(verdict.study)] == list(range(12))
        assert store.study(verdict.study).facts["host"]["hostname"]


def test_the_agent_is_copied_once_and_privately_and_again_when_it_is_damaged(far):
    check_host("far")
    (copy,) = far.agents()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o700
    assert stat.S_IMODE(copy.parent.stat().st_mode) == 0o700
    assert copy.read_bytes() == Path(agent_path()).read_bytes()
    first = copy.stat()
    check_host("far")
    assert copy.stat().st_ino == first.st_ino, "it was not copied again"
    # The agent of the connection may not have ended, and a program that runs cannot be written.
    damaged = copy.with_name("damaged")
    damaged.write_bytes(b"#!/bin/sh\nexit 7\n")
    damaged.chmod(0o700)
    damaged.rename(copy)
    check_host("far")
    assert far.agents() == [copy]
    assert copy.read_bytes() == Path(agent_path()).read_bytes()


def test_programs_have_the_environment_and_directory_there_and_what_was_given(far, monkeypatch):
    monkeypatch.setenv("BECALM_TEST_LOCAL", "here")
    monkeypatch.setenv("LC_TIME", "de_DE.UTF-8")
    far.configure("SendEnv LC_*")
    value = "a 'quoted' $(touch /tmp/never) value"
    seen = output(["env"], environment={"GIVEN": value})
    assert f"GIVEN={value}" in seen
    assert f"HOME={far.home}" in seen
    assert "BECALM_TEST_LOCAL" not in seen
    assert "LC_TIME" not in seen
    assert "SSH_CONNECTION" not in seen
    assert output(["pwd"]).strip() != os.getcwd()


def test_a_program_that_is_not_there_is_reported(far):
    with pytest.raises(WorkloadError, match="no-such-program"):
        becalm.run("no-such-program", host="far", runs=1)


@pytest.fixture
def no_return(monkeypatch):
    """A machine that is lost is not waited for."""
    monkeypatch.setattr(reconnecting, "RETURN_SECONDS", 0)


def lose(cutting, **options):
    """Run with a connection that is cut for good; return what the person reads."""
    with pytest.raises(MachineError) as caught:
        becalm.run("sleep 0.12", host="far", budget="none", listener=cutting, **options)
    with Store.open() as store:
        assert len(list(store.runs(1))) >= 1
    assert "becalm show 1" in str(caught.value)
    return str(caught.value)


def test_a_lost_connection_restores_the_machine_and_keeps_the_study(far, tree, no_return):
    cutting = Cutting(far, 2, tree / "proc/sys/vm/stat_interval", gone=True)
    settings = {"stat_interval": 20, "governor": "performance", "swap": "off", "watchdogs": "off"}
    message = lose(cutting, settings=settings, root=str(tree), dangerous=True)
    assert cutting.seen == "20", "the settings were on"
    assert "connection to far was lost." in message
    assert "Mind the gap" not in message, "what a login shell says is no reason"


@as_root
def test_a_lost_connection_restores_the_real_machine(far, no_return):
    before = STAT_INTERVAL.read_text()
    cutting = Cutting(far, 2, STAT_INTERVAL, gone=True)
    lose(cutting, settings={"stat_interval": 37})
    assert cutting.seen == "37", "the setting was on"
    wait_for(lambda: STAT_INTERVAL.read_text() == before)


def test_a_killed_becalm_leaves_nothing_behind(far, tree):
    place, marker = tree / "proc/sys/vm/stat_interval", "0.0123461"
    code = (
        "import becalm, sys; becalm.run(['sleep', sys.argv[2]], host='far', budget='none', root=sys.argv[1], "
        "settings={'stat_interval': 20})"
    )
    process = subprocess.Popen([sys.executable, "-c", code, tree, marker], stdin=subprocess.DEVNULL)
    wait_for(lambda: place.read_text().strip() == "20")
    process.kill()
    process.wait()
    wait_for(lambda: place.read_text().strip() == "1")
    wait_for(lambda: not far.sessions())
    wait_for(lambda: not processes_with(marker))


QUICK = {
    "method": "greedy",
    "only": ("nice", "aslr"),
    "loops": 1,
    "runs": 3,
    "warmups": 0,
    "most_runs": 24,
    "confirm_loops": 2,
    "confirm_runs": 2,
    "single_out": False,
    "compare_profiles": False,
    "seed": 1,
}


def test_a_lost_search_says_how_to_go_on_and_does(far, no_return):
    with pytest.raises(MachineError, match="becalm tune --resume 1") as caught:
        becalm.tune(["true"], host="far", listener=Cutting(far, 2, gone=True), **QUICK)
    assert "lost" in str(caught.value)
    with Store.open() as store:
        before = len(list(store.runs(1)))
    assert before > 0
    wait_for(lambda: not far.sessions())
    far.configure()
    verdict = becalm.tune(resume=1)
    assert verdict.study == 1
    with Store.open() as store:
        assert len(list(store.runs(1))) > before


def command(*arguments):
    """Run becalm as a person does, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "becalm", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def test_settings_are_kept_seen_and_reset_there(far, tree):
    """The commands name the host to go on with."""
    place = tree / "proc/sys/vm/stat_interval"
    there = ("--host", "far", "--root", str(tree))
    put = command("apply", *there, "--set", "stat_interval=20")
    assert put.returncode == 0, put.stderr
    assert place.read_text().strip() == "20"
    assert "becalm reset --host far" in put.stdout
    assert "becalm reset --host far" in command("status", *there).stdout
    gone = command("reset", *there)
    assert gone.returncode == 0, gone.stderr
    assert place.read_text().strip() == "1"


def test_names_on_the_command_line(far):
    def host(*arguments):
        return CliRunner().invoke(becalm_command, ["host", *arguments])

    assert "far answers" in host("check", "far").output
    assert "ssh://far" in host("list").output
    assert host("add", "it", "ssh://ada@it.example:2222").exit_code == 0
    assert {host["name"] for host in json.loads(host("list", "--json").output)["hosts"]} == {"far", "it"}
    assert host("remove", "it").exit_code == 0
    assert host("list").output.startswith("far ")
    far.known_hosts(None)
    failed = command("run", "--host", "far", "--", "true")
    assert failed.returncode == 3
    assert failed.stderr.startswith("becalm: The key of far is not known yet.")
    assert failed.stdout == ""


def refused(name="far", **access):
    with pytest.raises(MachineError) as caught, hosts.open(name, Access(**access)):
        pass
    return str(caught.value)


def test_a_name_that_nobody_has(far):
    far.configure("HostName no-such-machine.invalid")
    assert "There is no machine named far" in refused()


def test_nothing_listens(far):
    far.configure(f"Port {free_port()}")
    assert "nothing answers on its SSH port" in refused()


def test_an_unknown_key_is_never_accepted(far):
    far.known_hosts(None)
    message = refused()
    assert "not known yet" in message
    assert f"ssh -F {far.path}/ssh_config far" in message
    assert (far.path / "known_hosts").read_text() == ""


def test_another_key_is_never_accepted(far, tmp_path):
    keygen(tmp_path / "other")
    far.known_hosts(tmp_path / "other.pub")
    assert "The key of far has changed" in refused()


def test_a_key_that_is_not_let_in(far, tmp_path):
    keygen(tmp_path / "other")
    (tmp_path / "config").write_text(
        (far.path / "ssh_config").read_text().replace(f"{far.path}/id\n", f"{tmp_path}/other\n")
    )
    aliases.remove("far")
    aliases.add("far", "ssh://far", str(tmp_path / "config"))
    assert "does not let you in as the user that your ssh configuration names" in refused()


def test_a_user_that_is_not_there(far):
    aliases.remove("far")
    aliases.add("far", "ssh://nobody-of-that-name@far", str(far.path / "ssh_config"))
    assert "does not let you in as nobody-of-that-name" in refused()


@as_root
def test_options_that_the_agent_refuses_are_reported_and_leave_no_spool(far, spools):
    assert "no-user-of-that-name" in refused(user="no-user-of-that-name")
    assert "/no/such/root" in refused(root="/no/such/root")
    assert [path.exists() for path in spools] == [False, False]


def test_a_malformed_ssh_configuration(far):
    far.configure("NoSuchOption yes")
    assert "ssh does not accept its configuration" in refused()


def carried(monkeypatch, tmp_path, content):
    """Have the package carry another agent."""
    agent = tmp_path / "agent"
    agent.write_bytes(content)
    monkeypatch.setattr(connect, "agent_path", lambda: str(agent))


def test_another_kind_of_machine(far, monkeypatch, tmp_path):
    content = bytearray(Path(agent_path()).read_bytes())
    own = os.uname().machine
    content[18:20] = (183 if own == "x86_64" else 62).to_bytes(2, "little")
    carried(monkeypatch, tmp_path, bytes(content))
    before = far.agents()
    message = refused()
    assert f"far is a machine of the kind {own}" in message
    assert far.agents() == before


def test_an_agent_that_does_not_run_there_is_removed(far, monkeypatch, tmp_path):
    carried(monkeypatch, tmp_path, b"#!/no/such/interpreter\n")
    before = far.agents()
    assert "does not run on far" in refused()
    assert far.agents() == before


def test_an_agent_of_another_protocol(far, spools, monkeypatch, tmp_path):
    greeting = '{"becalm-agent":"9","protocol":99}'
    version = f"becalm-agent {install.VERSION}"
    serve = f"echo '{greeting}'; cat >/dev/null"
    text = f"#!/bin/sh\nif [ $1 = --version ]; then echo '{version}'; else {serve}; fi\n"
    carried(monkeypatch, tmp_path, text.encode())
    assert "speaks protocol 99" in refused()
    assert [path.exists() for path in spools] == [False]


HOME = "mount -t tmpfs -o {options} none {home}\n"


@pytest.mark.parametrize(
    ("options", "words"),
    [("mode=755,noexec", "mounted noexec"), ("mode=755,size=1m", "No space left"), ("mode=755,ro", "Read-only")],
)
def test_a_home_directory_that_does_not_take_the_agent(another, tmp_path, options, words):
    far = another(prelude=HOME.format(options=options, home=tmp_path / "machine/home"))
    message = refused()
    assert words in message
    assert not far.agents(far.inside(far.home))


# A user of that machine alone, and its own sudoers; sudo insists that the file is root's and not writable.
ADA = """
mount -t tmpfs -o mode=755 none /mnt
cp {path}/authorized_keys /mnt/keys
mkdir -m 700 /mnt/ada
chown 64321:64321 /mnt/ada
chmod 644 /mnt/keys
cp /etc/passwd /mnt/passwd
echo 'ada:*:64321:64321::/mnt/ada:{shell}' >> /mnt/passwd
mount --bind /mnt/passwd /etc/passwd
{more}
"""
SUDOERS = """
echo '{line}' > /mnt/sudoers
chmod 440 /mnt/sudoers
mount --bind /mnt/sudoers /etc/sudoers
"""


def ada(another, tmp_path, more="", shell="/bin/sh"):
    far = another(prelude=ADA.format(path=tmp_path / "machine", more=more, shell=shell), home="/mnt/ada")
    aliases.remove("far")
    aliases.add("far", "ssh://ada@far", str(far.path / "ssh_config"))
    return far


needs_sudo = pytest.mark.needs("sudo")


def test_a_machine_without_a_program_for_hashes(another):
    hide = "".join(f"mount --bind /dev/null {path}\n" for path in map(shutil.which, ("sha256sum", "openssl")) if path)
    far = another(prelude=hide)
    assert check_host("far").host == "far"
    assert len(far.agents()) == 1


def test_a_machine_that_is_no_linux(another, tmp_path):
    (tmp_path / "uname").write_text("#!/bin/sh\necho Darwin\n")
    (tmp_path / "uname").chmod(0o755)
    far = another(prelude=f"mount --bind {tmp_path}/uname {shutil.which('uname')}")
    assert "runs Darwin. becalm measures on Linux only" in refused()
    assert not far.agents()


@needs_sudo
def test_sudo_starts_the_agent_as_root_and_programs_as_the_user(another, tmp_path):
    ada(another, tmp_path, SUDOERS.format(line="ada ALL=(root) NOPASSWD: ALL"))
    checked = check_host("far", sudo=True)
    assert (checked.user, checked.privileged) == ("ada", True)
    assert not check_host("far").privileged
    seen = output(["sh", "-c", "id -u; env; pwd"], sudo=True)
    assert seen.startswith("64321\n")
    assert "HOME=/mnt/ada\n" in seen
    assert "SUDO" not in seen
    assert seen.endswith("/mnt/ada\n")


HELPER = """
mount -t tmpfs -o mode=755 none /usr/local/lib
mkdir /usr/local/lib/becalm
cp {helper} /usr/local/lib/becalm/becalm-helper
"""


@needs_sudo
def test_the_helper_is_all_that_sudo_need_start(another, tmp_path):
    (line,) = [line for line in sudoers(["ada"], str(INSTALLED)).splitlines() if line.startswith("ada")]
    ada(another, tmp_path, HELPER.format(helper=packaged()) + SUDOERS.format(line=line))
    checked = check_host("far", sudo=True)
    assert (checked.user, checked.privileged) == ("ada", True)
    assert output(["sh", "-c", "id -u; nice"], sudo=True, settings={"nice": -3}) == "64321\n-3\n"
    with pytest.raises(MachineError, match="Restarting a machine needs root there"):
        hosts.open("far", Access(sudo=True, reboot=True))


@needs_sudo
@pytest.mark.parametrize(
    ("more", "words"),
    [
        (SUDOERS.format(line="ada ALL=(root) ALL"), "without a password"),
        ("mount --bind /dev/null $(command -v sudo)", "There is no sudo on far"),
    ],
)
def test_sudo_that_does_not_help_is_reported_with_a_way_out(another, tmp_path, more, words):
    ada(another, tmp_path, more)
    message = refused(sudo=True)
    assert words in message
    assert "ssh://root@far --user ada" in message
    if "password" in words:
        assert "becalm install-sudoers --copy ada" in message
        assert "NOPASSWD: ALL" not in message


@needs_sudo
def test_a_sudo_that_hangs_there_is_not_waited_for(another, tmp_path, monkeypatch):
    """With no time to answer, every sudo is too late."""
    ada(another, tmp_path)
    monkeypatch.setattr(install, "SUDO_S", 0)
    message = refused(sudo=True)
    assert "sudo on far did not answer within 0 s" in message
    assert "--host ssh://root@far --user ada" in message


@pytest.mark.parametrize("shell", ["bash", "dash", "zsh", "tcsh", "fish"])
def test_any_login_shell(another, tmp_path, shell):
    ada(another, tmp_path, shell=shutil.which(shell) if shell in ("bash", "dash") else need(shell))
    assert check_host("far").user == "ada"


def test_an_account_that_runs_no_commands(another, tmp_path):
    ada(another, tmp_path, shell=shutil.which("false"))
    assert "did not run a command" in refused()


def test_a_closed_cache_directory_is_named(another, tmp_path):
    """An ordinary user's: root could write into it."""
    ada(another, tmp_path, more="mkdir -m 0 /mnt/ada/.cache; chown 64321:64321 /mnt/ada/.cache")
    message = refused()
    assert "~/.cache/becalm" in message
    assert "Permission denied" in message


def test_the_message_of_a_login_shell_that_runs_nothing_is_quoted(another, tmp_path):
    ada(another, tmp_path, shell=shutil.which("nologin", path="/usr/sbin:/sbin"))
    message = refused()
    assert "did not run a command as a shell would (exit code 1)" in message
    assert "its output: This account is currently not available" in message


def test_a_passphrase_is_asked_for_once_and_on_the_terminal(far, tmp_path):
    """Several commands go over one connection; without a terminal nothing is asked."""
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "open sesame", "-f", far.path / "id"], check=True)
    try:
        assert "ssh-add" in refused()
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(sys.executable, [sys.executable, "-m", "becalm", "host", "check", "far"])
        seen = b""
        while True:
            try:
                got = os.read(terminal, 4096)
            except OSError:
                break
            if not got:
                break
            seen += got
            # The prompt may come in parts.
            if seen.rstrip().endswith(b":") and b"passphrase" in seen.rpartition(b"\n")[2]:
                os.write(terminal, b"open sesame\n")
        os.close(terminal)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, seen
        assert seen.count(b"passphrase") == 1
        assert b"far answers" in seen
    finally:
        subprocess.run(["ssh-keygen", "-q", "-p", "-P", "open sesame", "-N", "", "-f", far.path / "id"], check=True)
