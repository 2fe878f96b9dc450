"""The action for GitHub and the template for GitLab: their scripts are run as the services run them, with a becalm
that says with which words it was called."""

import json
import os
import re
import subprocess

import pytest
import yaml
from tests.places import ROOT

SPOILT = '$(touch spoilt) `touch spoilt` "; touch spoilt; #'


@pytest.fixture
def tools(tmp_path):
    """A folder first on PATH with a becalm, and programs of the services, that write down their words."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def program(name, script=""):
        """Write a shell script, which starts faster than Python: it appends its words to a file, then does more."""
        words = f"printf '%s\\037' \"$@\" >> '{tmp_path / name}'\nprintf '\\036' >> '{tmp_path / name}'\n"
        (folder / name).write_text(f"#!/bin/sh\n{words}{script}")
        (folder / name).chmod(0o755)

    program("becalm", 'echo \'<!-- becalm check -->\' > "$5"\nexit "$CODE"\n')
    program("gh", 'case " $* " in *" --jq "*) echo "$KNOWN" ;; esac\n')
    program("curl", 'case " $* " in *" -X "*) ;; *) printf "%s" "$NOTES" ;; esac\n')
    program("git")
    return tmp_path


def words(tools, name):
    """Return the words of each call of a program."""
    calls = (tools / name).read_text().split("\036")[:-1]
    return [call.split("\037")[:-1] for call in calls]


def shell(program, script, tools, **environment):
    around = {"PATH": f"{tools / 'bin'}:{os.environ['PATH']}", "HOME": str(tools), **environment}
    command = [program, "-e", "-o", "pipefail", "-c", script] if program == "bash" else [program, "-e", "-c", script]
    done = subprocess.run(command, env=around, cwd=tools, capture_output=True, text=True, check=False)
    assert not (tools / "spoilt").exists(), "a shell has read what a stranger wrote"
    return done


def action():
    return yaml.safe_load((ROOT / "action.yml").read_text())


@pytest.mark.parametrize("code", [0, 1, 4, 5])
def test_the_action_checks_and_its_outcome_is_becalm_s(tools, code):
    step = next(step for step in action()["runs"]["steps"] if step.get("id") == "check")
    (tools / "out").write_text("")
    environment = {
        "COMMANDS": f"{{build}}/prog a\n\n{{build}}/prog {SPOILT}\n", "OLD_BUILD": "old", "NEW_BUILD": "new",
        "FAIL_ABOVE": "3%", "UNDECIDED": "pass", "BUDGET": "9s", "OPTIONS": "--shell\n--env\nA=1 2",
    }  # fmt: skip
    assert set(environment) == set(step["env"])
    around = {"GITHUB_OUTPUT": str(tools / "out"), "RUNNER_TEMP": str(tools), "CODE": str(code)}
    assert shell("bash", step["run"], tools, **environment, **around).returncode == code
    comment = str(tools / "becalm-comment.md")
    assert words(tools, "becalm") == [[
        "check", "--annotate", "github", "--comment", comment, "--fail-above", "3%", "--undecided", "pass",
        "--budget", "9s", "--shell", "--env", "A=1 2", "--old-build", "old", "--new-build", "new", "--",
        "{build}/prog a", f"{{build}}/prog {SPOILT}",
    ]]  # fmt: skip
    assert (tools / "out").read_text() == f"exit-code={code}\ncomment-file={comment}\n"


@pytest.mark.parametrize(("package", "installed"), [("", "/the action"), ("becalm.whl", "becalm.whl"), ("none", "")])
def test_the_action_installs_its_own_checkout_and_no_name_of_an_index(tools, package, installed):
    step = next(step for step in action()["runs"]["steps"] if step.get("id") == "install")
    assert step["env"]["CHECKOUT"] == "${{ github.action_path }}"
    assert action()["inputs"]["package"]["default"] == ""
    (tools / "becalm/bin").mkdir(parents=True)
    for path in (tools / "bin/python3", tools / "becalm/bin/pip"):
        path.write_text(f"#!/bin/sh\nprintf '%s\\037' \"$@\" >> '{tools}/{path.name}'\n")
        path.chmod(0o755)
    environment = {"PACKAGE": package, "CHECKOUT": "/the action"}
    assert set(environment) == set(step["env"])
    around = {"RUNNER_TEMP": str(tools), "GITHUB_PATH": str(tools / "path")}
    assert shell("bash", step["run"], tools, **environment, **around).returncode == 0
    if not installed:
        assert not (tools / "pip").exists()
        return
    assert (tools / "pip").read_text().split("\037")[:-1] == ["install", "-q", "--", installed]
    assert (tools / "path").read_text() == f"{tools}/becalm/bin\n"


@pytest.mark.parametrize(
    ("known", "call"),
    [
        ("", ["api", "repos/o/r/issues/5/comments"]),
        ("31", ["api", "-X", "PATCH", "repos/o/r/issues/comments/31"]),
    ],
)
def test_the_action_replaces_its_comment(tools, known, call):
    step = action()["runs"]["steps"][-1]
    around = {"GH_TOKEN": "t", "NUMBER": "5", "REPOSITORY": "o/r", "COMMENT": "c.md", "KNOWN": known}
    assert shell("bash", step["run"], tools, **around).returncode == 0
    assert words(tools, "gh")[-1] == [*call, "-F", "body=@c.md"]


def template():
    head, job = yaml.safe_load_all((ROOT / "templates/check.yml").read_text())
    return head, job


def run_template(tools, build, **environment):
    """Run the job's script with its inputs filled in as GitLab does, after `git worktree` made the old tree."""
    head, jobs = template()
    (job,) = jobs.values()
    inputs = {"commands": f"{{build}}/prog a\n{{build}}/prog {SPOILT}", "package": "", "build": build}
    for name, spec in head["spec"]["inputs"].items():
        inputs.setdefault(name, spec.get("default"))
    options = {
        name: re.sub(r"\$\[\[ inputs\.([\w-]+) \]\]", lambda match: inputs[match[1]], value)
        for name, value in job["variables"].items()
    }
    (tools / ".becalm-old").mkdir()
    around = {
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": "abc", "CI_API_V4_URL": "https://lab/api/v4", "CI_PROJECT_ID": "9",
        "CI_MERGE_REQUEST_IID": "2", "BECALM_TOKEN": "t",
        "NOTES": json.dumps([{"id": 3, "body": "x"}, {"id": 7, "body": environment.get("KNOWN", "")}]), **environment,
    }  # fmt: skip
    return job, shell("sh", "\n".join(job["script"]), tools, **options, **around)


