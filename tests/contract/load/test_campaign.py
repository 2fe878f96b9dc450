"""A campaign on the real machine: loads begin and end with their runs, and the plan is kept with the study."""

import contextlib
import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.needs import need

from becalm import hosts
from becalm.cli.main import becalm as group
from becalm.errors import MachineError, UsageError, WorkloadError
from becalm.load.design import Factor
from becalm.plans import beside_loads
from becalm.store import Store
from becalm.verbs.load_experiment import load_experiment, room


def nobody_loads():
    """No process of ours makes load any more."""
    return subprocess.run([need("pgrep"), "-x", "becalm-load"], capture_output=True, check=False).returncode == 1


def test_each_run_has_the_load_of_its_step(tmp_path, monkeypatch):
    monkeypatch.setattr(beside_loads, "LARGEST_BLOCK", 1)
    counter = tmp_path / "seen"
    # What the program itself sees of the generator: how many processes of it compute.
    script = f"pgrep -c -x becalm-load >> {counter}; exit 0"
    done = load_experiment(["sh", "-c", script], steps=20, loads=["cpu"], store=str(tmp_path / "store.db"), seed=4)
    assert done.runs == 20
    assert done.excluded == {}
    with Store.open(str(tmp_path / "store.db")) as store:
        stored = store.study(done.study).study
        runs = store.runs(done.study)
    assert stored.kind == "explain"
    steps = stored.options["design"]["steps"]
    assert len(steps) == 20
    assert [run.round for run in runs] == [-2, -1, *range(20)]
    seen = [int(line) for line in counter.read_text().split()]
    # The generator itself and a process for each processor that is kept busy, whole or in part.
    expected = [0 if not levels else 1 + int(levels["cpu"]) + (levels["cpu"] % 1 >= 0.01) for levels in steps]
    assert seen == [0, 0, *expected]
    assert set(done.made) == {index for index, levels in enumerate(steps) if levels}
    assert nobody_loads()


def test_what_this_machine_cannot_is_left_out_or_refused():
    with contextlib.suppress(OSError):
        swapped = len(Path("/proc/swaps").read_text().splitlines()) > 1
    with hosts.open("local") as host:
        found = room(host, "/dev/shm")
        assert "tmpfs" in found.excluded["disk"]
        assert Factor("cpu", 2.0 * len(os.sched_getaffinity(0))) in found.factors
        assert ("memory" in found.excluded) is (not swapped or os.geteuid() != 0)
        with pytest.raises(MachineError, match="tmpfs"):
            room(host, "/dev/shm", ["disk"])
        with pytest.raises(UsageError, match="heat"):
            room(host, "/var/tmp", ["heat"])


def test_a_program_that_fails_ends_the_load_too(tmp_path):
    with pytest.raises(WorkloadError, match="exit code 3"):
        load_experiment(["sh", "-c", "exit 3"], steps=20, loads=["cpu"], store=str(tmp_path / "store.db"))
    assert nobody_loads()


def test_the_load_is_made_where_the_program_runs(far, monkeypatch):
    """By the command itself: the plan travels over ssh, and the study is explained here."""
    monkeypatch.setattr(beside_loads, "LARGEST_BLOCK", 1)
    words = ["explain", "--designed", "--steps", "20", "--loads", "cpu", "--host", "far", "--json", "--", "true"]
    told = CliRunner().invoke(group, words)
    assert told.exception is None, told.output
    (number,) = json.loads(told.stdout)["studies"]
    with Store.open() as store:
        kept = store.study(number)
        assert [run.round for run in store.runs(number)] == [-2, -1, *range(20)]
    assert (kept.study.kind, kept.study.host) == ("explain", "far")
    assert nobody_loads()


@pytest.mark.parametrize(("option", "word"), [({"host": "null"}, "null"), ({"store": False}, "store")])
def test_what_makes_no_sense(option, word, tmp_path):
    with pytest.raises(UsageError, match=word):
        load_experiment("true", loads=["cpu"], **{"store": str(tmp_path / "s.db"), **option})
