"""Machines that some rows of tables need to be tried on."""

import pytest
from tests.needs import need_module
from tests.system.ssh.far import Far

pytest.register_assert_rewrite("tests.suites")


@pytest.fixture(scope="module")
def ssh_trial(tmp_path_factory):
    """Yield the name of another machine, which a process of this one serves."""
    path = tmp_path_factory.mktemp("far")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(path / "config"))
        machine = Far(path / "machine")
        yield machine.name
    machine.close()


@pytest.fixture(scope="module")
def cluster_trial():
    """Yield the name of a worker of a cluster on this machine, the same for all tests of a module."""
    need_module("distributed")
    from becalm.hosts.cluster import opened

    with opened("local:1", print) as (name,):
        yield name
