"""Numbers and repeated settings on the command line: read in one way, or refused."""

import click
import pytest

import becalm as api
from becalm.cli.main import VERBS
from becalm.cli.main import becalm as group
from becalm.errors import UsageError

SIM = ("run", "--host", "sim:laptop-a", "--no-store", "spin 10ms", "--runs")


@pytest.mark.parametrize("number", ["1_000", "1,000", "1'000", "1.000.000", "1 000"])
def test_numbers_with_separators_are_refused(home, becalm, number):
    ended = becalm(*SIM, number)
    assert ended.returncode == 2
    assert "can be read in two ways" in " ".join(ended.stderr.split())


@pytest.mark.parametrize("number", ["0", "1_0", "x", "1.5"])
def test_numbers_out_of_range_are_refused(home, becalm, number):
    assert becalm("list", "--limit", number).returncode == 2


def test_a_count_has_a_bound(home, becalm):
    ended = becalm(*SIM, "3", "--warmup", "99999999999999999999")
    assert ended.returncode == 2
    assert "must be at most 9223372036854775807" in " ".join(ended.stderr.split())
    with pytest.raises(UsageError, match=r"--warmup must be at most 9223372036854775807, not 1\.000e\+30"):
        api.run("spin 10ms", host="sim:laptop-a", store=False, warmup=10**30)


def test_a_setting_with_two_values_is_refused(home, becalm):
    ended = becalm(*SIM, "3", "--set", "aslr=on", "--set", "aslr=off")
    assert ended.returncode == 2
    assert "aslr=on and --set aslr=off contradict each other" in " ".join(ended.stderr.split())
    assert becalm(*SIM, "3", "--set", "aslr=off", "--set", "aslr=off").returncode == 0


def test_an_option_with_two_values_is_refused(home, becalm):
    ended = becalm(*SIM, "3", "--runs", "5")
    assert ended.returncode == 2
    assert "--runs 3 and --runs 5 contradict each other. Leave one out." in " ".join(ended.stderr.split())
    assert becalm(*SIM, "3", "--runs", "3").returncode == 0
    assert becalm("list", "--limit", "1", "--limit", "2").returncode == 2
    ended = becalm(*SIM, "3", "--metric", "a: (.)", "--metric", "b: (.)", "--help")
    assert ended.returncode == 0, "metrics are several"


def commands():
    """Yield every command and those beneath it, by the words that are typed for it."""
    todo = [(verb, group.get_command(click.Context(group), verb)) for verb in VERBS]
    while todo:
        words, command = todo.pop()
        todo += [(f"{words} {name}", item) for name, item in getattr(command, "commands", {}).items()]
        yield words, command


SINGLE = [
    (words, command, option.opts[0], option.nargs)
    for words, command in commands()
    for option in command.params
    if isinstance(option, click.Option) and not (option.is_flag or option.multiple or option.count)
]


@pytest.mark.parametrize(("words", "command", "option", "values"), SINGLE, ids=[f"{row[0]} {row[2]}" for row in SINGLE])
def test_no_command_takes_the_last_of_two_values(words, command, option, values):
    with pytest.raises(click.UsageError, match="contradict each other"):
        command.make_context(words, [option, *["1"] * values, option, *["2"] * values])
