"""The action for GitHub and the template for GitLab as files; tests/contract/verbs runs their scripts."""

import re

import check_templates
import pytest
import yaml
from tests.places import ROOT


def action():
    return yaml.safe_load((ROOT / "action.yml").read_text())


def template():
    return yaml.safe_load_all((ROOT / "templates/check.yml").read_text())


def test_no_text_of_others_is_part_of_a_script():
    for step in action()["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
    _, jobs = template()
    (job,) = jobs.values()
    assert "$[[" not in "".join(job["script"])


def test_inputs_of_the_template_are_no_yaml():
    """GitLab puts them into the text before it is read."""
    text = (ROOT / "templates/check.yml").read_text()
    _, jobs = template()
    (job,) = jobs.values()
    for name, variable in job["variables"].items():
        if "$[[" in str(variable):
            assert variable["expand"] is False, name
            assert f"{name}:\n      value: |-\n        $[[ inputs." in text, name


def test_every_input_of_the_action_is_used():
    text = (ROOT / "action.yml").read_text()
    for name in action()["inputs"]:
        assert f"inputs.{name} " in text, name


def test_every_input_of_the_template_is_used():
    text = (ROOT / "templates/check.yml").read_text()
    head, _ = template()
    for name in head["spec"]["inputs"]:
        assert f"$[[ inputs.{name} ]]" in text, name


SERVICE = {"token", "artifact", "build", "stage", "image"}
"""Inputs that only one of the services has a use for."""


def test_the_services_have_the_same_inputs():
    head, _ = template()
    assert action()["inputs"].keys() ^ head["spec"]["inputs"].keys() == SERVICE


def test_other_actions_are_named_by_full_hashes():
    used = [step["uses"] for step in action()["runs"]["steps"] if "uses" in step]
    assert used
    assert all(re.fullmatch(r"actions/[\w/-]+@[0-9a-f]{40}", name) for name in used)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (check_templates.action_inputs(), action()["inputs"]),
        (check_templates.action_outputs(), action()["outputs"]),
    ],
)
def test_tables_have_a_row_for_each(text, names):
    assert re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE) == list(names)
    assert text.strip() in (ROOT / "docs/how-to/check.md").read_text()
