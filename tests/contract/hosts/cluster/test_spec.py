"""Clusters: what is imported, and a machine without Slurm."""

import sys

import pytest
from tests.needs import need_module

from becalm.errors import MachineError
from becalm.hosts.cluster import opened


def test_nothing_imports_dask_before_it_is_asked_for():
    import subprocess

    code = (
        "import sys; from becalm.hosts import cluster; import becalm.study.multi_host, becalm.study.same_machine; "
        "import becalm.cli.compare; sys.exit(any(m.split('.')[0] in ('dask', 'distributed') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_slurm_where_there_is_none(monkeypatch, tmp_path):
    need_module("dask_jobqueue")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(MachineError, match="no sbatch on this machine"), opened("slurm", print):
        pytest.fail("nothing to send jobs with")
