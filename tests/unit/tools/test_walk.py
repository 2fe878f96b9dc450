"""The walk from a command to the host's first run is that of the commands that are there."""

import subprocess
import sys

from tests.places import ROOT


def test_both_walks_end_at_the_host_and_pass_the_verb():
    words = [sys.executable, ROOT / "tools/walk.py", "--list"]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    for verb in ("compare", "tune"):
        (row,) = [line for line in text.splitlines() if line.startswith(f"| {verb} |")]
        files, folders, deep = map(int, row.strip("| ").split(" | ")[1:])
        assert files >= deep >= 3
        assert files >= folders
    ways = [line.split(": ")[1].split() for line in text.splitlines() if line.startswith("  deep: ")]
    assert [way[0] for way in ways] == ["cli/compare.py", "cli/tune.py"]
    assert all(way[-1].startswith("hosts/simulated") for way in ways)
