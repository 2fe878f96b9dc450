"""The action for GitHub and the template for GitLab as files; tests/contract/verbs runs their scripts."""

import yaml
from tests.places import ROOT


def action():
    return yaml.safe_load((ROOT / "action.yml").read_text())


def test_no_text_of_others_is_part_of_a_script():
    for step in action()["runs"]["steps"]:
        assert "${{" not in step["run"]
    _, jobs = yaml.safe_load_all((ROOT / "templates/check.yml").read_text())
    (job,) = jobs.values()
    assert "$[[" not in "".join(job["script"])


def test_every_input_of_the_action_is_used_and_its_options_are_becalm_s():
    text = (ROOT / "action.yml").read_text()
    for name in action()["inputs"]:
        assert f"inputs.{name}" in text, name
