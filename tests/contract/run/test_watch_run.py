"""`becalm watch -- COMMAND` on this machine: a run that ends well, one that fails, one that is interrupted."""

import contextlib
import json
import signal
import subprocess
import sys
import urllib.request

import pytest
from click.testing import CliRunner
from tests.waiting import HANG_LIMIT_S, wait_for

import becalm
from becalm.cli.main import becalm as group
from becalm.nouns.settings import Settings
from becalm.profiles import Profile
from becalm.study import session
from becalm.study.stored import stored
from becalm.verbs.records import conclude


def command(*arguments):
    """Call `becalm watch` as on the command line; return its result."""
    return CliRunner().invoke(group, ["watch", *arguments])


PROGRAM = """
from becalm.cli.main import main
from becalm.nouns.settings import Settings
from becalm.profiles import Profile
from becalm.study import session
session.lacks_delays = lambda host: False
main()
"""
"""becalm that leaves this machine's delay accounting as it is."""


def process(*arguments, **popen):
    """Start `becalm watch` in a process of its own."""
    return subprocess.Popen([sys.executable, "-c", PROGRAM, "watch", *arguments], text=True, **popen)


def test_a_run_is_watched_stored_and_shown_again(store):
    watched = becalm.watch(["sleep", "0.15"], output="discard", title="a try")
    assert watched.run.outcome == "ok"
    assert watched.load is not None
    assert watched.delay_factor is not None
    assert watched.waterfall["unexplained"].ns is not None
    assert "cpu" in {course.name for course in watched.courses}
    document = stored("last", store)
    assert document.study.kind == "watch"
    assert document.study.title == "a try"
    assert document.series
    again = conclude(document)
    assert again.study == 1
    assert again.sentence == watched.sentence
    assert again.delay == watched.delay
    assert again.waterfall == watched.waterfall
    assert again.courses == watched.courses


def test_a_reference_from_the_store(store, scripted):
    scripted(20)
    becalm.run("true", runs=3)
    scripted(60)
    watched = becalm.watch("true", output="discard", reference="last")
    assert watched.delay.reference == "unloaded run"
    assert round(watched.delay.reference_ns / 1e6) == 20
    assert watched.delay.factor == 60e6 / watched.delay.reference_ns
    assert watched.waterfall["slower execution"].ns is not None
    becalm.compare(["true", "false"], runs=1, expect=None)
    with pytest.raises(becalm.UsageError, match="no program"):
        becalm.watch("echo", reference=str(stored("last", store).number))


def test_output_goes_through_and_what_becalm_reports_goes_to_standard_error(store):
    watching = process(
        "--quiet", "--", "sh", "-c", "echo out; echo err >&2", stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = watching.communicate(timeout=HANG_LIMIT_S)
    assert watching.returncode == 0
    assert out == "out\n"
    assert err.startswith("err\n")
    assert "sh -c" in err.split("err\n", 1)[1]


def test_a_failing_program_is_explained_and_ends_with_4(store):
    done = command("--plain", "--", "sh", "-c", "exit 3")
    assert done.exit_code == 4
    assert done.stdout == ""
    assert "failed with exit code 3" in done.stderr
    assert "unexplained" in done.stderr
    assert command("--expect", "3", "--quiet", "--", "sh", "-c", "exit 3").exit_code == 0


def test_a_missing_program_is_a_failed_workload(store):
    with pytest.raises(becalm.WorkloadError, match="no-such-program"):
        becalm.watch("no-such-program")


def test_the_json_has_the_factor_and_the_bars(store):
    value = json.loads(command("--json", "--", "true").stdout)
    assert value["kind"] == "watch"
    assert value["delay_factor"] is not None
    assert value["bars"][-1]["name"] == "unexplained"


def test_an_interrupted_run_is_stored_and_reported(store):
    watching = process(
        "--plain", "--", "sh", "-c", "echo on; sleep 9000", stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert watching.stdout.readline() == "on\n"
    # The program runs; becalm's own handler has been there since before.
    watching.send_signal(signal.SIGINT)
    rest, err = watching.communicate(timeout=HANG_LIMIT_S)
    assert rest == ""
    assert watching.returncode == 130
    assert "was interrupted" in err
    assert stored("last", store).runs[0].outcome == "aborted"


def test_a_program_with_a_time_limit(store):
    done = command("--timeout", "100ms", "--quiet", "--", "sleep", "9000")
    assert done.exit_code == 4
    assert "killed when its time was over" in done.stderr


def test_prometheus_is_served_while_watching(own_directories):
    watching = process("--interval", "100ms", "--prometheus", ":0", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        url = watching.stderr.readline().split()[-1]

        def answered():
            with contextlib.suppress(OSError):
                return b"becalm_cpu_seconds_total" in urllib.request.urlopen(url).read()

        wait_for(answered)
        watching.send_signal(signal.SIGINT)
        assert watching.wait(timeout=HANG_LIMIT_S) == 0
    finally:
        watching.kill()
        watching.communicate()


@pytest.mark.parametrize("words", [("--pid", "1", "--", "true"), ("--count", "3", "--", "true"), ("--timeout", "3s")])
def test_options_of_the_view_are_refused_for_a_program(words):
    done = command(*words)
    assert isinstance(done.exception, becalm.UsageError) or done.exit_code == 2
    assert "Leave out --" in str(done.exception) + done.output


DELAYS = "proc/sys/kernel/task_delayacct"


@pytest.fixture
def uncounted(tree, monkeypatch):
    """Return a tree of a machine on which delay accounting is off, for root."""
    monkeypatch.setattr(session, "lacks_delays", lambda host: True)
    return tree


def test_delay_accounting_is_a_setting_of_the_run_that_is_restored(store, uncounted, tmp_path):
    seen = tmp_path / "seen"
    watched = becalm.watch(["cp", str(uncounted / DELAYS), str(seen)], root=str(uncounted))
    assert (seen.read_text().strip(), (uncounted / DELAYS).read_text().strip()) == ("1", "0")
    assert watched.settings == {"delay_accounting": "on"}
    assert "Settings of this run: delay_accounting=on." in watched.sentence
    assert becalm.status(root=str(uncounted)).title == ""


def test_delay_accounting_gives_way_to_settings_that_are_on(store, uncounted):
    becalm.apply(Profile("mine", Settings.of({"swappiness": 10})), root=str(uncounted))
    try:
        watched = becalm.watch("true", root=str(uncounted))
    finally:
        becalm.reset(root=str(uncounted))
    assert (watched.run.outcome, watched.settings) == ("ok", {})
    assert "delay_accounting" not in watched.sentence


def test_without_a_record_of_load_nothing_is_switched(store, uncounted):
    assert becalm.watch("true", root=str(uncounted), load=False).settings == {}
