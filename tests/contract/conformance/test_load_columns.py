"""Promises of every column of load, over the engine's table: one more row is one more run of these tests.

Each is read by a real agent of directories that look like machines, and held against what the raw numbers of its
source come to by its row.
"""

import os
import re

import pytest
from tests.contract.conformance.recorded_machine import BROKEN, advance, files, recorded
from tests.contract.conversation import Agent

from becalm.nouns.tables import load_columns, sources

READ = [column for column in load_columns() if column.take != "given"]

pytestmark = pytest.mark.parametrize("column", READ, ids=lambda column: column.name)

STEP = 5
"""The distance that each counter moves."""


@pytest.fixture
def tree(tmp_path):
    return recorded(tmp_path / "machine")


@pytest.fixture
def agent(tree):
    result = Agent("--root", str(tree))
    yield result
    result.close()


def source_of(column):
    (source,) = [row for row in sources() if row.name == column.source]
    return source


def read(agent, column, **more):
    """Return an answer of `read`, with the column's value by its name."""
    answer = agent.ask("read", load=True, **more)
    assert answer["event"] == "done", answer
    row = answer["load"]
    answer["value"] = None if row is None else row[agent.greeting["load_columns"].index(column.name)]
    return answer


def called(name, pattern):
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".+"), name) is not None


EACH = {
    "one": 1,
    "tick": 10**7,
    "page": os.sysconf("SC_PAGESIZE"),
    "sector": 512,
    "millisecond": 10**6,
    "microsecond": 1000,
}


def expected(column, source):
    """Return the value that the column's row derives from the raw numbers of its source."""
    states = source["states"]

    def counts(name):
        device = name.rpartition(".")[0]
        if column.source == "diskstats" and not (states[f"{device}.whole"] and states[f"{device}.physical"]):
            return False
        return any(called(name, pattern) and ("*" not in pattern or device != "lo") for pattern in column.reads)

    if column.take == "sum":

        def unit(name):
            return states[f"{name.rpartition('.')[0]}.mtu"] if column.part == "mtu" else EACH[column.part]

        return sum(by * unit(name) for name, by in source["changes"].items() if counts(name))
    if column.take == "count":
        return sum(1 for name in source["counters"] if counts(name))
    values = [value for name, value in states.items() if counts(name) and value is not None]
    return sum(values) // len(values) - (column.take == "sampled")


def test_it_is_what_its_row_says_of_the_numbers_of_its_source(agent, tree, column):
    first = read(agent, column, sources=[column.source], changes=True)
    assert first["value"] is None, "the first reading ends no interval"
    if column.kind == "difference":
        advance(tree, source_of(column), STEP)
    answer = read(agent, column, sources=[column.source], changes=True)
    assert answer["value"] == expected(column, answer["sources"][column.source])
    assert column.name not in answer["unknown"]
    assert answer["absent"] == {}
    if column.kind == "difference":
        assert answer["value"] > 0
        assert read(agent, column)["value"] == 0, "nothing has moved since"


def test_without_its_source_it_is_unknown_with_a_reason_and_never_zero(agent, tree, column):
    for path in files(tree, source_of(column)):
        path.unlink()
    read(agent, column)
    answer = read(agent, column)
    assert answer["value"] is None
    assert answer["absent"][column.source]
    assert column.take == "sampled" or answer["unknown"][column.name]


def test_a_file_that_goes_away_and_comes_back_has_no_difference(agent, tree, column):
    contents = {path: path.read_text() for path in files(tree, source_of(column))}
    read(agent, column)
    for path in contents:
        path.unlink()
    assert read(agent, column)["value"] is None
    for path, text in contents.items():
        path.write_text(text)
    again = read(agent, column)
    assert (again["value"] is None) == (column.take != "sampled"), "it is not known at the beginning"
    assert read(agent, column)["value"] is not None


def test_counters_never_run_backwards(agent, tree, column):
    advance(tree, source_of(column), 1000)
    read(agent, column)
    advance(tree, source_of(column), -STEP)
    answer = read(agent, column)
    if column.kind == "difference":
        assert answer["value"] is None
        assert answer["unknown"][column.name] == "the counter ran backwards"
    else:
        assert answer["value"] >= 0


@pytest.mark.parametrize("broken", BROKEN)
def test_of_a_broken_file_it_is_unknown_and_never_zero(agent, tree, column, broken):
    read(agent, column)
    for path in files(tree, source_of(column)):
        path.write_bytes(broken)
    answer = read(agent, column)
    assert answer["value"] is None
    assert column.take == "sampled" or answer["unknown"][column.name]
