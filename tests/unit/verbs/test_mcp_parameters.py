"""Input of tools: every type of parameter has a JSON Schema, and what does not fit is refused with its name."""

import pytest

from becalm.errors import UsageError
from becalm.verbs.mcp_parameters import SCHEMAS, Parameter, checked, schema

ALL = tuple(Parameter(kind, kind, f"A {kind}.") for kind in SCHEMAS)

GOOD = {
    "text": ["", "a b"],
    "texts": [[], ["a", "b"]],
    "count": [1, 10**6],
    "flag": [True, False],
    "settings": [{}, {"swappiness": 1, "aslr": "off", "swap": True, "share": 0.5}],
    "variables": [{"K": "v"}],
}

BAD = {
    "text": [1, ["a"], "a\0b", "x" * 100_001],
    "texts": ["a", [1], [None], ["a\0"]],
    "count": [0, -1, 1.0, True, "1", 2**31],
    "flag": [1, "true"],
    "settings": [[], {"a": None}, {"a": [1]}, {"a": float("nan")}],
    "variables": [{"K": 1}, "K=v"],
}


@pytest.mark.parametrize("kind", SCHEMAS)
def test_values_of_the_type_are_taken_as_they_are(kind):
    for value in GOOD[kind]:
        assert checked(ALL, {kind: value}) == {kind: value}


@pytest.mark.parametrize("kind", SCHEMAS)
def test_other_values_are_refused_with_the_name(kind):
    for value in BAD[kind]:
        with pytest.raises(UsageError, match=f"^{kind} must be "):
            checked(ALL, {kind: value})


def test_null_stands_for_the_default():
    assert checked(ALL, {"text": None}) == {}


def test_an_unknown_parameter_is_refused_with_the_nearest():
    with pytest.raises(UsageError, match=r"'budgett'.*'budget'"):
        checked((Parameter("budget", "text", ""),), {"budgett": "1s"})


def test_a_missing_parameter_is_named():
    with pytest.raises(UsageError, match="'command' is missing"):
        checked((Parameter("command", "text", "", True),), {})


def test_a_choice_is_one_of_its_words():
    rows = (Parameter("minimize", "text", "", choices=("spread", "time")),)
    assert checked(rows, {"minimize": "time"})
    with pytest.raises(UsageError, match="one of spread, time"):
        checked(rows, {"minimize": "noise"})


def test_the_schema_names_what_is_required_and_nothing_else_fits():
    document = schema((Parameter("command", "text", "The command.", True), Parameter("runs", "count", "How many.")))
    assert document["required"] == ["command"]
    assert document["properties"]["command"] == {"type": "string", "description": "The command."}
    assert document["properties"]["runs"]["minimum"] == 1
    assert document["additionalProperties"] is False
