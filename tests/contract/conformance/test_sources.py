"""Promises of every source of load, over the engine's table: one more row is one more run of these tests."""

import pytest
from tests.contract.conformance.recorded_machine import BROKEN, advance, files, recorded
from tests.contract.conversation import Agent

from becalm.nouns.tables import sources

pytestmark = pytest.mark.parametrize("source", sources(), ids=lambda source: source.name)


@pytest.fixture
def tree(tmp_path):
    return recorded(tmp_path / "machine")


@pytest.fixture
def agent(tree):
    result = Agent("--root", str(tree))
    yield result
    result.close()


def read(agent, source):
    answer = agent.ask("read", sources=[source.name], changes=True)
    assert answer["event"] == "done", answer
    return answer["sources"][source.name]


def numbers(answer):
    return {**answer.get("counters", {}), **answer.get("states", {})}


def test_its_numbers_are_those_of_its_files(agent, tree, source):
    answer = read(agent, source)
    known = [value for value in numbers(answer).values() if value is not None]
    assert known
    assert all(type(value) is int and value >= 0 for value in known)
    assert answer["took_ns"] > 0
    assert "changes" not in answer, "the first reading ends no interval"
    text = "".join(path.read_text() for path in files(tree, source))
    # Hundredths and sums are of becalm's making; most numbers stand as they are in the files.
    assert sum(str(value) in text for value in known) > 0.3 * len(known)


def test_its_counters_move_as_far_as_the_file_says(agent, tree, source):
    before = read(agent, source)["counters"]
    advance(tree, source, 5)
    answer = read(agent, source)
    assert answer["interval_ns"] > 0
    assert set(answer["changes"]) | set(answer["unknown"]) == set(before) | set(answer["counters"])
    for name, by in answer["changes"].items():
        assert by == answer["counters"][name] - before[name] >= 0, name
    assert all(answer["unknown"].values()), "each has a reason"
    assert not before or any(answer["changes"].values())


def test_a_counter_that_runs_backwards_is_unknown_with_a_reason(agent, tree, source):
    advance(tree, source, 1000)
    before = read(agent, source)["counters"]
    advance(tree, source, -5)
    answer = read(agent, source)
    assert all(by >= 0 for by in answer["changes"].values())
    for name, value in answer["counters"].items():
        if value is not None and before[name] is not None and value < before[name]:
            assert "backwards" in answer["unknown"][name], name


def test_without_its_files_it_is_absent_with_a_reason_and_has_no_number(agent, tree, source):
    for path in files(tree, source):
        path.unlink()
    answer = read(agent, source)
    assert answer["absent"]
    assert numbers(answer) == {}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_file_is_no_number(agent, tree, source, broken):
    whole = read(agent, source)
    for path in files(tree, source):
        path.write_bytes(broken)
    answer = read(agent, source)
    assert {value for value in numbers(answer).values() if value is not None} <= {0, 1}, "that of a device, at most"
    assert answer.get("absent") or answer["missing"] or None in numbers(answer).values() or not numbers(answer)
    assert not any(answer["changes"].values())
    assert set(answer["unknown"]) >= set(whole["counters"]) - set(answer["changes"])
