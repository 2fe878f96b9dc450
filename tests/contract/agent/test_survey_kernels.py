"""The kernels built into the agent."""

import pytest
from tests.measuring import ran

from becalm import hosts
from becalm.nouns.run import Step
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from becalm.verbs.survey import KERNELS

MIB = 1 << 20


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_every_kernel_of_a_survey_runs_and_uses_what_it_says(kernel):
    with hosts.open("local") as host:
        host.define([kernel, Workload(kernel="add", iterations=1)], [Settings()])
        rows = ran(host, *(Step(index % 2, 0, 0, index // 2) for index in range(6)))
    assert all(run.outcome == "ok" and run.wall_ns > 0 for run in rows)
    large = [run.max_rss_bytes > 60 * MIB for run in rows]
    # The table belongs to the run and goes with it.
    assert large == [kernel.kernel == "read", False] * 3
