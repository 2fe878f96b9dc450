"""Programs that time themselves by pytest-benchmark."""

import subprocess
import sys

import pytest
from tests.support.self_timed import number

from becalm import workloads
from becalm.errors import UsageError, WorkloadError

PYTHON = """
import pytest

@pytest.mark.parametrize("n", [10, 20])
def test_sort(benchmark, n):
    benchmark(sorted, range(n))

class TestList:
    def test_sum(self, benchmark):
        benchmark(sum, range(10))

def test_without():
    pass
"""


@pytest.fixture
def speed(tmp_path, monkeypatch):
    # pytest-benchmark measures nothing in a worker of pytest-xdist.
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "test_speed.py").write_text(PYTHON)
    return tmp_path / "test_speed.py"


def test_tests_with_the_fixture_are_benchmarks_and_others_are_not(speed):
    opened = workloads.open([f"pytest-benchmark:{speed}"])
    assert [workload.name for workload in opened] == ["test_sort[10]", "test_sort[20]", "TestList::test_sum"]
    assert [metric.unit for metric in opened[2].metrics] == ["s"]
    assert number(opened[2]) > 0
    assert not list(speed.parent.glob(".*")), "nothing is left next to the tests"


def test_a_file_without_benchmarks_is_refused(speed):
    speed.write_text("def test_without():\n    pass\n")
    with pytest.raises(UsageError, match="no test that uses pytest-benchmark's fixture"):
        workloads.open([f"pytest-benchmark:{speed}"])
    speed.write_text("def test_bad(benchmark):\n    benchmark(int, 'x')\n")
    with pytest.raises(WorkloadError, match="failed when pytest listed"):
        workloads.open([f"pytest-benchmark:{speed}"])
    with pytest.raises(UsageError, match="Name a file with tests"):
        workloads.open(["pytest-benchmark:nothing.py"])


def test_a_python_without_pytest_is_reported(speed, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    with pytest.raises(WorkloadError, match="has no pytest, which"):
        workloads.open([f"pytest-benchmark:{speed}"], python=str(tmp_path / "bare/bin/python"))
