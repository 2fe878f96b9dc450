"""Builds of layouts: what is refused, and which of them are measured. The build itself is a stand-in."""

import shlex

import pytest

from becalm.errors import MachineError, UsageError, WorkloadError
from becalm.nouns.workload import Workload
from becalm.study import layout_builds
from becalm.study.layout_builds import build_side, check_placeholders
from becalm.workloads.parameters import filled


@pytest.fixture(name="build")
def _build(tmp_path, monkeypatch):
    """A function that builds seeds whose programs have these contents; None for a build that fails."""

    def build(contents, command=("make", "SEED={seed}", "OUT={build}"), program="{build}/prog x{seed}"):
        def run(argv, log, timeout_s):
            content = contents[int(argv[1].removeprefix("SEED="))]
            if content is None:
                return "its build ended with 2: no rule."
            if content:
                (tmp_path / "old" / argv[1].removeprefix("SEED=") / "prog").write_text(content)
            return ""

        monkeypatch.setattr(layout_builds, "run_build", run)

        def workload(values):
            return Workload(tuple(shlex.split(filled(program, values))), parameters=values.parameters)

        return build_side("old", command, sorted(contents), tmp_path / "old", timeout_s=9, program=workload)

    return build


def test_each_seed_has_a_program_of_its_own(build, tmp_path):
    side = build({3: "a", 4: "b"})
    assert side.equal == ()
    assert {seed: workload.argv for seed, workload in side.workloads.items()} == {
        3: (str(tmp_path / "old/3/prog"), "x3"),
        4: (str(tmp_path / "old/4/prog"), "x4"),
    }


def test_a_seed_that_gives_a_known_program_is_left_out(build):
    side = build({1: "a", 2: "b", 3: "a", 4: "b"})
    assert (list(side.workloads), side.equal) == ([1, 2], (3, 4))


def test_the_program_in_a_shells_command_line_is_compared_too(build):
    side = build({1: "a", 2: "b", 3: "b"}, program="sh -c '{build}/prog | wc'")
    assert side.equal == (3,)


@pytest.mark.parametrize(
    ("contents", "error", "words"),
    [
        ({1: "a", 2: None}, WorkloadError, r"old cannot be built with seed 2: its build ended with 2: no rule\. The"),
        ({1: ""}, WorkloadError, "contains no file of that build"),
        ({1: "a", 2: "a"}, UsageError, "All 2 builds of old are the same file"),
    ],
)
def test_builds_without_a_program_or_an_effect_are_refused(build, contents, error, words):
    with pytest.raises(error, match=words):
        build(contents)


def test_a_missing_build_program_is_an_error_of_the_machine(tmp_path, monkeypatch):
    def missing(*_):
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(layout_builds, "run_build", missing)
    with pytest.raises(MachineError, match="The build of old cannot be started: 'mak': No such file or directory"):
        build_side("old", ("mak",), [1], tmp_path / "old", timeout_s=9, program=lambda values: values)


@pytest.mark.parametrize(
    ("command", "build", "words"),
    [
        ("{build}/prog", "make OUT={build}", r"has no \{seed\}"),
        ("./prog", "make {seed}", r"neither \{build\} nor \{seed\}"),
        ("{build}/prog", "make {seed}", r"does not name \{build\}"),
    ],
)
def test_commands_that_do_not_depend_on_the_layout_are_refused(command, build, words):
    with pytest.raises(UsageError, match=words):
        check_placeholders("old", command, build)
