"""Kernels as named sets of features."""

import pytest

from becalm import hosts
from becalm.errors import UsageError
from becalm.hosts.simulated.scheduler.knobs import of_model, usual


def shown(policy, kernel):
    return {knob.name: knob for knob in of_model(policy, 2, kernel)}


def test_a_kernel_has_its_features_and_its_slice():
    old, new = shown("eevdf", "6.6"), shown("eevdf", "6.18")
    assert (old["sched_base_slice_ns"].value, new["sched_base_slice_ns"].value) == ("1500000", "1400000")
    assert new["sched_feature_delay_dequeue"].value == "on"
    assert not old["sched_feature_delay_dequeue"].supported
    assert "eevdf of Linux 6.6 has none; sim:eevdf?kernel=6.12" in old["sched_feature_delay_dequeue"].reason
    assert (new["sched_feature_hrtick"].value, new["sched_feature_wa_bias"].value) == ("off", "on")
    assert "6.1" in shown("eevdf", None)["sched_feature_last_buddy"].reason
    assert usual("eevdf", 2, "6.18")["least_protected_ns"] == 700_000
    assert not usual("eevdf", 2, "6.6")["features"]["DELAY_DEQUEUE"]


@pytest.mark.parametrize(
    ("name", "why"),
    [("sim:cfs?kernel=6.6", "write sim:eevdf.kernel=6.6"), ("sim:eevdf?kernel=7.9", "no kernel '7.9'. It has 6.1")],
)
def test_another_kernel_is_refused(name, why):
    with pytest.raises(UsageError, match=why):
        hosts.open(name)
