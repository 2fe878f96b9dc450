"""Measuring on a real Slurm of one node, from Debian's packages."""

import os

import pytest
from tests.needs import need_module
from tests.system.cluster.slurm import Slurm

from becalm.errors import MachineError
from becalm.hosts.cluster import opened
from becalm.hosts.cluster.workers import find
from becalm.store import Store
from becalm.verbs.compare import compare
from becalm.verbs.survey import survey

need_module("dask_jobqueue")


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    cluster = Slurm(tmp_path_factory.mktemp("slurm"))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in cluster.environment.items():
            patch.setenv(name, value)
        yield cluster
    cluster.close()


@pytest.fixture
def store(store, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "XDG_CACHE_HOME"))
    return store


def test_a_comparison_on_a_node_of_slurm(slurm, store, tmp_path):
    """One job with the node for itself; its runs are in our store; nothing is left of it."""
    comparison = compare(["sleep 0.001", "sleep 0.004"], cluster="slurm:nodes=1,partition=batch,wait=2min", runs=10)
    (host,) = comparison.hosts
    assert host.lost == ""
    with Store.open(store) as opened_store:
        assert opened_store.study(host.study).runs == 22
    assert slurm.queue("-t", "R,PD") == ""
    assert list((tmp_path / "XDG_CACHE_HOME/becalm").glob("cluster-*")) == []


def test_the_programs_run_in_a_job_that_holds_the_node(slurm, store):
    with opened("slurm:wait=2min", print) as (name,):
        environment = find(name.removeprefix("cluster:")).environment
        assert environment["SLURM_JOB_NUM_NODES"] == "1"
        words = slurm.queue("-o", "%i %j %C %h").split()
        assert words == [environment["SLURM_JOB_ID"], "becalm", str(os.cpu_count()), "NO"]


def test_a_survey_of_one_node(slurm, store):
    verdict = survey([], cluster="slurm:wait=2min", loops=5, runs=2)
    assert [row.work for row in verdict.rows] == ["additions", "memory reads"]
    assert all(row.time_ns > 0 and row.slower_q is None for row in verdict.rows)


def test_a_partition_that_is_not_there(slurm, store):
    with pytest.raises(MachineError, match="invalid partition"), opened("slurm:partition=nowhere,wait=5s", print):
        pytest.fail("there is no such partition")
