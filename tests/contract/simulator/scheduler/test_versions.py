"""Every kernel of the table is simulated."""

import pytest

from becalm import hosts
from becalm.hosts.simulated.scheduler.versions import TABLE


@pytest.mark.parametrize("version", TABLE, ids=lambda letter: letter.name)
def test_every_kernel_runs(version):
    with hosts.open(f"sim:{version.policy}?kernel={version.name}") as host:
        assert host.facts()["model"]["kernel"] == version.name