@pytest.mark.parametrize("where", [".", ".becalm-old"])
def test_a_build_that_fails_in_the_template_measures_nothing(tools, where):
    build = f'test "$PWD" != "$(cd {tools}/{where} && pwd)"'
    _, done = run_template(tools, build, CODE="0")
    assert done.returncode != 0
    assert not (tools / "becalm").exists()


@pytest.mark.parametrize("code", [0, 1, 5])
@pytest.mark.parametrize("known", ["", "<!-- becalm check -->\nold"])
def test_the_template_builds_checks_and_comments(tools, code, known):
    job, done = run_template(tools, "echo built >> built", CODE=str(code), KNOWN=known)
    assert done.returncode == code, done.stderr
    assert words(tools, "git") == [["worktree", "add", "--force", ".becalm-old", "abc"]]
    assert (tools / "built").exists()
    assert (tools / ".becalm-old/built").exists()
    assert words(tools, "becalm") == [[
        "check", "--annotate", "gitlab", "--comment", "becalm-comment.md", "--fail-above", "2%", "--budget", "30s",
        "--old-build", ".becalm-old", "--new-build", ".", "--", "{build}/prog a", f"{{build}}/prog {SPOILT}",
    ]]  # fmt: skip
    last = words(tools, "curl")[-1]
    notes = "https://lab/api/v4/projects/9/merge_requests/2/notes"
    assert (last[2], last[-1]) == (("PUT", f"{notes}/7") if known else ("POST", notes))
    assert job["allow_failure"] == {"exit_codes": 5}
    assert job["artifacts"]["reports"]["codequality"] == "gl-code-quality-report.json"
