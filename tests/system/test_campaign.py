"""A campaign on the real machine: loads begin and end with their runs, and the plan is stored with the study."""

import subprocess
from pathlib import Path

import pytest
from tests.contract.conversation import needs_root
from tests.needs import need
from tests.support.compressed import available, zram

from becalm import hosts
from becalm.plans import load_steps
from becalm.store import Store
from becalm.verbs.load_experiment import load_experiment, room


def nobody_loads():
    """Return whether no process makes load any more."""
    return subprocess.run([need("pgrep"), "-x", "becalm-load"], capture_output=True, check=False).returncode == 1


def test_each_run_has_the_load_of_its_step(tmp_path, monkeypatch):
    monkeypatch.setattr(load_steps, "LARGEST_BLOCK", 1)
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
    assert set(done.loads) == {index for index, levels in enumerate(steps) if levels}
    assert nobody_loads()


@needs_root
@pytest.mark.skipif(not available(), reason="no zram device that nobody uses")
def test_load_on_memory_needs_swap():
    with hosts.open("local") as host:
        with zram(256):
            assert "memory" not in room(host, "/dev/shm").excluded
        if len(Path("/proc/swaps").read_text().splitlines()) < 2:
            assert "memory" in room(host, "/dev/shm").excluded
