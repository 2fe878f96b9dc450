"""The model of a scheduler says what it leaves out."""

import pytest

from becalm import hosts


@pytest.mark.parametrize("name", ["sim:cfs", "sim:eevdf?cpus=4"])
def test_the_model_of_a_scheduler_says_what_it_leaves_out(name):
    with hosts.open(name) as host:
        assert hosts.emulated(host).startswith("its scheduler is simulated; not modelled: ")
