"""Programs listed in a TOML file."""

import pytest

from becalm import workloads
from becalm.errors import UsageError
from becalm.nouns.metric import Response
from becalm.workloads.program_options import ProgramOptions
from becalm.workloads.suite import read


@pytest.fixture
def suite(tmp_path):
    def write(text):
        (tmp_path / "s.toml").write_text(text)
        return f"suite:{tmp_path / 's.toml'}"

    return write


def test_all_that_a_program_may_say_reaches_the_workload(suite, tmp_path):
    (workload,) = workloads.open(
        [
            suite("""
                [[program]]
                name = "zip"
                command = "gzip -c 'a b'"
                directory = "data"
                environment = { LC_ALL = "C" }
                input = "in.txt"
                prepare = "rm -f x"
                cleanup = "true"
                timeout = "30s"
                expect = [0, 1]
            """)
        ]
    )
    assert (workload.name, workload.argv) == ("zip", ("gzip", "-c", "a b"))
    assert workload.directory == str(tmp_path / "data")
    assert workload.environment == (("LC_ALL", "C"),)
    assert workload.input == str(tmp_path / "in.txt")
    assert (workload.prepare, workload.cleanup) == (("rm", "-f", "x"), ("true",))
    assert (workload.timeout_ns, workload.expect) == (30 * 10**9, (0, 1))


def test_programs_run_where_the_file_is_unless_told_otherwise(suite, tmp_path):
    text = suite('[[program]]\ncommand = ["a"]\n[[program]]\ncommand = "b"\ndirectory = "/elsewhere"\n')
    assert [workload.directory for workload in workloads.open([text])] == [str(tmp_path), "/elsewhere"]
    assert [workload.directory for workload in workloads.open([text], directory="/given")] == ["/given", "/elsewhere"]


def test_values_of_the_file_win_over_those_for_all(suite):
    text = suite('[[program]]\ncommand = "a"\nexpect = "any"\nenvironment = { A = "1" }\n[[program]]\ncommand = "b"\n')
    first, second = workloads.open([text], expect=(0,), environment={"A": "0", "B": "2"})
    assert (first.expect, dict(first.environment)) == (None, {"A": "1", "B": "2"})
    assert (second.expect, dict(second.environment)) == ((0,), {"A": "0", "B": "2"})


def test_a_program_may_come_of_another_source(suite, tmp_path, monkeypatch):
    monkeypatch.setenv("PTS_USER_PATH_OVERRIDE", str(tmp_path))
    with pytest.raises(UsageError, match=r"s\.toml, program 2: The Phoronix Test Suite has no test 'pts/no'"):
        workloads.open([suite('[[program]]\ncommand = "a"\n[[program]]\ncommand = "phoronix:pts/no"\n')])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[program]]\ncommand = 1", "program 1: command must be a string or a list of strings"),
        ("[[program]]\ncommand = []", "command must be"),
        ("[[program]]\nname = 'x'", "command must be"),
        ("[[program]]\ncommand = 'a'\ncomand = 'b'", r"unknown key 'comand'\. Did you mean 'command'\?"),
        ("[[program]]\ncommand = 'a'\ntimeout = 'soon'", r"timeout must be a duration, .*, not 'soon'"),
        ("[[program]]\ncommand = 'a'\nexpect = [256]", "expect must be exit codes"),
        ("[[program]]\ncommand = 'a'\nexpect = true", "expect must be exit codes"),
        ("[[program]]\ncommand = 'a'\nenvironment = { A = 1 }", "environment must be a table of strings"),
        ("[[program]]\ncommand = 'a'\nshell = true", "unknown key 'shell'"),
        ("[[program]]\ncommand = 'a \"'", "program 1: The command .* cannot be split"),
        ("[[program]]\ncommand = 'suite:other.toml'", "cannot list another suite"),
        ("program = 'a'", "lists no programs"),
        ("", "lists no programs"),
        ("[[program]]\ncommand = 'a'\n[more]\n", "unknown key 'more'"),
        ("[[program", "is not TOML"),
    ],
)
def test_errors_name_the_file_and_the_program(suite, text, message):
    with pytest.raises(UsageError, match=message) as caught:
        workloads.open([suite(text)])
    assert "s.toml" in str(caught.value)


def test_a_file_that_is_not_there_is_reported(tmp_path):
    with pytest.raises(UsageError, match=r"no\.toml cannot be read: No such file"):
        workloads.open([f"suite:{tmp_path}/no.toml"])


