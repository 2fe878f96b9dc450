"""The wall clock of becalm itself jumps by days, forward and back, each time it is read: nothing depends on it.

The agent is linked statically and has the machine's clock; that one is stepped in tests/system/guest.
"""

import json
import os
import subprocess
import sys

import pytest
from tests.places import ROOT
from tests.support.laptop import changed, laptop, snapshot, strays

SHIM = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int reads;
    int done = syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME)
        now->tv_sec += (reads++ % 3 - 1) * 86400L;
    return done;
}
"""
RUNS = 6


@pytest.fixture
def stepping(tmp_path):
    """Return the environment of programs whose wall clock jumps, and check that it does."""
    (tmp_path / "shim.c").write_text(SHIM)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "shim.so", tmp_path / "shim.c"], check=True)
    names = ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
    own = {name: str(tmp_path) for name in names} | {"BECALM_STORE": str(tmp_path / "runs.db")}
    environment = {**os.environ, **own, "LD_PRELOAD": str(tmp_path / "shim.so"), "PYTHONPATH": str(ROOT / "python")}
    look = "import time; first, second, third = time.time(), time.time(), time.time(); print(int(second - first))"
    done = subprocess.run([sys.executable, "-c", look], env=environment, capture_output=True, text=True, check=True)
    # A day or two, and what passed in between.
    assert abs(int(done.stdout)) > 80_000
    return environment


def test_a_wall_clock_that_jumps_costs_no_run_and_no_setting(stepping, tmp_path):
    root = laptop(tmp_path / "root", cpus=4)
    before = snapshot(root)

    def becalm(*words):
        command = [sys.executable, "-m", "becalm", *words]
        done = subprocess.run(command, env=stepping, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stderr
        return done.stdout

    words = (
        "--set",
        "swappiness=10",
        "--runs",
        str(RUNS),
        "--warmup",
        "0",
        "--root",
        str(root),
        "--json",
        "--",
        "true",
    )
    document = json.loads(becalm("run", *words))
    assert document["summaries"][0]["runs"] == RUNS
    assert changed(before, snapshot(root)) == {}
    assert strays(root) == []
    assert json.loads(becalm("show", "last", "--json"))["summaries"] == document["summaries"]
    assert len(json.loads(becalm("list", "--json"))["studies"]) == 1
