"""Values that --cluster takes and refuses, without any cluster."""

import sys

import pytest

from becalm.errors import MachineError, UsageError
from becalm.hosts.cluster import opened
from becalm.hosts.cluster.spec import Spec, hosts_of, parse
from becalm.hosts.cluster.workers import find


def test_the_forms():
    assert parse("local:3") == Spec("local", 3)
    assert parse("local") == Spec("local", 1)
    assert parse("ssh:/etc/bench") == Spec("ssh", 0, "/etc/bench")
    assert parse("tcp://head:8786") == Spec("address", 0, "tcp://head:8786")
    assert parse("tls://head:8786").place == "tls://head:8786"
    assert parse("slurm") == Spec("slurm", 1, wait_s=600.0)
    spec = parse("slurm:nodes=4,partition=batch,nodelist=n[1,3-5],wait=30s")
    assert (spec.workers, spec.wait_s) == (4, 30.0)
    assert spec.options == {"partition": "batch", "nodelist": "n[1,3-5]"}


@pytest.mark.parametrize(
    "text",
    [
        "", "local:0", "local:x", "local:-1", "tcp:head", "tcp://", "ssh:", "k8s:3", "slurm:", "slurm:nodes",
        "slurm:nodes=",
        "slurm:nodes=two", "slurm:colour=red", "slurm:partition=a b", "slurm:partition=$(id)", "slurm:partition=a;id",
        "slurm:partition=a\nid", "slurm:wait=soon",
    ],
)  # fmt: skip
def test_nonsense_is_refused(text):
    with pytest.raises(UsageError):
        parse(text)


def test_a_file_of_hosts(tmp_path):
    path = tmp_path / "hosts"
    path.write_text("# ours\nada@one:2222\n\ntwo  # the slow one\n")
    assert hosts_of(str(path)) == ["ada@one:2222", "two"]
    path.write_text("# none\n")
    with pytest.raises(UsageError, match="names no host"):
        hosts_of(str(path))
    with pytest.raises(UsageError, match="No such file"):
        hosts_of(str(tmp_path / "missing"))


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MachineError, match="-m pip install distributed cryptography"), opened("local:1", print):
        pytest.fail("nothing opens without Dask")


def test_a_worker_of_no_cluster():
    with pytest.raises(UsageError, match="No cluster with a machine 'n1' is open"):
        find("n1")
