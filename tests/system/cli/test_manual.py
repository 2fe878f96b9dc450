"""The manual page as man reads it."""

import subprocess

import pytest

from becalm.cli import manual
from becalm.cli.main import becalm


@pytest.mark.needs("man")
def test_man_reads_the_manual_page(tmp_path):
    path = tmp_path / "becalm.1"
    path.write_text(manual.page(becalm))
    done = subprocess.run(
        ["man", "--warnings", "-l", str(path)],
        capture_output=True,
        text=True,
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0
    assert "--fail-above" in done.stdout.replace("\u2010", "-")
    assert not done.stderr
