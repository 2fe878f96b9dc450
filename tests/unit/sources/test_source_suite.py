"""Programs listed in a TOML file."""

import pytest

from becalm import sources
from becalm.errors import UsageError


@pytest.fixture
def suite(tmp_path):
    def write(text):
        (tmp_path / "s.toml").write_text(text)
        return f"suite:{tmp_path / 's.toml'}"

    return write


def test_all_that_a_program_may_say_reaches_the_workload(suite, tmp_path):
    (workload,) = sources.open(
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
    assert [each.directory for each in sources.open([text])] == [str(tmp_path), "/elsewhere"]
    assert [each.directory for each in sources.open([text], directory="/given")] == ["/given", "/elsewhere"]


def test_what_the_file_says_wins_over_what_holds_for_all(suite):
    text = suite('[[program]]\ncommand = "a"\nexpect = "any"\nenvironment = { A = "1" }\n[[program]]\ncommand = "b"\n')
    first, second = sources.open([text], expect=(0,), environment={"A": "0", "B": "2"})
    assert (first.expect, dict(first.environment)) == (None, {"A": "1", "B": "2"})
    assert (second.expect, dict(second.environment)) == ((0,), {"A": "0", "B": "2"})


def test_a_program_may_come_of_another_source(suite, tmp_path, monkeypatch):
    monkeypatch.setenv("PTS_USER_PATH_OVERRIDE", str(tmp_path))
    with pytest.raises(UsageError, match=r"s\.toml, program 2: The Phoronix Test Suite has no test 'pts/no'"):
        sources.open([suite('[[program]]\ncommand = "a"\n[[program]]\ncommand = "phoronix:pts/no"\n')])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[program]]\ncommand = 1", "program 1: command must be a text or a list of texts"),
        ("[[program]]\ncommand = []", "command must be"),
        ("[[program]]\nname = 'x'", "command must be"),
        ("[[program]]\ncommand = 'a'\ncomand = 'b'", r"no 'comand'\. Did you mean 'command'\?"),
        ("[[program]]\ncommand = 'a'\ntimeout = 'soon'", r"timeout must be a duration, .*, not 'soon'"),
        ("[[program]]\ncommand = 'a'\nexpect = [256]", "expect must be exit codes"),
        ("[[program]]\ncommand = 'a'\nexpect = true", "expect must be exit codes"),
        ("[[program]]\ncommand = 'a'\nenvironment = { A = 1 }", "environment must be a table of texts"),
        ("[[program]]\ncommand = 'a'\nshell = true", "no 'shell'"),
        ("[[program]]\ncommand = 'a \"'", "program 1: The command .* cannot be split"),
        ("[[program]]\ncommand = 'suite:other.toml'", "cannot list another suite"),
        ("program = 'a'", "lists no programs"),
        ("", "lists no programs"),
        ("[[program]]\ncommand = 'a'\n[more]\n", "has 'more' outside of a program"),
        ("[[program", "is no TOML"),
    ],
)
def test_what_is_wrong_is_said_with_the_file_and_the_program(suite, text, said):
    with pytest.raises(UsageError, match=said) as caught:
        sources.open([suite(text)])
    assert "s.toml" in str(caught.value)


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(UsageError, match=r"no\.toml cannot be read: No such file"):
        sources.open([f"suite:{tmp_path}/no.toml"])
