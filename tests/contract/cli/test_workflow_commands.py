"""Output of a failing program is not obeyed by the workflow that runs becalm."""

import os
import re
import subprocess
import sys

import pytest

SCRIPT = "echo '  ::stop-commands::x' >&2; echo 'a ##[add-mask]b' >&2; echo '::error::x'; exit 3"


@pytest.mark.parametrize(
    ("words", "environment"),
    [
        (("check", "--no-store", "--annotate", "github", "--budget", "1s", f'sh -c "{SCRIPT}"', "true"), {}),
        (("run", "--no-store", "--runs", "2", "--", "sh", "-c", SCRIPT), {"GITHUB_ACTIONS": "true"}),
    ],
)
def test_a_failing_program_commands_no_workflow(tmp_path, words, environment):
    done = subprocess.run(
        [sys.executable, "-m", "becalm", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment, "XDG_STATE_HOME": str(tmp_path)},
        cwd=tmp_path,
    )
    assert done.returncode == 4, done.stderr
    assert r"    :\u003astop-commands::x" in done.stderr
    lines = re.split(r"[\r\n]", done.stdout + done.stderr)
    assert not [line for line in lines if line.lstrip().startswith("::") or "##[" in line]
