"""The work of tools/programs.py on machines with other sets of packages, whose apt-get and dpkg-query are scripts."""

import os
import subprocess
import sys

import pytest
from tests.places import ROOT
from tests.waiting import wait_ended, wait_readable

CODE = "import os, sys, programs; os.geteuid = lambda: {user}; sys.exit(programs.main(sys.argv[1:]))"

DPKG = """#!/bin/sh
for name; do case $name in
  -*) ;; *Status*) ;; valgrind) cat "{state}" ;; *) echo "$name installed" ;;
esac; done
"""

APT = """#!/bin/sh
echo "$*" >> "{log}"
case "$*" in
  *--simulate*) echo "Inst valgrind (1)"; echo "Inst libc6-dbg (1)" ;;
  install*) {result} ;;
esac
"""


class Machine:
    """A machine without valgrind: a directory of programs, a log of what apt-get was called with."""

    def __init__(self, directory):
        self.directory, self.log, self.state = directory, directory / "log", directory / "state"
        self.state.touch()
        self.write("dpkg-query", DPKG.format(state=self.state))
        self.apt(f"echo valgrind installed > '{self.state}'")
        (directory / "cat").symlink_to("/bin/cat")

    def write(self, name, text):
        (self.directory / name).write_text(text)
        (self.directory / name).chmod(0o755)

    def apt(self, result):
        self.write("apt-get", APT.format(log=self.log, result=result))

    @property
    def calls(self):
        return [line.split()[0] for line in self.log.read_text().splitlines() if "--simulate" not in line]

    def command(self, *words, user=0):
        return [sys.executable, "-c", CODE.format(user=user), *words]

    def environment(self, **environment):
        return {"PATH": str(self.directory), "PYTHONPATH": str(ROOT / "tools"), "LANG": "C.UTF-8", **environment}

    def run(self, *words, user=0, **environment):
        return subprocess.run(
            self.command(*words, user=user),
            env=self.environment(**environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def machine(tmp_path):
    directory = tmp_path / "bin"
    directory.mkdir()
    return Machine(directory)


def test_missing_packages_of_a_tier_are_printed(machine):
    assert machine.run("missing", "system").stdout.split() == ["valgrind"]
    assert machine.run("missing", "contract").stdout.split() == []


def test_without_dpkg_a_package_is_missing_if_its_program_is(machine):
    (machine.directory / "dpkg-query").unlink()
    machine.write("cc", "")
    assert machine.run("missing", "contract").stdout.split() == ["gcc"]
    machine.write("gcc", "")
    assert machine.run("missing", "contract").stdout.split() == []


def test_nothing_is_done_where_nothing_is_missing(machine):
    done = machine.run("install", "contract", CI="true")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not machine.log.exists()


def test_nothing_is_installed_without_a_terminal_or_a_yes(machine):
    done = machine.run("install", "system")
    assert done.returncode == 0
    assert done.stdout == "Not installed, but needed by tests (system): libc6-dbg valgrind\n"
    assert "are skipped. To install them: apt-get install --no-install-recommends valgrind\n" in done.stderr
    assert machine.calls == []


@pytest.mark.parametrize("environment", [{"YES": "1"}, {"CI": "true"}])
def test_yes_and_ci_install_after_listing(machine, environment):
    done = machine.run("install", "system", **environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Not installed, but needed by tests (system): libc6-dbg valgrind\n")
    assert machine.calls == ["update", "install"]


def test_packages_that_another_distribution_does_not_have_are_left_out(machine):
    (machine.directory / "dpkg-query").unlink()
    machine.write("cc", "")
    machine.write("apt-cache", "#!/bin/sh\necho gcc")
    done = machine.run("install", "system", YES="1")
    assert "Not in apt's index, and left out: " in done.stdout
    # To learn whether it has them, the index was fetched before anything was listed.
    assert machine.calls == ["update", "install"]
    assert machine.log.read_text().splitlines()[-1].endswith("--no-install-recommends gcc")
    assert done.returncode == 0


@pytest.mark.parametrize(("environment", "code"), [({"YES": "1"}, 0), ({"CI": "true"}, 1)])
def test_a_failed_installation_is_a_failure_on_ci_only(machine, environment, code):
    machine.apt("exit 100")
    done = machine.run("install", "system", **environment)
    assert done.returncode == code
    assert "apt-get install --no-install-recommends valgrind" in done.stderr


@pytest.mark.parametrize(("environment", "code"), [({}, 0), ({"YES": "1"}, 0), ({"CI": "true"}, 1)])
def test_an_ordinary_user_gets_the_command_for_root(machine, environment, code):
    done = machine.run("install", "system", user=1000, **environment)
    assert done.returncode == code
    assert "To install them: sudo apt-get install --no-install-recommends valgrind\n" in done.stderr
    assert not machine.log.exists()


@pytest.mark.parametrize(("answer", "calls"), [("y\n", ["update", "install"]), ("n\n", []), ("\n", []), ("\4", [])])
def test_a_person_at_a_terminal_is_asked(machine, answer, calls):
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        machine.command("install", "system"), env=machine.environment(), stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    screen = b""
    while b"[y/N]" not in screen:
        wait_readable(ours)
        screen += os.read(ours, 4096)
    assert b"Install these 2 packages with apt-get? [y/N]" in screen
    os.write(ours, answer.encode())
    wait_ended(process.pid)
    assert process.wait() == 0
    os.close(ours)
    assert machine.calls == calls
