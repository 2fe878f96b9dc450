"""Another machine that is one: Debian with GRUB, systemd and sshd, in QEMU, reached through ssh."""

import json
import subprocess
import sys

import pytest
from debian import Debian

from becalm.hosts import known

pytestmark = [pytest.mark.guest, pytest.mark.machine]


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """One machine for the tests of this file, on a disk of their own; `bench` is its name for becalm, too."""
    path = tmp_path_factory.mktemp("bench")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
            patch.setenv(name, str(path / name))
        patch.setenv("BECALM_STORE", str(path / "runs.db"))
        made = Debian(path / "machine")
        known.add("bench", "ssh://ada@bench", str(made.config))
        try:
            yield made.switch_on()
        finally:
            made.close()


def becalm(*words):
    """becalm as a person calls it, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "becalm", *words],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def test_programs_are_run_there(bench):
    words = ("--runs", "2", "--output", "inherit", "--", "cat", "/proc/version", "/etc/hostname")
    done = becalm("run", "--host", "bench", *words)
    assert done.returncode == 0, done.stderr
    assert bench.root("uname -r") in done.stdout
    assert "bench" in done.stdout.split()


def test_settings_are_put_on_and_off_there(bench):
    read = "cat /proc/sys/vm/stat_interval"
    before = bench.root(read)
    words = ("--runs", "2", "--warmup", "0", "--output", "inherit", "--set", "stat_interval=23", "--", *read.split())
    done = becalm("run", "--host", "bench", "--sudo", *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split().count("23") == 2
    assert bench.root(read) == before
    assert json.loads(becalm("status", "--host", "bench", "--json").stdout)["anything"] is False
