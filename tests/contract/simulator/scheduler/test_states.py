"""Files of state machines and of measured programs, simulated."""

import pytest

import becalm
from becalm.hosts.simulated.scheduler.states import read

MEASURED = """
cpus = 2

[[measured]]
name = "groups"
solo = "1s"
busy = 2.0
threads = 1
count = 20
beside = { groups = 0.528 }

[[measured]]
name = "quiet"
solo = ["1s", "3s"]
"""


def test_lengths_are_drawn_by_name(tmp_path):
    path = tmp_path / "drawn.toml"
    path.write_text('[[task]]\nsteps = ["repeat 400", "compute service", "end"]\n[length]\nservice = ["10us", "30us"]')
    assert read(path)["programs"] == [[{"repeat": 400}, {"compute_drawn": 0}, "end"]]
    one, two = becalm.simulate([str(path)], host="sim:cfs", seeds=2).runs
    assert one.run_ns / 400 == pytest.approx(20_000, rel=0.1)
    assert one.run_ns != two.run_ns


@pytest.mark.parametrize(("count", "wanted"), [(1, 2.0), (2, 1.894), (20, 18.94)])
def test_the_sources_check_values(tmp_path, count, wanted):
    """Anderson (2013), ch. 3: with one thread a group two never share a CPU; one alone uses half of what it could."""
    path = tmp_path / "groups.toml"
    path.write_text(
        MEASURED[: MEASURED.index('[[measured]]\nname = "quiet"')].replace("count = 20", f"count = {count}")
    )
    found = becalm.simulate([str(path)], host="sim:cfs?switch_ns=0&migration_ns=0")
    assert found.end_ns / 1e9 == pytest.approx(wanted, rel=0.011)
