"""The cost of a move: accounts of the cache simulator, which becalm-sim runs."""

import json

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

import becalm
from becalm.cli.migrate import command_migrate
from becalm.errors import UsageError
from becalm.migration.account import Accounted, Mean, MoveTrial
from becalm.migration.engine import ask
from becalm.migration.rules import rules_named
from becalm.wording.migrate_account import sentence, whys

# One worker, which makes the fixtures of this file once.
pytestmark = pytest.mark.xdist_group("migrate-account")

PHASES = {"tasks": [{"program": {"phases": {"bytes": 128 << 10, "sweeps": 20, "phases": 1}}}], "pages": "sequence"}


@pytest.fixture(scope="module")
def gained():
    """A program whose data are three quarters of a last-level cache, in phases, moved to another one."""
    return becalm.account_migration(
        "phases:576K,40,8", cache="768K", reuse=0.0, window="1ms", moves=4, rules="published"
    )


def test_a_move_costs_exactly_the_lines_that_are_used_again():
    # The specification: moved in mid-phase s/64 more references of the LLC: 128 KiB in 256 KiB of L2.
    question = {"rules": {}}
    alone = ask("cache", {**PHASES, "question": question})
    moved = {"task": 0, "at_ns": alone["tasks"][0]["ended_ns"] * 8 // 10, "to": 1, "how": "at_once"}
    after = ask("cache", {**PHASES, "question": question, "once": [moved]})
    counts = [answer["found"]["programs"][0]["own"][0] for answer in (alone, after)]
    assert counts == [2048, 4096]
    assert len(after["tasks"][0]["moved"]) == 1, "once"


def test_the_cost_of_moves_in_a_stream_is_their_true_cost():
    """To another last-level cache and back: by its own windows, as against the same program unmoved."""
    machine = {"cpus": 4, "llcs": 2, "llc": {"bytes": 768 << 10, "ways": 12}}
    program = {"program": {"phases": {"bytes": 576 << 10, "sweeps": 400, "phases": 1}}}
    question = {"rules": rules_named("rise").within(1_000_000)}
    request = {"machine": machine, "tick_ns": 50_000, "tasks": [program], "question": question, "seed": 1}
    alone = ask("cache", request)
    ended = alone["tasks"][0]["ended_ns"]
    moves = [{"task": 0, "at_ns": ended * at // 10, "to": to, "how": "at_once"} for at, to in ((3, 2), (6, 0))]
    misses = [ask("cache", {**request, "once": moves[:many]}) for many in (0, 1, 2)]
    total = [miss["found"]["programs"][0]["own"][1] for miss in misses]
    migrations = misses[2]["found"]["migrations"]
    # A refill is a spot itself, which ends neither its accounting nor what is usual for the next move.
    assert [spot["kind"] for spot in misses[2]["found"]["spots"]].count(1) == 2
    for number, migration in enumerate(migrations):
        assert migration["excess_misses"] == pytest.approx(
            total[number + 1] - total[number], abs=3 * migration["error"]
        )
    assert migrations[0]["excess_misses"] > 8_000


def test_a_move_to_where_it_is_costs_nothing_and_an_unknown_cpu_is_refused():
    there = {"task": 0, "at_ns": 1000, "to": 0, "how": "at_once"}
    answer = ask("cache", {**PHASES, "question": {}, "once": [there]})
    assert answer["found"]["programs"][0]["own"][0] == 2048
    for wrong, why in (({"to": 9}, "There is no CPU 9"), ({"task": 4}, "of a task that there is")):
        with pytest.raises(UsageError, match=why):
            ask("cache", {**PHASES, "question": {}, "once": [{**there, **wrong}]})
    with pytest.raises(UsageError, match="need a question"):
        ask("cache", {**PHASES, "once": [{**there, "how": "at_spot"}]})


def test_at_spots_a_move_costs_less_and_each_pair_has_the_same_pages(gained):
    assert gained.at_spots >= 1
    lines = (576 << 10) // 64
    assert max(trial.random["misses"] for trial in gained.trials) == pytest.approx(lines, rel=0.35)
    for trial in gained.trials:
        assert trial.random["references"] == trial.spot["references"] == 0, "it fits no private cache: none is lost"
    assert gained.gain("misses").value > 0
    assert len({trial.seed for trial in gained.trials}) == 4


def test_equal_seeds_give_equal_accounts_and_another_one_does_not():
    options = {"moves": 3, "cache": "96K", "window": "1ms"}
    first, again = (becalm.account_migration("phases:8K,40,3", to="same", **options) for _ in range(2))
    assert first == again
    assert becalm.account_migration("phases:8K,40,3", to="same", seed=2, **options).trials != first.trials


def test_it_is_said_whether_waiting_gains_and_nothing_to_gain_is_an_answer(gained):
    def account(*gains):
        cost = {"references": 0.0, "misses": 100.0, "time_ns": 50_000.0}
        trials = [MoveTrial(0, 0, cost, cost, {**cost, "time_ns": 50_000.0 - gain}, "spot", 10) for gain in gains]
        return Accounted("phases", "other", "rise", 0.8, 5_000_000, tuple(trials))

    assert sentence(account(20_000, 21_000, 22_000)).startswith("Waiting for sweet spots gains 21.00 µs ± 2.484 µs a")
    assert sentence(account(-20_000, -21_000, -22_000)).startswith("Waiting for sweet spots loses 21.00 µs")
    assert sentence(account(10_000, -12_000, 1_000)).startswith(
        "Nothing to gain by waiting for sweet spots: 3 moves of"
    )
    none = account(0.0, 0.0, 0.0)
    none = replace(none, trials=tuple(replace(trial, why="not_worth_waiting") for trial in none.trials))
    assert sentence(none).endswith("each at random moments, none was made at one.")
    assert Mean.of([1.0, 2.0, 3.0]).half == pytest.approx(4.302653 / 3**0.5)
    assert "p = 0, windows of 1.000 ms" in whys(gained)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"to": "far"}, "not to 'far'"),
        ({"moves": 2}, "At least 3 moves are needed"),
        ({"workload": "memeater:1M"}, "No task ends by itself"),
        ({"workload": "nothing"}, "There is no workload 'nothing'"),
    ],
)
def test_invalid_accounts_are_refused(options, why):
    request = {"workload": "phases:8K,40,3", "moves": 3} | options
    with pytest.raises(UsageError, match=why):
        becalm.account_migration(**request)


def test_typed_it_is_a_table_json_or_markdown():
    words = ["account", "phases:8K,40,3", "--moves", "3", "--cache", "96K", "--window", "1ms", "--llc", "same"]
    run = CliRunner().invoke(command_migrate, [*words, "--plain"])
    assert run.exit_code == 0, run.output
    assert "Nothing to gain by waiting for sweet spots" in " ".join(run.output.split())
    assert "less at sweet spots" in run.output
    document = json.loads(CliRunner().invoke(command_migrate, [*words, "--json", "--reuse", "0", "--seed", "0"]).output)
    assert document["reuse"] == 0
    assert (document["kind"], document["to"], len(document["trials"])) == ("migration-account", "same", 3)
    assert "| less at sweet spots |" in CliRunner().invoke(command_migrate, [*words, "--markdown"]).output
    for more, why in ((["--limit", "1ms"], "--limit is about a running process"), (["--for", "1s"], "--for is about")):
        assert why in str(CliRunner().invoke(command_migrate, [*words, *more]).exception)
    assert "is about simulated programs" in str(CliRunner().invoke(command_migrate, ["1", "--moves", "3"]).exception)
    assert "is not a process number" in str(CliRunner().invoke(command_migrate, ["x1"]).exception)
