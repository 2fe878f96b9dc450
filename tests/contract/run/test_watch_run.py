"""`becalm watch -- COMMAND` on this machine: a run that waits for its CPU, one that fails, one that is interrupted."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.request

import pytest
from tests.waiting import wait_for

import becalm
from becalm.study.stored import stored
from becalm.verbs.records import conclude

SPIN = "while True: pass"


def work(seconds):
    """A program that uses so much CPU time, however long that takes."""
    return [sys.executable, "-c", f"import time\nwhile time.process_time() < {seconds}: pass"]


@pytest.fixture
def store(tmp_path):
    return str(tmp_path / "becalm.db")


def command(*arguments, **popen):
    return subprocess.run(
        [sys.executable, "-m", "becalm", "watch", *arguments], capture_output=True, text=True, check=False, **popen
    )


@contextlib.contextmanager
def spinners(count, cpu):
    """Busy programs on one CPU, in the session of the agent: with autogroup a group of their own would count as one."""
    script = f"import os; os.sched_setaffinity(0, {{{cpu}}})\n{SPIN}"
    made = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(count)]
    try:
        yield made
    finally:
        for each in made:
            each.kill()
            each.wait()


def test_a_run_is_watched_stored_and_shown_again(store):
    found = becalm.watch(work(0.3), output="discard", store=store, title="a try")
    assert found.run.outcome == "ok"
    assert found.load is not None
    assert found.delay_factor >= 0.9
    assert found.waterfall["unexplained"].ns is not None
    assert {course.name for course in found.courses} >= {"cpu", "queue"}
    document = stored("last", store)
    assert document.study.kind == "watch"
    assert document.study.title == "a try"
    assert document.series
    again = conclude(document)
    assert again.study == 1
    assert again.sentence == found.sentence
    assert again.delay == found.delay
    assert again.waterfall == found.waterfall
    assert again.courses == found.courses


def test_who_shares_a_cpu_waits_for_it_and_the_run_queue_explains_the_delay(store):
    """Two others on the same CPU: the wait that the kernel counted and the CPU time are the wall time (to 5 %: the
    machine may have its own work, and steal). They count from the fork, the wall time from the program's own start,
    for which it has to wait, too."""
    cpu = min(os.sched_getaffinity(0))
    with spinners(2, cpu):
        found = becalm.watch(work(0.5), output="discard", store=store, settings={"cpus": str(cpu)})
    assert found.delay_factor > 1.3
    assert found.waterfall.largest.name == "run-queue wait"
    before_its_start = 100e6 / found.run.wall_ns
    assert 0.95 <= found.delay.exact / found.delay_factor <= 1.05 + before_its_start
    assert "waiting for a CPU" in found.sentence


def test_a_reference_from_the_store(store):
    becalm.run(work(0.05), runs=3, store=store)
    found = becalm.watch(work(0.1), output="discard", store=store, reference="last")
    assert found.delay.reference == "unloaded run"
    assert found.delay.reference_ns < found.run.wall_ns
    assert found.waterfall["slower execution"].ns > 0, "twice the work"
    with pytest.raises(becalm.UsageError, match="no program"):
        becalm.watch("echo", store=store, reference=str(_two_programs(store)))


def _two_programs(store):
    becalm.compare(["true", "false"], runs=1, expect=None, store=store)
    return stored("last", store).number


def test_output_goes_through_alone_and_what_becalm_says_goes_to_standard_error(store):
    done = command("--store", store, "--quiet", "--", "sh", "-c", "echo out; echo err >&2")
    assert done.returncode == 0
    assert done.stdout == "out\n"
    assert done.stderr.startswith("err\n")
    assert "sh -c" in done.stderr.split("err\n", 1)[1]


def test_a_failing_program_is_explained_and_ends_with_4(store):
    done = command("--store", store, "--plain", "--", "sh", "-c", "exit 3")
    assert done.returncode == 4
    assert done.stdout == ""
    assert "failed with exit code 3" in done.stderr
    assert "unexplained" in done.stderr
    assert command("--store", store, "--", "no-such-program").returncode == 4
    assert command("--store", store, "--expect", "3", "--quiet", "--", "sh", "-c", "exit 3").returncode == 0


def test_the_json_has_the_factor_and_the_bars(store):
    done = command("--store", store, "--json", "--", "sh", "-c", "echo not in the way")
    value = json.loads(done.stdout)
    assert value["kind"] == "watch"
    assert value["delay_factor"] > 0
    assert value["bars"][-1]["name"] == "unexplained"


def test_an_interrupted_run_is_kept_and_said(store):
    process = subprocess.Popen(
        [sys.executable, "-m", "becalm", "watch", "--store", store, "--plain", "--", "sh", "-c", "echo on; sleep 60"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "on\n"
    # The program runs; becalm's own handler has been there since before.
    process.send_signal(signal.SIGINT)
    rest, said = process.communicate()
    assert rest == ""
    assert process.wait(timeout=120) == 130
    assert "was interrupted" in said
    assert stored("last", store).runs[0].outcome == "aborted"


def test_a_program_with_a_time_limit(store):
    done = command("--store", store, "--timeout", "200ms", "--quiet", "--", "sleep", "60")
    assert done.returncode == 4
    assert "killed when its time was over" in done.stderr


def test_prometheus_is_served_while_watching():
    process = subprocess.Popen(
        [sys.executable, "-m", "becalm", "watch", "--interval", "100ms", "--prometheus", ":0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        url = process.stderr.readline().split()[-1]

        def answered():
            with contextlib.suppress(OSError):
                return b"becalm_cpu_seconds_total" in urllib.request.urlopen(url).read()

        wait_for(answered)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=120) == 0
    finally:
        process.kill()
        process.stderr.close()


def test_a_program_named_after_the_options_of_the_view_is_refused():
    for wrong in (("--pid", "1", "--", "true"), ("--count", "3", "--", "true"), ("--timeout", "3s")):
        done = command(*wrong)
        assert done.returncode == 2
        assert "Leave out --" in done.stderr
