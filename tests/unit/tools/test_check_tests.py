"""The check of the tests, on lines that keep its rules and lines that do not."""

import check_tests
import pytest

UNIT, CONTRACT = "tests/unit/stats/test_a.py", "tests/contract/test_a.py"


def rules(text, name=CONTRACT):
    return [problem.rule for problem in check_tests.check(name, text)]


@pytest.mark.parametrize(
    "text",
    [
        "import time\ntime.sleep(1)",
        "from time import sleep\nsleep(1)",
        "from time import sleep as rest\nrest(1)",
        "import asyncio\nasync def test():\n    await asyncio.sleep(1)",
        "import time\nwait = time.sleep",
    ],
)
@pytest.mark.parametrize("name", [UNIT, CONTRACT, "tests/property/test_a.py"])
def test_sleeping_is_rejected(text, name):
    assert rules(text, name) == ["sleep"]


@pytest.mark.parametrize(
    "text",
    [
        "PROGRAM = 'import time; time.sleep(60)'",
        "agent.define('sleep', '60')",
        "clock.sleep(5)",
    ],
)
def test_programs_that_sleep_and_fake_clocks_are_accepted(text):
    assert rules(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "import time\ntime.monotonic()",
        "from time import perf_counter_ns\nperf_counter_ns()",
        "import time as t\nclock = t.time_ns",
        "import time\ntime.clock_gettime_ns(1)",
        "import os\nos.times()",
        "from datetime import datetime, UTC\ndatetime.now(UTC)",
        "import datetime\ndatetime.date.today()",
    ],
)
@pytest.mark.parametrize("name", [UNIT, CONTRACT])
def test_reading_a_clock_is_rejected(text, name):
    assert rules(text, name) == ["clock"]


def test_becalms_clock_is_a_fake_one_in_memory_only():
    for call, rule in (("sleep(5)", "sleep"), ("monotonic_ns()", "clock")):
        text = f"from becalm import system_clock\nsystem_clock.{call}"
        assert (rules(text, UNIT), rules(text)) == ([], [rule])


def test_a_path_without_tests_is_a_usage_error(capsys):
    assert check_tests.main(("tests/contract/no_such_folder",)) == 2
    assert "tests/contract/no_such_folder" in capsys.readouterr().err


def test_the_time_of_day_in_packed_bytes_is_rejected():
    """Ids of tests that hold such bytes differ between the processes that run the tests."""
    assert rules("import gzip\ngzip.compress(b'')") == ["stamp"]
    assert rules("from gzip import compress\ncompress(b'', mtime=0)") == []


@pytest.mark.parametrize(
    "text",
    [
        "import time\ntime.strftime('%Y', time.gmtime(0))",
        "from datetime import datetime\ndatetime(2026, 1, 1)",
        "now = host.time()\nmonkeypatch.setattr('time.time', fake)",
    ],
)
def test_times_that_are_not_read_from_the_system_are_accepted(text):
    assert rules(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "assert run.wall_ns < 300 * MILLISECONDS",
        "assert row['wall_ns'] >= 20_000_000",
        "assert 0 < row['user_ns'] + row['system_ns'] <= bound",
        "assert 1.5 > float(text['median_us'])",
        "assert all(run.exec_ns < bound for run in runs)",
        "assert sum(load.busy_ns for load in loads) >= bound",
        "assert summary.mean_ns.low < bound",
        "assert until_ns - from_ns > bound",
        "assert made.cpu_ns('cpu') > bound",
        "assert elapsed < LIMIT_S",
        "assert found.cpu_share > 0.5",
        "assert found.busy_share > 0.5",
        "assert ticks(pid) >= 10",
        "assert header.hz > 1e6",
        "assert found.rate == pytest.approx(2, rel=0.1)",
        "assert row['wall_ns'] / row['exec_ns'] >= 2",
        "if abs(run.wall_ns - known) < 1:\n    pass",
    ],
)
def test_comparing_a_duration_is_rejected_in_contract_tests_only(text):
    assert rules(text) == ["duration"]
    assert rules(text, "tests/contract/simulator/test_a.py") == []
    assert rules(text, UNIT) == []


@pytest.mark.parametrize(
    "text",
    [
        "assert run.wall_ns == 300",
        "assert run.wall_ns != other.wall_ns",
        "assert run.wall_ns > 0 and 0 <= load.busy_ns",
        "assert first.started_ns <= second.started_ns",
        "assert run['started_ns'] + run['wall_ns'] <= load['started_ns'] + load['interval_ns']",
        "assert len(found.durations_ns) > 2",
        "assert row['runs'] >= 3",
        "assert found.count == pytest.approx(2)",
        "assert 'wall_ns' in row",
        "assert {key for key in row} <= {'wall_ns'}",
    ],
)
def test_equality_order_of_events_and_other_figures_are_accepted(text):
    assert rules(text) == []


@pytest.mark.parametrize(
    "line", ["import subprocess", "from multiprocessing.pool import Pool", "import os, pty, socket"]
)
def test_modules_of_processes_are_rejected_in_memory_only_tests(line):
    assert set(rules(line, UNIT)) == set(rules(line, "tests/property/test_a.py")) == {"import"}
    assert rules(line) == []


def test_each_problem_has_a_line_and_an_advice():
    (problem,) = check_tests.check(CONTRACT, "import time\n\n\ntime.sleep(1)\n")
    assert str(problem).startswith("4: sleep: a test does not sleep; wait for the event")


def test_problems_are_printed_and_counted_by_rule(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(check_tests, "ROOT", tmp_path)
    for folder in ("unit", "contract"):
        (tmp_path / f"tests/{folder}").mkdir(parents=True)
        (tmp_path / f"tests/{folder}/test_a.py").write_text("import time\ntime.sleep(1)\ntime.sleep(2)\n")
    assert check_tests.main() == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("tests/unit/test_a.py:2: sleep: ")
    assert lines[-2:] == ["2 sleep in tests/contract", "2 sleep in tests/unit"]
    assert check_tests.main(("tests/unit",)) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "2 sleep in tests/unit"
    (tmp_path / "tests/unit/test_b.py").write_text("")
    assert check_tests.main(("tests/unit/test_b.py",)) == 0
