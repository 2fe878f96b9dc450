"""pyperf scripts, run by the real pyperf: the benchmarks found, the worker's command, its time, what can go wrong."""

import json
import subprocess
import sys

import pytest
from tests.waiting import wait_ended, wait_for

import becalm
from becalm import workloads
from becalm.errors import UsageError, WorkloadError
from becalm.workloads import pyperf, script
from becalm.workloads.program_options import ProgramOptions

THREE = """
import pyperf

def nothing(loops):
    "Two calls a loop, each a fixed number of seconds by its own account."
    return loops * 0.002

runner = pyperf.Runner()
runner.bench_time_func("first: one", nothing, inner_loops=2)
runner.timeit("second", "sum(x)", setup="x = range(10)")
runner.bench_command("third", ["/bin/true"])
"""


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Little work, so that calibrating takes no time; what it leads to does not depend on how much it is."""
    monkeypatch.setattr(pyperf, "WORK_S", 0.001)


@pytest.fixture
def bench(tmp_path):
    def write(text, name="bench.py"):
        (tmp_path / name).write_text(text)
        return f"pyperf:{tmp_path / name}"

    return write


def test_every_benchmark_of_a_script_becomes_a_worker_with_fixed_loops(bench, tmp_path):
    opened = workloads.open([bench(THREE)])
    assert [entry.name for entry in opened] == ["first: one", "second", "third"]
    for task, workload in enumerate(opened):
        loops = dict(workload.parameters)["loops"]
        assert workload.argv[4:6] == (sys.executable, str(tmp_path / "bench.py"))
        assert f"--worker-task={task}" in workload.argv
        assert f"--loops={loops}" in workload.argv
        assert int(loops) >= 1


def test_the_worker_runs_the_benchmark_of_its_name_and_no_other(bench, tmp_path):
    (workload,) = workloads.open([bench(THREE) + ":second"])
    ended = subprocess.run(workload.argv, capture_output=True, check=True)
    suite = json.loads(ended.stdout)
    assert suite["metadata"]["name"] == "second"
    assert suite["metadata"]["loops"] == int(dict(workload.parameters)["loops"])
    assert len(suite["benchmarks"]) == 1
    assert ended.stderr == b""


def test_a_benchmark_is_picked_by_a_name_that_has_a_colon(bench):
    assert [workload.name for workload in workloads.open([bench(THREE) + ":first: one"])] == ["first: one"]


@pytest.mark.usefixtures("store")
def test_pyperfs_time_of_a_loop_is_measured_despite_other_output(bench):
    text = bench("print('before')\n" + THREE + "print('after', flush=True)\n")
    verdict = becalm.run(f"{text}:first: one", runs=3, store=False)
    # 2 ms a loop, of two calls each, by the benchmark's own account.
    (metric,) = verdict.summaries[0].metrics
    assert (metric.name, metric.unit, metric.mean.value) == ("time of a loop", "s", 0.001)


@pytest.mark.usefixtures("store")
def test_two_builds_are_compared_by_a_loop_though_their_loops_were_calibrated_differently(bench, tmp_path, monkeypatch):
    """The faster one has 100 times as many loops in a run: by the time of the process it would be the slower one."""
    monkeypatch.setattr(pyperf, "WORK_S", 1.0)
    for build, seconds in (("old", 0.5), ("new", 0.005)):
        (tmp_path / build).mkdir()
        bench(
            f"import pyperf\npyperf.Runner().bench_time_func('work', lambda loops: loops * {seconds})\n",
            f"{build}/bench.py",
        )
    old, new = (
        workloads.gather([f"pyperf:{tmp_path}/{build}/bench.py"], ProgramOptions())[0] for build in ("old", "new")
    )
    assert int(dict(old.parameters)["loops"]) * 20 < int(dict(new.parameters)["loops"])
    verdict = becalm.check(
        ["pyperf:{build}/bench.py"], old_build=str(tmp_path / "old"), new_build=str(tmp_path / "new"),
        budget="1s", store=False,
    )  # fmt: skip
    (only,) = verdict.checks
    assert (only.old, only.new) == ("500.0 ms", "5.000 ms")


def test_inner_loops_count_as_work(bench, tmp_path):
    text = bench(THREE).partition(":")[2]
    result = pyperf.Script(tmp_path / "bench.py", sys.executable, ProgramOptions())
    assert text == str(result.path)
    suite = result._results("--worker-task=0", "--loops=8")
    assert round(1e6 * pyperf.worked_s(suite)) == 16_000


def test_loops_make_the_start_a_small_share(monkeypatch):
    monkeypatch.setattr(pyperf, "WORK_S", 0.2)
    # 0.1 s of start: the loops must take 0.9 s, so that the start is a tenth of 1 s.
    assert pyperf.loops_for(1000, work_s=0.2, took_s=0.3) == 4500
    # Work enough already: nothing changes.
    assert pyperf.loops_for(1, work_s=5.0, took_s=5.1) == 1
    # Hardly any start: WORK_S of work.
    assert pyperf.loops_for(10, work_s=0.1, took_s=0.1001) == 20
    # A start of 10 s would take 90 s of work; no more than MOST_WORK_S is asked for.
    assert pyperf.loops_for(10, work_s=0.2, took_s=10.2) == 100
    # A process that ended before its own clock, by rounding, had no start to speak of.
    assert pyperf.loops_for(7, work_s=0.3, took_s=0.2) == 7


def test_the_clock_is_read_around_the_whole_process_where_that_counts(bench, tmp_path):
    bench(THREE)
    result = pyperf.Script(tmp_path / "bench.py", sys.executable, ProgramOptions(whole=True))
    ticks = iter((100.0, 100.0 + 1.0 + 0.002))
    (benchmark, _, _) = result.benchmarks()
    # One loop says it takes 2 ms, as its calibration found; the rest of the process, 1 s, is start: MOST_WORK_S wins.
    most = round(pyperf.MOST_WORK_S / 0.002)
    assert result.loops(benchmark, clock=lambda: next(ticks)) in (most - 1, most, most + 1)


def test_the_script_is_asked_where_and_with_what_it_will_run(bench, tmp_path):
    (tmp_path / "there").mkdir()
    text = bench("""
