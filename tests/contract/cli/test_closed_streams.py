"""Standard streams that are closed, as daemons and cron jobs may have them: becalm works, and writes nowhere else."""

import os
import subprocess
import sys

import pytest
from tests.waiting import HANG_LIMIT_S

import becalm

STREAMS = ("<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-")
VERBS = {
    "list": ("list",),
    "run": ("run", "--runs", "2", "--warmup", "0", "--", "true"),
    "status": ("status",),
}


@pytest.mark.parametrize(
    ("verb", "closed"), [*(("run", closed) for closed in STREAMS), *((verb, ">&- 2>&-") for verb in ("list", "status"))]
)
def test_verbs_work_with_closed_streams(store, verb, closed):
    code = f"{sys.executable} -m becalm {' '.join(VERBS[verb])} {closed}"
    done = subprocess.run(["sh", "-c", code], capture_output=True, text=True, timeout=HANG_LIMIT_S)
    assert done.returncode == 0, done.stderr
    assert "defect" not in done.stdout + done.stderr
    if verb == "run":
        shown = subprocess.run(
            [sys.executable, "-m", "becalm", "show", "--json"], capture_output=True, text=True, timeout=HANG_LIMIT_S
        )
        assert '"runs": 2' in shown.stdout, shown.stderr


EVERY = {
    "help": ("--help",),
    "list": ("list",),
    "show": ("show", "--json"),
    "export": ("export", "--format", "csv"),
    "run": ("run", "--runs", "2", "--warmup", "0", "--output", "inherit", "--", "echo", "x"),
    "check": ("check", "true", "false"),
    "status": ("status",),
    "knobs": ("knobs",),
    "apply": ("apply", "--dry-run", "--set", "swappiness=1"),
    "doctor": ("doctor", "--quiet", "--no-measure"),
    "design": ("design", "A=1,2", "B=1,2"),
    "simulate": ("simulate", "--quiet", "--", "hackbench", "-g", "1", "-l", "10"),
    "place": ("place", "simulate", "gcc", "lbm"),
    "watch": ("watch", "--count", "1", "--interval", "10ms"),
    "store": ("store", "check"),
}


@pytest.mark.parametrize("verb", EVERY)
def test_every_verb_ends_as_with_open_streams(store, verb):
    """Each stream by itself, and a study to be shown; a verb that refuses does so with any of them closed."""

    def ended(words, shell):
        code = f"{sys.executable} -m becalm {' '.join(words)} {shell}"
        return subprocess.run(["sh", "-c", code], capture_output=True, text=True, timeout=HANG_LIMIT_S)

    becalm.run("true", runs=2, warmup=0)
    expected = ended(EVERY[verb], "").returncode
    for closed in ("<&-", ">&-", "2>&-"):
        done = ended(EVERY[verb], closed)
        assert done.returncode == expected, (closed, done.stderr)
        assert "defect" not in done.stdout + done.stderr
        assert "Traceback" not in done.stdout + done.stderr


def test_an_agent_gets_no_standard_stream_of_another_program(store):
    """A library user's process may have closed them, too: descriptors that are passed on are above 2."""
    code = """
import os
os.close(0)
import becalm
verdict = becalm.run(["true"], runs=1, warmup=0)
os.write(1, str(verdict.summaries[0].runs).encode())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=HANG_LIMIT_S, env=os.environ
    )
    assert (done.returncode, done.stdout) == (0, "1"), done.stderr
