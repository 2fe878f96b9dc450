"""Files of state machines and of measured programs, simulated."""

import pytest
from tests.unit.hosts.simulated.scheduler.test_states import MEASURED

import becalm
from becalm.hosts.simulated.scheduler.states import read


def test_lengths_are_drawn_by_name(tmp_path):
    path = tmp_path / "drawn.toml"
    path.write_text('[[task]]\nsteps = ["repeat 400", "compute service", "end"]\n[length]\nservice = ["10us", "30us"]')
    assert read(path)["programs"] == [[{"repeat": 400}, {"compute_drawn": 0}, "end"]]
    first, second = becalm.simulate([str(path)], host="sim:cfs", seeds=2).runs
    assert first.run_ns / 400 == pytest.approx(20_000, rel=0.1)
    assert first.run_ns != second.run_ns


@pytest.mark.parametrize(("count", "wanted"), [(1, 2.0), (2, 1.894), (20, 18.94)])
def test_the_sources_check_values(tmp_path, count, wanted):
    """Anderson (2013), ch. 3: with one thread a group two never share a CPU; one alone uses half of what it could."""
    path = tmp_path / "groups.toml"
    path.write_text(
        MEASURED[: MEASURED.index('[[measured]]\nname = "quiet"')].replace("count = 20", f"count = {count}")
    )
    simulation = becalm.simulate([str(path)], host="sim:cfs?switch_ns=0&migration_ns=0")
    assert simulation.end_ns / 1e9 == pytest.approx(wanted, rel=0.011)


def test_a_program_that_waits_takes_its_time_alone(tmp_path):
    path = tmp_path / "io.toml"
    path.write_text('cpus = 2\n[[measured]]\nname = "io"\nsolo = "1s"\nbusy = 0.25\n')
    simulation = becalm.simulate([str(path)], host="sim:cfs?switch_ns=0&migration_ns=0", seeds=4)
    assert simulation.end_ns / 1e9 == pytest.approx(1.0, abs=0.003)
    assert simulation.typical("run_ns") / 1e9 == pytest.approx(0.25, abs=0.003)


def test_twenty_groups_of_forty_threads_take_what_is_published(tmp_path):
    """Anderson (2013), ch. 3: 18.99 times as long as one, where a thread meets its own group in a twentieth of all
    ticks; in step with each other they took 20.00 times."""
    path = tmp_path / "groups.toml"
    text = MEASURED[: MEASURED.index('[[measured]]\nname = "quiet"')]
    path.write_text(text.replace("threads = 1", "threads = 40").replace('"1s"', '"200ms"'))
    simulation = becalm.simulate([str(path)], host="sim:cfs?switch_ns=0&migration_ns=0", seeds=3)
    assert simulation.end_ns / 2e8 == pytest.approx(18.99, rel=0.01)
    assert len({run.end_ns for run in simulation.runs}) == 3
