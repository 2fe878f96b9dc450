"""Surroundings that some rows of tables need to be tried in."""

import os

import pytest
from tests.system.ssh.far import Far
from tests.needs import need_module


@pytest.fixture(scope="module")
def ssh_trial(tmp_path_factory):
    """The name of another machine, and the process that serves it."""
    path = tmp_path_factory.mktemp("far")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(path / "config"))
        made = Far(path / "machine")
        yield made.name
    made.close()


@pytest.fixture(scope="module")
def cluster_trial():
    """A worker of a cluster on this machine; one for all tests."""
    need_module("distributed")
    from becalm.hosts.cluster import opened

    with opened("local:1", print) as (name,):
        yield name


@pytest.fixture
def as_root():
    if os.geteuid() != 0:
        pytest.skip("Settings of the machine need root.")
