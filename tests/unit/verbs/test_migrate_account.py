"""The cost of moves on simulated caches: exact where that is known, paired, and reported with its interval."""

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from tests.unit.migration.test_live_account import account as live

import becalm
from becalm.cli.migrate import command_migrate
from becalm.errors import UsageError
from becalm.wording.migrate_account import live_sentence


def test_a_real_program_is_typed_behind_two_dashes(monkeypatch):
    requests = []

    def account(command, **values):
        values.pop("listener")
        requests.append((command, values))
        return replace(live(), sentence=live_sentence(live()))

    monkeypatch.setattr(becalm, "account_command", account, raising=False)
    words = ["account", "--llc", "same", "--moves", "12", "--limit", "50ms", "--seed", "3", "--plain"]
    run = CliRunner().invoke(command_migrate, [*words, "--", "gzip", "-9", "--", "x"])
    assert run.exit_code == 0, run.output
    options = {"to": "same", "moves": 12, "limit": "50ms", "seed": 3, "sudo": False}
    assert requests == [(["gzip", "-9", "--", "x"], options)]
    assert "Nothing to gain by waiting" in run.output
    for more, why in (
        (["--cache", "1M"], "--cache does not go with `account -- CMD`"),
        (["--for", "1s"], "--for does not go with"),
        (["phases:8K,40,3"], "'phases:8K,40,3' is a simulated program, and -- CMD a real one"),
    ):
        result = CliRunner().invoke(command_migrate, ["account", *more, "--", "true"])
        assert why in str(result.exception)
    assert len(requests) == 1


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"to": "far"}, "not 'far'"),
        ({"moves": 9}, "At least 10 moves are needed"),
        ({"rules": "none"}, "none"),
        ({"limit": "1s"}, "at most 100 ms"),
        ({"host": "ssh://nowhere.invalid"}, "not on ssh://nowhere.invalid"),
    ],
)
def test_invalid_accounts_are_refused_before_the_program_runs(options, why, tmp_path):
    with pytest.raises(UsageError, match=why):
        becalm.account_command(["touch", str(tmp_path / "ran")], **options)
    assert not (tmp_path / "ran").exists()
