"""`becalm simulate`: one noun of what a scheduler did, and a trace."""

import pytest
from click.testing import CliRunner

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import UsageError


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"host": "local"}, "not a simulated scheduler"),
        ({"seeds": 0}, "from 1 to"),
        ({"trace": "/none/x"}, "No such file"),
    ],
)
def test_invalid_options_are_refused(options, why):
    with pytest.raises(UsageError, match=why):
        becalm.simulate("spin 1ms", **options)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--runs", "3", "--", "spin 1ms"], "A simulation does nothing with --runs"),
        (
            ["--measure", "local", "--save", "x.toml", "--loops", "3", "--", "true"],
            "--measure does nothing with --loops",
        ),
        (["--measure", "local", "--save", "x.toml", "--validate", "local"], "Leave all but one out"),
        (["--validate", "sim:cfs", "--markdown", "--runs", "2", "--loops", "1"], "are for simulations"),
    ],
)
def test_no_option_is_ignored(words, why):
    result = CliRunner().invoke(group, ["simulate", *words])
    assert why in f"{result.output}{result.exception}"