def whole(suite, text):
    from pathlib import Path

    from becalm.workloads.program_options import ProgramOptions
    from becalm.workloads.suite import read

    return read(suite(text).removeprefix("suite:"), ProgramOptions(base=Path("/")))


RATED = """
    name = "office"
    copies = 3
    [base]
    aslr = "off"
    [peak]
    nice = 5
    [[program]]
    name = "a"
    command = "true 1"
    reference = "12.5s"
    [[program]]
    name = "b"
    command = "true 2"
    peak_command = ["true", "fast"]
    reference = 40
"""


def test_a_file_with_reference_times_is_one_for_tune_too(suite):
    opened = whole(suite, RATED)
    assert (opened.name, opened.copies, opened.has_peak) == ("office", 3, True)
    assert (opened.base.to_json(), opened.peak.to_json()) == ({"aslr": "off"}, {"nice": 5})
    assert [program.reference_ns for program in opened.programs] == [12_500_000_000, 40_000_000_000]
    assert [program.peak.argv for program in opened.programs] == [("true", "1"), ("true", "fast")]
    assert [program.peak.name for program in opened.programs] == ["a", "b"]
    assert [workload.name for workload in workloads.open([suite(RATED)])] == ["a", "b"]
    plain = whole(suite, '[[program]]\ncommand = "true"')
    assert (plain.name, plain.copies, plain.has_peak, plain.programs[0].reference_ns) == ("s", None, False, None)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('copies = 0\n[[program]]\ncommand = "x"', "copies must be"),
        ('copies = true\n[[program]]\ncommand = "x"', "copies must be"),
        ('base = 3\n[[program]]\ncommand = "x"', "base must be"),
        ('name = ""\n[[program]]\ncommand = "x"', "name must be"),
        ('[[program]]\ncommand = "x"\nreference = "soon"', "reference must be"),
        ('[[program]]\ncommand = "x"\nreference = -1', "reference must be"),
        ('[[program]]\ncommand = "x"\nreferense = 1', "'reference'"),
        ('[[program]]\ncommand = "x"\npeak_command = 3', "peak_command must be"),
        ('[[program]]\ncommand = "x"\n[[program]]\ncommand = "x"', "two programs called 'x'"),
        ('[peek]\nnice = 1\n[[program]]\ncommand = "x"', "'peek'"),
    ],
)
def test_invalid_suites_are_refused(suite, text, word):
    with pytest.raises(UsageError, match=word):
        whole(suite, text)


@pytest.mark.parametrize(
    ("metric", "reference", "unit"),
    [
        ("([0-9]+) req/s,unit=req/s,better=higher", "480 req/s", 480.0),
        ("([0-9]+) req/s,unit=req/s,better=higher", 480, 480.0),
        ("json:p99,unit=us", "350us", 350.0),
        ("json:p99,unit=us", "1.5ms", 1500.0),
        ("json:p99,unit=us", 7.5, 7.5),
        ("json:score", "7.5", 7.5),
    ],
)
def test_a_reference_of_what_a_program_prints_is_in_its_unit(tmp_path, metric, reference, unit):
    path = tmp_path / "s.toml"
    path.write_text(f'[[program]]\ncommand = "a"\nmetric = {metric!r}\nreference = {reference!r}\n')
    (listed,) = read(str(path), ProgramOptions()).programs
    assert (listed.reference, listed.reference_ns) == (unit, None)
    assert listed.workload.metrics[0].unit == listed.peak.metrics[0].unit


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("metric = 'json:p99,unit=us'\nreference = '3 apples'", "reference must be a number of us, as p99 is"),
        ("metric = 'json:score'\nreference = '3s'", "reference must be a number, as score is"),
        ("metric = 'no group'", "metric must be a metric as --metric has it"),
        ("metric = 3", "metric must be a metric as --metric has it"),
        ("reference = '3 apples'", "reference must be a duration"),
    ],
)
def test_invalid_metrics_and_references_are_refused(tmp_path, more, message):
    path = tmp_path / "s.toml"
    path.write_text(f'[[program]]\ncommand = "a"\n{more}\n')
    with pytest.raises(UsageError, match=message):
        read(str(path), ProgramOptions())


def test_the_metric_of_all_programs_gives_way_to_one_of_the_file(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text('[[program]]\ncommand = "a"\nmetric = "json:own"\n[[program]]\ncommand = "b"\n')
    opened = read(str(path), ProgramOptions().measuring(Response.of({"metric": "json:all"})))
    assert [program.workload.metrics[0].name for program in opened.programs] == ["own", "all"]
