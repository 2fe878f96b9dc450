"""What simulated hosts serve, and what they say of the rest."""

import pytest

import becalm
from becalm.errors import UsageError, WorkloadError


def test_programs_are_measured_watched_and_surveyed(store):
    options = {"seed": 1, "store": store}
    assert becalm.run("spin 20ms", host="sim:calm", runs=5, **options).summaries[0].runs == 5
    assert becalm.watch("spin 20ms", host="sim:calm", **options).run.outcome == "ok"
    found = becalm.survey(["sim:laptop-a", "sim:b"], "spin 20ms", kernels=(), loops=5, runs=5, store=store)
    assert not found.lost


def test_what_needs_a_machine_says_so(store):
    with pytest.raises(UsageError, match="It is simulated"):
        becalm.apply(becalm.profile(settings={"aslr": "off"}), host="sim:calm")
    with pytest.raises(UsageError, match="It is simulated"):
        becalm.status("sim:calm")
    with pytest.raises(WorkloadError, match="--no-kernels"):
        becalm.survey(["sim:calm"], loops=5, runs=5, store=store)


def test_a_run_ends_with_its_time_limit(store):
    options = {"host": "sim:calm", "seed": 1, "store": store, "runs": 3}
    assert becalm.run("spin 20ms", timeout="40ms", **options).summaries[0].runs == 3
    with pytest.raises(WorkloadError, match="did not end within its time limit and was killed after 10"):
        becalm.run("spin 20ms", timeout="10ms", **options)
