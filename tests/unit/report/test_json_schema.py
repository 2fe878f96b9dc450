"""JSON Schemas of results; tests/unit/cli/test_output.py checks what `--json` prints against them."""

import jsonschema
import pytest

import becalm
from becalm.errors import UsageError
from becalm.report.json_schema import kinds_with_schema
from becalm.results.publish import Published, PublishedStudy


@pytest.mark.parametrize("kind", kinds_with_schema())
def test_every_schema_is_valid_and_complete(kind):
    schema = becalm.json_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["kind"] == {"const": kind}
    assert set(schema["required"]) <= set(schema["properties"])


def test_a_result_of_another_type_is_rejected():
    schema = becalm.json_schema("bisect")
    with pytest.raises(jsonschema.ValidationError, match=r"'becalm' is a required property"):
        jsonschema.validate({"kind": "bisect"}, schema)
    with pytest.raises(jsonschema.ValidationError, match=r"is not of type 'string'"):
        jsonschema.validate({"becalm": 1}, {**schema, "required": []})


def test_numbers_may_be_null():
    assert becalm.json_schema("compare")["$defs"]["Difference"]["properties"]["low"]["type"] == ["number", "null"]


def test_a_member_that_the_json_form_lacks_is_not_required():
    study = PublishedStudy(1, "run", "gzip", 0, "bench", 26, "finished", "", stamp="5")
    value = Published("site", "site/index.html", "runs.db", (study,), (1,), (), (), (), 7).to_json()
    assert "stamp" not in value["studies"][0]
    jsonschema.validate(value, becalm.json_schema("publish"))


def test_an_unknown_kind_names_those_with_a_schema():
    with pytest.raises(UsageError, match=r"no JSON Schema of 'gate'. There is one of: bisect, check, "):
        becalm.json_schema("gate")