import os, pyperf
pyperf.Runner().bench_func(os.environ["NAMED"] + " in " + os.path.basename(os.getcwd()), int)
""")
    (workload,) = workloads.open([text], directory=str(tmp_path / "there"), environment={"NAMED": "x"})
    assert workload.name == "x in there"


def test_an_unknown_benchmark_is_reported_with_the_nearest(bench):
    with pytest.raises(UsageError, match=r"no benchmark 'secnd'\. Did you mean 'second'\? It has: first: one, second"):
        workloads.open([bench(THREE) + ":secnd"])


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(UsageError, match=r"There is no file .*no\.py"):
        workloads.open([f"pyperf:{tmp_path}/no.py:name"])


@pytest.mark.parametrize("text", ["import sys; sys.exit(len(sys.argv) > 1)", "x = 1", "import argparse; 1/0"])
def test_a_script_that_never_names_pyperf_is_refused(bench, text):
    with pytest.raises(UsageError, match="is not a pyperf script"):
        workloads.open([bench(text)])


def test_a_script_that_makes_no_benchmark_is_no_pyperf_script(bench):
    with pytest.raises(UsageError, match="is not a pyperf script: it ran, but produced no benchmark"):
        workloads.open([bench("import pyperf")])


def test_a_script_that_fails_is_reported_with_its_last_lines(bench):
    text = bench("import pyperf, sys\nprint('\\n'.join(map(str, range(9))), file=sys.stderr)\nsys.exit(3)")
    with pytest.raises(WorkloadError, match="failed with exit code 3") as caught:
        workloads.open([text])
    assert str(caught.value).splitlines()[1:] == ["  4", "  5", "  6", "  7", "  8"]


def test_an_interpreter_without_pyperf_is_reported(bench, tmp_path):
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    with pytest.raises(WorkloadError, match=r"bare has no pyperf, which bench\.py needs\. Install it"):
        workloads.open([bench(THREE)], python=str(bare))


def test_an_interpreter_that_is_not_there_is_reported(bench):
    with pytest.raises(UsageError, match="no executable interpreter '/nowhere/python'"):
        workloads.open([bench(THREE)], python="/nowhere/python")


def test_a_script_that_asks_becalm_does_not_ask_itself_forever(bench, monkeypatch):
    monkeypatch.setenv(script.MARK, "1")
    with pytest.raises(UsageError, match="started by a script whose benchmarks becalm is listing"):
        workloads.open([bench(THREE)])


def test_a_script_that_does_not_end_is_ended_with_what_it_started(bench, tmp_path, monkeypatch):
    child = tmp_path / "child"
    communicate = subprocess.Popen.communicate

    def out_of_time(process, input=None, timeout=None):
        if timeout is None:
            return communicate(process, input)
        wait_for(lambda: child.exists() and child.read_text().endswith("\n"), "the script has started a child")
        raise subprocess.TimeoutExpired(process.args, timeout)

    monkeypatch.setattr(subprocess.Popen, "communicate", out_of_time)
    text = bench(f"""
import pyperf, subprocess
child = subprocess.Popen(["sleep", "1000"])
print(child.pid, file=open({str(child)!r}, "w"), flush=True)
child.wait()
""")
    with pytest.raises(WorkloadError, match=r"did not answer within 600 s"):
        workloads.open([text])
    wait_ended(int(child.read_text()))
