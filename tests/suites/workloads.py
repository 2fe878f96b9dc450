"""Promises of every source, over the table of sources: one more row is one more run of these tests.

A tier gives the fixture `kind`: sources that start programs to ask for their benchmarks are tried in tests/contract.
"""

import pytest

from becalm import workloads
from becalm.nouns.workload import Workload
from becalm.workloads import criterion, pyperf

PYPERF = """
import pyperf
runner = pyperf.Runner()
runner.bench_func("sum", sum, range(100))
"""


def pyperf_text(folder):
    (folder / "bench.py").write_text(PYPERF)
    return f"pyperf:{folder / 'bench.py'}"


def phoronix_text(folder, monkeypatch):
    installed = folder / "installed-tests/pts/tiny-1.0.0"
    profile = folder / "test-profiles/pts/tiny-1.0.0"
    installed.mkdir(parents=True)
    profile.mkdir(parents=True)
    (profile / "test-definition.xml").write_text("<PhoronixTestSuite></PhoronixTestSuite>")
    (installed / "tiny").write_text("#!/bin/sh\ntrue\n")
    (installed / "tiny").chmod(0o755)
    monkeypatch.setenv("PTS_USER_PATH_OVERRIDE", str(folder))
    return "phoronix:pts/tiny"


def suite_text(folder):
    (folder / "programs.toml").write_text('[[program]]\ncommand = "true"\n')
    return f"suite:{folder / 'programs.toml'}"


GOOGLE = """#!/bin/sh
for each; do case $each in --benchmark_out=?*) out=${each#*=};; esac; done
echo '{"context": {}, "benchmarks": [{"name": "BM_One/8", "run_type": "iteration", "time_unit": "us"}]}' > "$out"
"""

GO = """#!/bin/sh
echo 'BenchmarkOne   1   12.5 ns/op'
"""


CRITERION = """#!/bin/sh
case $* in *--list*) echo 'one: benchmark';; esac
"""


def program(folder, kind, text):
    (folder / "bench").write_text(text)
    (folder / "bench").chmod(0o755)
    return f"{kind}:{folder / 'bench'}"


def pytest_benchmark_text(folder):
    (folder / "test_one.py").write_text("def test_one(benchmark):\n    benchmark(sum, range(10))\n")
    return f"pytest-benchmark:{folder / 'test_one.py'}"


OWN = {
    "command": lambda _: "command:true",
    "pyperf": pyperf_text,
    "suite": suite_text,
    "google-benchmark": lambda folder: program(folder, "google-benchmark", GOOGLE),
    "go": lambda folder: program(folder, "go", GO),
    "pytest-benchmark": pytest_benchmark_text,
    "criterion": lambda folder: program(folder, "criterion", CRITERION),
}


ASKED = ("pyperf", "google-benchmark", "go", "pytest-benchmark", "criterion")
"""Sources that start a program to ask it for its benchmarks."""


def kinds(*, started):
    """Return the sources that start programs, or those that start none."""
    return [row.kind for row in workloads.TABLE if (row.kind in ASKED) == started]


@pytest.fixture
def text(kind, tmp_path, monkeypatch):
    """Return a text of the kind that names one program which is there."""
    # Calibrating for longer would promise nothing more.
    monkeypatch.setattr(pyperf, "WORK_S", 0.001)
    # pytest-benchmark measures nothing in a worker of pytest-xdist.
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):
        monkeypatch.delenv(name, raising=False)
    if kind == "phoronix":
        return phoronix_text(tmp_path, monkeypatch)
    row = next(row for row in workloads.TABLE if row.kind == kind)
    if row.alone:
        return row.example
    return OWN[kind](tmp_path)


def test_opens_to_named_workloads_that_the_store_can_keep(text):
    (workload,) = workloads.open([text])
    assert workload.argv
    assert workload.name
    assert Workload.from_json(workload.to_json()) == workload


def test_options_hold_for_all_programs_and_the_environment_is_added_to(text):
    (workload,) = workloads.open([text], timeout=5e-9, environment={"LC_ALL": "C", "BECALM_TEST": "1"})
    assert workload.timeout_ns == 5
    assert dict(workload.environment)["BECALM_TEST"] == "1"
    assert dict(workload.environment)["LC_ALL"] == "C"


def test_nothing_is_given_to_a_shell_unasked(text):
    (workload,) = workloads.open([text])
    assert workload.argv[0] != "/bin/sh"
    # A script of becalm's own is the same for all programs: no name that somebody chose is in it.
    own = [("sh", "-c", module.SCRIPT) for module in (criterion, pyperf)]
    assert "-c" not in workload.argv or workload.argv[:3] in own


def test_stands_alongside_other_programs_in_the_order_given(text):
    opened = workloads.open(["first", text, ["last", "one"]])
    assert [workload.argv[0] for workload in opened][::2] == ["first", "last"]
