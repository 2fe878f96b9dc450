"""Workloads: splitting as a shell would, and the JSON form."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from becalm.errors import UsageError
from becalm.nouns.codec import unwire, wire
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Neighbour, Output, Workload, shell_sign

words = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=20)


@pytest.mark.parametrize(
    ("command", "argv"),
    [("gzip -9 x", ("gzip", "-9", "x")), ("sh -c 'exit 3'", ("sh", "-c", "exit 3")), ('a "b c"', ("a", "b c")),
     (["a", "b c"], ("a", "b c")), (r"a b\ c", ("a", "b c"))],
)  # fmt: skip
def test_split(command, argv):
    assert Workload.of(command).argv == argv


def test_shell():
    assert Workload.of("a | b", shell=True).argv == ("/bin/sh", "-c", "a | b")
    assert Workload.of(["a", "b c"], shell=True).argv == ("/bin/sh", "-c", "a 'b c'")


@pytest.mark.parametrize("command", ["", "   ", [], "a 'b"])
def test_commands_that_are_none(command):
    with pytest.raises(UsageError):
        Workload.of(command)


@given(st.lists(words, min_size=1))
def test_a_joined_command_is_split_again(argv):
    assert Workload.of(shlex.join(argv)).argv == tuple(argv)


@given(st.binary(max_size=40))
def test_strings_that_are_not_utf8_travel(data):
    text = data.decode("utf-8", "surrogateescape")
    assert unwire(wire(text)) == text


@given(
    argv=st.lists(words, min_size=1),
    environment=st.dictionaries(words.filter(bool), words),
    directory=st.none() | words,
    timeout=st.none() | st.floats(1e-9, 1e6),
    expect=st.none() | st.lists(st.integers(0, 255)),
    output=st.sampled_from(list(Output)),
)
def test_json_round_trip(argv, environment, directory, timeout, expect, output):
    workload = Workload.of(
        argv,
        environment=environment,
        directory=directory,
        timeout=timeout,
        expect=None if expect is None else tuple(expect),
        output=output,
        prepare="make 'a b'",
    )
    assert Workload.from_json(workload.to_json()) == workload


def test_settings_are_ordered_by_name():
    assert Settings.of({"nice": 1, "aslr": False}) == Settings.of({"aslr": False, "nice": 1})


@pytest.mark.parametrize(
    ("command", "sign"),
    [
        ("echo hi > x", ">"), ("a | b", "|"), ("sort < x", "<"), ("a; b", ";"), ("a && b", "&&"), ("ls *.c", "*"),
        ("echo $HOME", "$"), ('echo "$HOME"', "$"), ("echo $(date)", "$"), ("a || b", "||"),
    ],
)  # fmt: skip
def test_shell_syntax_is_not_passed_to_the_program(command, sign):
    assert shell_sign(command) == sign
    with pytest.raises(UsageError, match="--shell"):
        Workload.of(command)
    assert Workload.of(command, shell=True).argv == ("/bin/sh", "-c", command)


@pytest.mark.parametrize(
    "command",
    [
        "awk '{print $1}' x",
        "find . -name '*.c'",
        r"echo \$HOME \;",
        "echo a&b",
        'echo "a > b"',
        "price 5$",
        "x --a=b?c",
    ],
)
def test_quoted_it_is_the_program_s(command):
    assert shell_sign(command) is None
    assert Workload.of(command).argv


def test_argument_lists_are_taken_as_they_are():
    assert Workload.of(["echo", ">", "$x", "*"]).argv == ("echo", ">", "$x", "*")


def test_neighbours_share_directory_and_environment_of_the_program():
    workload = Workload.of(
        "a", alongside=["b 'x y'", Workload.of("c")], alongside_cpus="1-2", directory="/var", environment={"K": "V"}
    )
    first, other = workload.alongside
    assert first == Neighbour(Workload(("b", "x y"), "b 'x y'", directory="/var", environment=(("K", "V"),)))
    assert other.workload.directory is None
    assert Workload.from_json(workload.to_json()) == workload
    assert [neighbour["cpus"] for neighbour in workload.to_wire()["alongside"]] == ["1-2", "1-2"]
    assert Neighbour(Workload.of("b"), "3").to_wire("1-2")["cpus"] == "3"
    assert "alongside" not in Workload.of("a").to_wire()
    assert Workload.of("a", alongside="b | c", shell=True).alongside[0].workload.argv == ("/bin/sh", "-c", "b | c")


def test_a_built_in_kernel_has_neighbours_too():
    workload = Workload(kernel="add", iterations=5, alongside=(Neighbour(Workload(kernel="read", iterations=1)),))
    assert workload.to_wire()["alongside"] == [{"workload": {"kernel": "read", "iterations": 1}}]
    assert Workload.from_json(workload.to_json()) == workload


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alongside": ""}, "The command is empty"),
        ({"alongside": ["a | b"]}, "is shell syntax"),
        ({"alongside_cpus": "1"}, "there are none"),
        ({"alongside": [], "alongside_cpus": "1"}, "there are none"),
    ],
)
def test_neighbours_that_are_none_are_refused(options, words):
    with pytest.raises(UsageError, match=words):
        Workload.of("a", **options)
