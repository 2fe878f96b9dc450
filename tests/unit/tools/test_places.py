"""One more of each thing takes as few places as is said, and the changes that show it still fit the tree."""

import subprocess
import sys

import pytest
from tests.places import ROOT

TOOL = ROOT / "tools/places.py"


def told(*words):
    return subprocess.run([sys.executable, TOOL, *words], capture_output=True, text=True, check=False)


def test_every_addition_fits_the_tree_and_takes_few_places():
    done = told("--count")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()[2:]]
    assert [row[0] for row in rows] == told("--list").stdout.splitlines()
    for family, places, most, files in rows:
        assert 1 <= int(places) == len(files.split(", ")) <= int(most), family


@pytest.mark.slow
def test_one_more_export_format_is_made_and_works():
    """The others, which need the engine built anew, are tried by the command itself."""
    done = told("export format")
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_does_not_exist_is_refused():
    assert told("odd").returncode == 1
