"""What every source promises, over the table of sources: one more row is one more run of these tests."""

import importlib

import pytest
from tests.places import ROOT

from becalm import workloads
from becalm.errors import BecalmError, UsageError
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


@pytest.fixture(params=[row.kind for row in workloads.TABLE])
def text(request, tmp_path, monkeypatch):
    """A text of the kind that names one program which is there."""
    monkeypatch.setattr(pyperf, "WORK_S", 0.001)  # calibrating for longer would promise nothing more
    if request.param == "phoronix":
        return phoronix_text(tmp_path, monkeypatch)
    row = next(each for each in workloads.TABLE if each.kind == request.param)
    if row.alone:
        return row.example
    return OWN[request.param](tmp_path)


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
    own = [("sh", "-c", each.SCRIPT) for each in (criterion, pyperf)]
    assert "-c" not in workload.argv or workload.argv[:3] in own


def test_stands_beside_other_programs_in_the_order_given(text):
    found = workloads.open(["first", text, ["last", "one"]])
    assert [each.argv[0] for each in found][::2] == ["first", "last"]


@pytest.mark.parametrize("kind", [row.kind for row in workloads.TABLE])
def test_what_names_nothing_is_said_in_a_sentence(kind):
    for text in (f"{kind}:", f"{kind}:  "):
        with pytest.raises(UsageError, match=r"Write it like"):
            workloads.open([text])


@pytest.mark.parametrize("kind", [row.kind for row in workloads.TABLE if row.kind != "command"])
def test_what_is_not_there_is_said_before_anything_runs(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("PTS_USER_PATH_OVERRIDE", str(tmp_path))
    with pytest.raises(BecalmError) as caught:
        workloads.open([f"{kind}:{tmp_path}/nothing-there"])
    assert "nothing-there" in str(caught.value)
    assert str(caught.value).rstrip().endswith((".", "py", "there"))


def test_every_row_has_words_an_example_and_an_opener():
    for row in workloads.TABLE:
        assert row.what
        assert row.example.startswith(f"{row.kind}:") or row.kind == "command"
        assert callable(getattr(importlib.import_module(row.module), row.opener))


def test_the_documentation_has_every_row():
    text = (ROOT / "docs/how-to/sources.md").read_text()
    for row in workloads.TABLE:
        assert f"| `{row.kind}` |" in text, row.kind
