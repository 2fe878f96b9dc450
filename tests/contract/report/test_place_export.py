"""Exported scripts of placements, run by a shell."""

import os
import subprocess

from tests.unit.report.test_place_export import HOSTILE, TWO, advice, script

from becalm.results.place import SharingShape
from becalm.results.place_costs import Chip


def test_the_script_runs_each_program_on_its_cpus_and_hostile_words_stay_words(tmp_path):
    # A line in one write: both programs say it at once into the same pipe.
    says = "import os, sys; os.write(1, f'{sorted(os.sched_getaffinity(0))} {sys.argv[1]!r}\\n'.encode())"
    words = ("python3", "-c", says, HOSTILE)
    text = script(advice((("one",), (HOSTILE,)), TWO, {"one": words, HOSTILE: words}))
    done = subprocess.run(["sh"], input=text, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"[0] {HOSTILE!r}"] * 2
    assert list(tmp_path.iterdir()) == []


def test_rounds_wait_for_each_other(tmp_path):
    # The first ends after the second, which waits for its reader (fifo(7)).
    os.mkfifo(tmp_path / "fifo")
    commands = {
        name: ("sh", "-c", script)
        for name, script in {
            "a": "read line < fifo; echo a >> order", "b": "echo b >> order; echo > fifo", "c": "echo c >> order"
        }.items()
    }  # fmt: skip
    text = script(advice((("a", "b"), ("c",)), (Chip(2, cpus=(0, 1)),), commands, SharingShape.ROUNDS))
    subprocess.run(["sh"], input=text, text=True, cwd=tmp_path, check=True)
    assert (tmp_path / "order").read_text().split() == ["b", "a", "c"]
    assert "taskset" not in text
