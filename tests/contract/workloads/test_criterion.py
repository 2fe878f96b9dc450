"""The source `criterion`, by a stand-in that says what criterion.rs 0.5 said; by the real crate in `make criterion`."""

import json
import os

import pytest
from tests.places import ROOT
from tests.support.criterion_run import bench_output

from becalm import workloads
from becalm.errors import UsageError, WorkloadError

ESTIMATES = ROOT / "tests/data/benchmarks/criterion-run/estimates.json"

# A name with all that a shell or a pattern would read otherwise.
HOSTILE = "x'$(touch spoilt)\" .*; y"

BENCH = f"""#!/bin/sh
echo "$0 $*" >> {{calls}}
case "$*" in
  *--list*) printf 'fold 100: benchmark\\nsizes/10: benchmark\\n'; printf '%s: benchmark\\n' {{hostile}};;
  *) for name; do :; done
     echo "$name  time: [1 ns 2 ns 3 ns]"
     mkdir -p "$CRITERION_HOME/some where/new" "$CRITERION_HOME/some where/base"
     cp {ESTIMATES} "$CRITERION_HOME/some where/new"
     echo '{{{{"median": {{{{"point_estimate": -1}}}}}}}}' > "$CRITERION_HOME/some where/base/estimates.json"
     exit "${{{{STATUS:-0}}}}";;
esac
"""


@pytest.fixture
def bench(tmp_path):
    quoted = "'" + HOSTILE.replace("'", "'\\''") + "'"
    (tmp_path / "bench").write_text(BENCH.format(calls=tmp_path / "calls", hostile=quoted))
    (tmp_path / "bench").chmod(0o755)
    return tmp_path / "bench"


def test_benchmarks_are_found_and_their_median_is_what_is_measured(bench, tmp_path):
    opened = workloads.open([f"criterion:{bench}"])
    assert [workload.name for workload in opened] == ["fold 100", "sizes/10", HOSTILE]
    done = bench_output(opened[1], tmp_path / "run")
    assert json.loads(done.stdout)["median"]["point_estimate"] == pytest.approx(2.754, abs=1e-3)
    (metric,) = opened[1].metrics
    assert (metric.spec, metric.unit) == ("json:median.point_estimate", "ns")
    assert "time: [1 ns" in done.stderr
    last = (tmp_path / "calls").read_text().splitlines()[-1]
    assert last.endswith("--exact -- sizes/10")
    assert "--sample-size 10" in last


def test_a_pattern_names_all_that_match_and_an_exact_name_comes_first(bench):
    assert [workload.name for workload in workloads.open([f"criterion:{bench}:*[01]"])] == ["fold 100", "sizes/10"]
    # A name that is a pattern, too, is that benchmark.
    assert [workload.name for workload in workloads.open([f"criterion:{bench}:{HOSTILE}"])] == [HOSTILE]
    with pytest.raises(UsageError, match="no benchmark 'nothing/\\*'"):
        workloads.open([f"criterion:{bench}:nothing/*"])
    with pytest.raises(UsageError, match=r"names 2 programs.*for example 'fold 100' in its place"):
        workloads.single(f"criterion:{bench}:*[01]")


def test_names_are_arguments_and_a_failure_is_one(bench, tmp_path):
    (workload,) = workloads.open([f"criterion:{bench}:{HOSTILE}"])
    assert HOSTILE not in workload.argv[2]
    assert bench_output(workload, tmp_path / "run").returncode == 0
    failed = bench_output(workload, tmp_path / "failing", STATUS="3")
    assert (failed.returncode, failed.stdout) == (3, "")


def test_a_package_is_compiled_and_two_benches_of_one_name_are_told_apart(bench, tmp_path, monkeypatch):
    package = tmp_path / "package"
    package.mkdir()
    (tmp_path / "other").write_bytes(bench.read_bytes())
    (tmp_path / "other").chmod(0o755)

    def artifact(name, program, kind="bench"):
        message = {"reason": "compiler-artifact", "target": {"kind": [kind], "name": name}, "executable": str(program)}
        return json.dumps(message)

    lines = [
        artifact("speed", bench),
        "no JSON",
        "[1]",
        artifact("lib", bench, "lib"),
        artifact("more", tmp_path / "other"),
    ]
    (tmp_path / "lines").write_text("\n".join(lines))
    cargo = tmp_path / "bin/cargo"
    cargo.parent.mkdir()
    cargo.write_text(f"#!/bin/sh\ntest \"$1 $2\" = 'bench --no-run' && cat {tmp_path / 'lines'}\n")
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{cargo.parent}:{os.environ['PATH']}")
    opened = workloads.open([f"criterion:{package}"])
    assert [entry.name for entry in opened][:3] == ["speed: fold 100", "speed: sizes/10", f"speed: {HOSTILE}"]
    assert len({entry.name for entry in opened}) == 6
    assert {item.directory for item in opened} == {str(package)}
    (workload,) = workloads.open([f"criterion:{package}:more: sizes/10"])
    assert workload.argv[4] == str(tmp_path / "other")
    (tmp_path / "lines").write_text("")
    with pytest.raises(UsageError, match="has no benches"):
        workloads.open([f"criterion:{package}"])
    cargo.write_text("#!/bin/sh\necho 'error: expected item' >&2; exit 101\n")
    with pytest.raises(WorkloadError, match=r"does not compile\. Its output:\n  error: expected item"):
        workloads.open([f"criterion:{package}"])


def test_a_missing_criterion_bench_is_refused_with_suggestions(bench, tmp_path):
    with pytest.raises(UsageError, match=r"no benchmark 'sizes/01'. Did you mean 'sizes/10'\?"):
        workloads.open([f"criterion:{bench}:sizes/01"])
    with pytest.raises(UsageError, match="has no benchmark of Criterion"):
        workloads.open(["criterion:/bin/true"])
    with pytest.raises(WorkloadError, match="is it a bench of Criterion"):
        workloads.open(["criterion:/bin/false"])
    (tmp_path / "text").write_text("")
    with pytest.raises(UsageError, match="not an executable program"):
        workloads.open([f"criterion:{tmp_path / 'text'}"])
