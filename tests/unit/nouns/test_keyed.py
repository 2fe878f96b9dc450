"""Sources that make their program of numbers: hackbench, and wake-ups."""

import pytest

from becalm.errors import UsageError
from becalm.nouns.keyed import parse_keyed
from becalm.nouns.metric import Tasks
from becalm.workloads import open as sources
from becalm.workloads import single
from becalm.workloads.parameters import expand


def test_numbers_and_words_with_their_defaults():
    parsed = parse_keyed("x", "b=3, quick", {"a": 1, "b": 2, "c": None}, ("quick",))
    assert parsed.numbers == {"a": 1, "b": 3}
    assert parsed.words == {"quick"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("group=3", "no option 'group'. Did you mean groups?"),
        ("groups", "a whole number above zero, not ''"),
        ("groups=0", "a whole number above zero, not '0'"),
        ("groups=-1", "not '-1'"),
        ("groups=many", "not 'many'"),
        ("groups=99999999999", "not '99999999999'"),
        ("", "has no option ''"),
    ],
)
def test_unknown_options_are_refused(text, words):
    with pytest.raises(UsageError) as caught:
        parse_keyed("hackbench", text, {"groups": 10})
    assert words in str(caught.value)


def test_times_are_in_any_unit():
    parsed = parse_keyed("x", "work=2ms,think=1.5us,a=4", {"a": 1}, times={"work": 1, "think": 1, "rest": 7})
    assert parsed.numbers == {"a": 4, "work": 2_000_000, "think": 1500, "rest": 7}


def test_sizes_are_in_bytes():
    assert parse_keyed("x", "size=64MiB", {}, sizes={"size": None, "step": None}).numbers == {"size": 64 << 20}
    for value in ("", "0", "-1", "many", "1s"):
        with pytest.raises(UsageError, match="size is a number of bytes"):
            parse_keyed("x", f"size={value}", {}, sizes={"size": None})


@pytest.mark.parametrize("value", ["", "5", "0us", "-1ms", "many", "2h", "1e999s"])
def test_invalid_times_are_refused(value):
    with pytest.raises(UsageError, match="work is a time with its unit"):
        parse_keyed("x", f"work={value}", {}, times={"work": 1})


@pytest.mark.parametrize(
    ("text", "argv", "messages"),
    [
        ("groups=20,loops=1000", "hackbench -g 20 -l 1000", 8_000_000),
        ("groups=2,loops=10,fds=5,size=64,threads,pipe", "hackbench -g 2 -l 10 -f 5 -s 64 -T -p", 500),
        ("loops=7", "hackbench -g 10 -l 7", 28_000),
    ],
)
def test_hackbench_by_its_numbers_passes_so_many_messages(text, argv, messages):
    workload = single(f"hackbench:{text}")
    assert " ".join(workload.argv) == argv
    assert workload.tasks == Tasks(float(messages), "messages")
    assert workload.name == f"hackbench:{text}"


def test_wakeups_are_a_program_of_the_agent_and_say_what_is_compared():
    workload = single("wakeups:workers=8,seconds=5", timeout=9)
    assert workload.argv[:2] == ("/proc/self/exe", "wakeups")
    assert workload.argv[workload.argv.index("--workers") + 1] == "8"
    assert workload.metrics[0].name == "wake-up p99"
    assert workload.metrics[-1].higher
    assert workload.timeout_ns == 9 * 10**9


def test_options_of_programs_win_and_several_texts_are_several_programs():
    lines = sources(["hackbench:groups=2", "wakeups:workers=2"], name=None, environment={"K": "v"})
    assert [line.environment for line in lines] == [(("K", "v"),)] * 2


def test_parameters_stand_in_these_texts_too():
    several = expand(["hackbench:groups={g},loops=5"], {"g": "2..6..2"}, make=single)
    assert [dict(workload.parameters)["g"] for workload in several] == ["2", "4", "6"]
    assert [workload.argv[2] for workload in several] == ["2", "4", "6"]


def test_a_source_that_names_one_program_is_as_good_as_a_command(tmp_path):
    programs = tmp_path / "programs.toml"
    programs.write_text('[[program]]\nname = "one"\ncommand = "true"\n')
    assert single(f"suite:{programs}").name == "one"
    programs.write_text(2 * '[[program]]\ncommand = "true"\n')
    with pytest.raises(UsageError, match=r"names 2 programs; one is needed here\. Write its command, or"):
        single(f"suite:{programs}")
