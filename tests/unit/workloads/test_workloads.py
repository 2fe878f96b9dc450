"""Texts that name workloads: the kind, several at once, names that are shared, options that do not exist."""

import pytest

from becalm import workloads
from becalm.errors import UsageError
from becalm.nouns.workload import Workload


def test_a_text_without_a_kind_is_a_command_line_as_workload_reads_it():
    assert workloads.open(["echo 'a b' c"]) == (Workload.of("echo 'a b' c"),)


def test_a_single_text_is_one_program_not_many_letters():
    assert [workload.argv for workload in workloads.open("echo a")] == [("echo", "a")]


def test_a_shell_is_used_only_when_asked_for():
    assert workloads.open(["echo $HOME"], shell=True)[0].argv == ("/bin/sh", "-c", "echo $HOME")


def test_workloads_and_argument_lists_are_taken_as_they_are():
    workload = Workload.of("true", name="mine")
    assert workloads.open([workload, ["echo", "a b"]]) == (workload, Workload.of(["echo", "a b"]))


def test_a_command_may_have_colons():
    assert workloads.open(["scp host:file ."])[0].argv == ("scp", "host:file", ".")
    assert workloads.open(["command:suite:x"])[0].argv == ("suite:x",)


def test_a_misspelt_kind_is_reported_with_the_nearest():
    with pytest.raises(UsageError, match=r"Did you mean 'phoronix'\?.*command:phornix:pts/x"):
        workloads.open(["phornix:pts/x"])


def test_no_program_at_all_is_reported():
    with pytest.raises(UsageError, match="No program is named"):
        workloads.open([])


def test_an_option_that_does_not_exist_is_reported_with_the_nearest():
    with pytest.raises(UsageError, match=r"no option 'directori'\. Did you mean 'directory'\?"):
        workloads.open(["true"], directori="/")


def test_one_name_cannot_stand_for_two_programs():
    assert workloads.open(["true"], name="x")[0].name == "x"
    with pytest.raises(UsageError, match="2 programs"):
        workloads.open(["true", "false"], name="x")


def test_different_programs_of_one_name_are_told_apart_by_their_source(tmp_path):
    for name, command in (("a", "true"), ("b", "false")):
        (tmp_path / f"{name}.toml").write_text(f'[[program]]\nname = "same"\ncommand = "{command}"\n')
    first, second = workloads.open([f"suite:{tmp_path}/a.toml", f"suite:{tmp_path}/b.toml"])
    assert (first.name, second.name) == (f"same (suite:{tmp_path}/a.toml)", f"same (suite:{tmp_path}/b.toml)")


def test_the_same_program_twice_keeps_its_name():
    assert [workload.name for workload in workloads.open(["true", "true"])] == ["true", "true"]


def test_the_options_of_run_and_compare_can_be_handed_on():
    from becalm.nouns.options.measuring import RunOptions
    from becalm.study.session_options import split_keywords

    options = {"shell": True, "timeout": "2s", "expect": (0, 1), "cold": True, "environment": {"A": "1"}, "runs": 3}
    _, _, program = split_keywords(RunOptions, options)
    (workload,) = workloads.open(["echo $A"], **program)
    assert workload.argv == ("/bin/sh", "-c", "echo $A")
    assert (workload.timeout_ns, workload.expect, workload.cold, workload.environment) == (
        2 * 10**9,
        (0, 1),
        True,
        (("A", "1"),),
    )
