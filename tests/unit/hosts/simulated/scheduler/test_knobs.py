"""Settings of a simulated scheduler: the catalogue's names, the kernel's values, and what they make of a request."""

import pytest

from becalm.errors import UsageError
from becalm.hosts.simulated.scheduler.knobs import TABLE, of_model, put, scaling
from becalm.nouns.knob import catalogue
from becalm.nouns.settings import Settings

REQUEST = {"work": {}, "policy": {"eevdf": {}}, "machine": {"cpus": 2}}


def known(policy="eevdf", cpus=2):
    return {knob.name: knob for knob in of_model(policy, cpus)}


def test_every_row_is_a_knob_of_the_catalogue():
    assert {row.name for row in TABLE} <= {knob.name for knob in catalogue()}


def test_the_kernels_times_grow_with_the_cpus():
    assert [scaling(cpus) for cpus in (1, 2, 3, 4, 8, 64)] == [1, 2, 2, 3, 4, 4]
    assert known("cfs", 4)["sched_latency_ns"].value == "18000000"
    assert known("eevdf", 2)["sched_base_slice_ns"].value == "1400000"


def test_missing_knobs_name_the_scheduler_that_has_them():
    assert known()["sched_latency_ns"].reason == "the scheduler eevdf of Linux 6.12 has none; sim:cfs?kernel=6.1 has it"
    reason = known("cfs")["sched_base_slice_ns"].reason
    assert reason.startswith("the scheduler cfs of Linux 6.1 has none; sim:eevdf")
    assert reason.endswith("sim:eevdf?kernel=6.12 and sim:eevdf?kernel=6.18 have it")
    assert "does not have it" in known()["turbo"].reason


def test_settings_are_applied_where_they_belong():
    settings = {"sched_base_slice_ns": 3_000_000, "sched_feature_run_to_parity": "off", "nice": 5, "policy": "batch"}
    request = put(REQUEST, Settings.of(settings | {"sched_migration_cost_ns": 0}), of_model("eevdf", 2))
    assert request["policy"] == {"eevdf": {"base_slice_ns": 3_000_000, "features": {"RUN_TO_PARITY": False}}}
    assert request["tasks"] == {"nice": 5, "class": "batch"}
    assert request["machine"] == {"cpus": 2, "migration_cost_ns": 0}
    assert REQUEST == {"work": {}, "policy": {"eevdf": {}}, "machine": {"cpus": 2}}, "the first one is left alone"


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"sched_latency_ns": 6_000_000}, "sched_latency_ns cannot be set here"),
        ({"nice": 40}, "nice=40"),
        ({"policy": "fifo:10"}, "other, batch, idle"),
    ],
)
def test_invalid_settings_are_refused(settings, why):
    with pytest.raises(UsageError, match=why):
        put(REQUEST, Settings.of(settings), of_model("eevdf", 2))
