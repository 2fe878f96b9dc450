"""Programs that time themselves by libraries of Debian packages: Google Benchmark and Go."""

import subprocess
from pathlib import Path

import pytest
from tests.needs import missing, need
from tests.support.self_timed import number

from becalm import workloads
from becalm.errors import UsageError, WorkloadError
from becalm.workloads import go, google_benchmark

pytestmark = pytest.mark.xdist_group("self-timed")

CPP = """
#include <benchmark/benchmark.h>
static void BM_Walk(benchmark::State& state) {
    for (auto _ : state)
        for (int i = 0; i < state.range(0); ++i) benchmark::DoNotOptimize(i);
}
BENCHMARK(BM_Walk)->Arg(8)->Arg(64)->Unit(benchmark::kMicrosecond);
static void BM_Broken(benchmark::State& state) { state.SkipWithError("no input"); for (auto _ : state) {} }
BENCHMARK(BM_Broken);
static void BM_Twice(benchmark::State& state) { for (auto _ : state) benchmark::ClobberMemory(); }
BENCHMARK(BM_Twice)->UseRealTime()->Repetitions(2);
BENCHMARK_MAIN();
"""


GO = """
package p

import "testing"

func BenchmarkParse(b *testing.B) {
    for _, name := range []string{"small (1)", "large"} {
        b.Run(name, func(b *testing.B) { for i := 0; i < b.N; i++ { _ = i * i } })
    }
}

func BenchmarkAES(b *testing.B) { for i := 0; i < b.N; i++ { _ = i } }

func TestNothing(t *testing.T) {}
"""


@pytest.fixture(scope="module")
def cpp(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cpp")
    (folder / "bench.cc").write_text(CPP)
    if not Path("/usr/include/benchmark/benchmark.h").exists():
        missing("Google Benchmark is not installed: apt-get install libbenchmark-dev")
    need("g++")
    subprocess.run(["g++", "-O1", "-o", "bench", "bench.cc", "-lbenchmark", "-lpthread"], cwd=folder, check=True)
    return folder / "bench"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The directory in which Go keeps what it has compiled: of its library, so that this is done once."""
    return tmp_path_factory.mktemp("go")


@pytest.fixture
def package(tmp_path, monkeypatch, compiled):
    need("go")
    monkeypatch.setenv("GOCACHE", str(compiled))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(go, "TIME", "1x")
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "go.mod").write_text("module example.org/p\n\ngo 1.19\n")
    (folder / "p_test.go").write_text(GO)
    return folder


def test_benchmarks_of_google_benchmark_are_found_with_their_units_and_run_one_at_a_time(cpp, monkeypatch):
    monkeypatch.setattr(google_benchmark, "TIME_S", 0.001)
    opened = workloads.open([f"google-benchmark:{cpp}"])
    assert [entry.name for entry in opened] == ["BM_Walk/8", "BM_Walk/64", "BM_Twice/repeats:2/real_time"]
    assert [item.metrics[0].unit for item in opened] == ["us", "us", "ns"]
    for value in opened:
        assert number(value) > 0
    # One of them, and not the one whose name begins alike.
    (workload,) = workloads.open([f"google-benchmark:{cpp}:BM_Walk/8"])
    output = subprocess.run(workload.argv, capture_output=True, text=True, check=True).stdout
    assert '"BM_Walk/8"' in output
    assert "BM_Walk/64" not in output


def test_the_environment_cannot_turn_google_benchmarks_output_away(cpp, monkeypatch, tmp_path):
    monkeypatch.setenv("BENCHMARK_OUT", str(tmp_path / "elsewhere.json"))
    monkeypatch.setenv("BENCHMARK_FORMAT", "csv")
    monkeypatch.setattr(google_benchmark, "TIME_S", 0.001)
    (workload,) = workloads.open([f"google-benchmark:{cpp}:BM_Walk/8"])
    assert number(workload) > 0


def test_an_invalid_google_benchmark_is_refused(cpp, tmp_path):
    with pytest.raises(UsageError, match=r"no benchmark 'BM_Wlak/8'. Did you mean 'BM_Walk/8'\?"):
        workloads.open([f"google-benchmark:{cpp}:BM_Wlak/8"])
    with pytest.raises(UsageError, match="was not built with Google Benchmark"):
        workloads.open(["google-benchmark:/bin/true"])
    (tmp_path / "text").write_text("")
    with pytest.raises(UsageError, match="not an executable program"):
        workloads.open([f"google-benchmark:{tmp_path / 'text'}"])
    with pytest.raises(WorkloadError, match="failed with exit code 1"):
        workloads.open(["google-benchmark:/bin/false"])


def test_benchmarks_of_a_go_package_are_compiled_once_and_found_with_their_parts(package):
    opened = workloads.open([f"go:{package}"])
    assert [entry.name for entry in opened] == ["BenchmarkParse/small_(1)", "BenchmarkParse/large", "BenchmarkAES"]
    assert {item.directory for item in opened} == {str(package)}
    assert not list(package.glob("*.test")), "nothing is left next to the sources"
    for workload in opened:
        assert number(workload) >= 0
    (program,) = {item.argv[0] for item in opened}
    assert [entry.name for entry in workloads.open([f"go:{program}:BenchmarkAES"])] == ["BenchmarkAES"]


def test_an_invalid_go_package_is_refused(package):
    (package / "p_test.go").write_text("package p\nfunc {")
    with pytest.raises(WorkloadError, match="does not compile"):
        workloads.open([f"go:{package}"])
    (package / "p_test.go").unlink()
    (package / "p.go").write_text("package p\n")
    with pytest.raises(UsageError, match="has no tests, and so no benchmarks"):
        workloads.open([f"go:{package}"])
    with pytest.raises(UsageError, match="no benchmark reported ns/op"):
        workloads.open(["go:/bin/true"])
    assert not list((package.parent / "cache/becalm").rglob("*.*")), "nothing half-made is left"


def test_a_number_at_the_end_of_go_names_is_theirs(package, monkeypatch):
    """Go adds the number of processors where it is not 1, and this one looks like it."""
    monkeypatch.setenv("GOMAXPROCS", "1")
    source = GO.replace('"small (1)", "large"', '"size-2"').replace("func BenchmarkAES", "func benchmarkAES")
    (package / "p_test.go").write_text(source)
    names = [workload.name for workload in workloads.open([f"go:{package}"])]
    assert names == ["BenchmarkParse/size-2"]
    monkeypatch.setenv("GOMAXPROCS", "2")
    assert [workload.name for workload in workloads.open([f"go:{package}"])] == names
