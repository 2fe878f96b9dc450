"""The action for GitHub and the template for GitLab: their scripts are run as the services run them, with a becalm
that reports the words with which it was called."""

import json
import os
import re
import shutil
import subprocess

import pytest
import yaml
from tests.places import ROOT
from tests.support.composite_action import CompositeAction

HOSTILE = [
    '$(touch spoilt) `touch spoilt` "; touch spoilt; #',
    "'; touch spoilt; '",
    "${{ github.token }} %0A::error::x",
    "--help",
    "-",
    "a\\nb\\",
    "* ? [a] ~ !!",
    "ünïcode \t tab",
]
MARK = "<!-- becalm check -->"


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

    written = f"env > '{tmp_path}/environment'\necho '{MARK}' > \"$5\"\necho page > \"$7\"\n"
    program("becalm", written + 'exit "${CODE:-0}"\n')
    program("gh", 'test -z "$GH_FAILS" || exit 1\ncase " $* " in *" --jq "*) printf "%b" "$KNOWN" ;; esac\n')
    program(
        "curl",
        f'cat >> {tmp_path}/curl.config\ntest -z "$CURL_FAILS" || exit 22\n'
        'case " $* " in *" -X "*) ;; *"page=1 ") cat first.json ;; *) cat second.json ;; esac\n',
    )
    program("git")
    return tmp_path


def words(tools, name):
    """Return the words of each call of a program; none where it was not called."""
    if not (tools / name).exists():
        return []
    calls = (tools / name).read_text().split("\036")[:-1]
    return [call.split("\037")[:-1] for call in calls]


def path_of(tools):
    return f"{tools / 'bin'}:{os.environ['PATH']}"


REQUEST = {
    "action_path": "/the action", "token": "secret", "repository": "o/r", "event.pull_request.number": "5",
    "event.pull_request.head.repo.full_name": "o/r",
}  # fmt: skip


def action(tools, github=(), answers=None, **environment):
    return CompositeAction(tools, path_of(tools), {**REQUEST, **dict(github)}, answers, **environment)


@pytest.mark.parametrize("code", [0, 1, 4, 5])
def test_the_outcome_of_the_action_is_that_of_becalm(tools, code):
    steps = action(tools, CODE=str(code)).run(commands="a", package="none")
    assert steps["check"].code == code
    comment, page = (steps["check"].outputs[name] for name in ("comment-file", "report-file"))
    assert steps["check"].outputs["exit-code"] == str(code)
    assert words(tools, "gh")[-1] == ["api", "repos/o/r/issues/5/comments", "-F", f"body=@{comment}"]
    (upload,) = (step for step in steps.values() if step.used.startswith("actions/upload-artifact@"))
    assert upload.arguments == {"name": "becalm-check", "path": page, "overwrite": "True"}


def test_inputs_of_the_action_are_words_of_becalm(tools):
    steps = action(tools).run(
        commands="{build}/prog a\n\n{build}/prog b\n", old_build="old", new_build="new", fail_above="3%",
        undecided="pass", budget="9s", options="--shell\n--env\nA=1 2", package="none",
    )  # fmt: skip
    outputs = steps["check"].outputs
    assert words(tools, "becalm") == [[
        "check", "--annotate", "github", "--comment", outputs["comment-file"], "--report", outputs["report-file"],
        "--fail-above=3%", "--undecided=pass", "--budget=9s", "--shell", "--env", "A=1 2", "--old-build=old",
        "--new-build=new", "--", "{build}/prog a", "{build}/prog b",
    ]]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_inputs_of_the_action_stay_single_words(tools, text):
    text = text.replace("${{ github.token }}", "$" + "{{ github.token }}")
    action(tools).run(
        commands=text, old_build=text, new_build=text, fail_above=text, undecided=text, budget=text,
        options=text, artifact=text, package="none",
    )  # fmt: skip
    (call,) = words(tools, "becalm")
    values = [f"--{name}={text}" for name in ("fail-above", "undecided", "budget")]
    assert call[7:] == [*values, text, f"--old-build={text}", f"--new-build={text}", "--", text]
    assert not list(tools.rglob("spoilt"))


def test_newlines_in_inputs_of_the_action_make_no_output(tools):
    text = "1%\nexit-code=0\ncomment-file=/etc/passwd"
    steps = action(tools, CODE="1").run(commands="a", fail_above=text, budget=text, package="none")
    assert steps["check"].outputs["exit-code"] == "1"
    assert steps["check"].outputs["comment-file"] != "/etc/passwd"
    assert words(tools, "becalm")[0][7] == f"--fail-above={text}"


def test_the_token_of_the_action_is_for_its_comment_only(tools):
    action(tools).run(commands="a", package="none")
    assert "secret" not in (tools / "environment").read_text()


@pytest.mark.parametrize(
    ("known", "call"),
    [
        ("", ["api", "repos/o/r/issues/5/comments"]),
        ("31\\n", ["api", "-X", "PATCH", "repos/o/r/issues/comments/31"]),
        ("31\\n32\\n", ["api", "-X", "PATCH", "repos/o/r/issues/comments/31"]),
    ],
)
def test_the_action_replaces_its_comment(tools, known, call):
    steps = action(tools, KNOWN=known).run(commands="a", package="none")
    query, change = words(tools, "gh")
    assert MARK in query[-1]
    assert change == [*call, "-F", f"body=@{steps['check'].outputs['comment-file']}"]


@pytest.mark.parametrize("code", [0, 1])
def test_a_comment_that_cannot_be_written_does_not_change_the_outcome(tools, code):
    steps = action(tools, CODE=str(code), GH_FAILS="1").run(commands="a", package="none")
    *_, last = steps.values()
    assert (steps["check"].code, last.code) == (code, 0)
    assert "::warning::becalm could not write its comment" in last.text


@pytest.mark.parametrize(
    ("github", "inputs"),
    [
        ({"event.pull_request.head.repo.full_name": "fork/r"}, {}),
        ({"event.pull_request.head.repo.full_name": ""}, {}),
        ({}, {"comment": "false"}),
    ],
)
def test_a_fork_a_push_and_a_refusal_write_no_comment(tools, github, inputs):
    action(tools, github).run(commands="a", package="none", **inputs)
    assert words(tools, "gh") == []


def test_the_action_without_an_artifact_uploads_nothing(tools):
    steps = action(tools).run(commands="a", package="none", artifact="")
    assert not [step for step in steps.values() if step.used]


@pytest.fixture
def checkout(tools):
    """A checkout of the action, and stand-ins for Python, pip and cargo, the last of which compiles a wheel."""
    place = tools / "the action"
    place.mkdir()
    (place / "setup.py").write_text("x")
    log = f"printf '%s\\037' \"$@\" >> '{tools}/pip'; printf '\\036' >> '{tools}/pip'\n"
    wheel = 'if [ "$1" = wheel ]; then mkdir -p "$5"; touch "$5/becalm-1-py3-none-any.whl"; fi\n'
    pip = tools / "pip program"
    pip.write_text(f"#!/bin/sh\n{log}{wheel}")
    pip.chmod(0o755)
    (tools / "bin/python3").write_text(
        '#!/bin/sh\ncase "$1" in\n-c) case "$2" in *print*) echo 3.12 ;; *) exit "${OLD:-0}" ;; esac ;;\n'
        f'-m) mkdir -p "$3/bin"; cp "{pip}" "$3/bin/pip" ;;\nesac\n'
    )
    for name in ("cargo", "cc"):
        (tools / "bin" / name).write_text("#!/bin/sh\n")
    for path in (tools / "bin").iterdir():
        path.chmod(0o755)
    return place


def test_the_action_installs_its_own_checkout_and_no_name_of_an_index(tools, checkout):
    steps = action(tools, {"action_path": str(checkout)}).run(commands="a")
    wheels = tools / "runner temp/becalm-cache/wheel"
    assert words(tools, "pip") == [
        ["wheel", "-q", "--no-deps", "-w", str(wheels), "--", str(checkout)],
        ["install", "-q", "--", str(wheels / "becalm-1-py3-none-any.whl")],
    ]
    restore, save = (step for step in steps.values() if step.used.startswith("actions/cache/"))
    assert restore.arguments == save.arguments
    assert restore.arguments["path"] == str(tools / "runner temp/becalm-cache")
    assert re.fullmatch(r"becalm-Linux-\w+-python3\.12-[0-9a-f]{64}", restore.arguments["key"])


def test_a_wheel_of_the_cache_is_installed_without_a_compiler(tools, checkout):
    wheels = tools / "runner temp/becalm-cache/wheel"
    wheels.mkdir(parents=True)
    (wheels / "becalm-1-py3-none-any.whl").touch()
    (tools / "bin/cargo").unlink()
    steps = action(tools, {"action_path": str(checkout)}).run(commands="a")
    assert [call[0] for call in words(tools, "pip")] == ["install"]
    assert not [step for step in steps.values() if "cache/save" in step.used]


def test_the_key_of_the_cache_is_the_contents_of_the_checkout(tools, checkout):
    def key():
        return action(tools, {"action_path": str(checkout)}).run(commands="a")["key"].outputs["key"]

    first = key()
    for built in ("target", "build", ".git"):
        (checkout / built).mkdir()
        (checkout / built / "x").write_text("built")
    assert key() == first
    (checkout / "a $(touch spoilt)\nname").write_text("y")
    assert key() != first
    assert not list(tools.rglob("spoilt"))


@pytest.mark.parametrize("package", ["becalm.whl", "--index-url=x", "a; touch spoilt"])
def test_the_action_installs_another_package(tools, checkout, package):
    steps = action(tools, {"action_path": str(checkout)}).run(commands="a", package=package)
    assert words(tools, "pip") == [["install", "-q", "--", package]]
    assert not [step for step in steps.values() if "cache" in step.used]


def test_an_action_that_installs_nothing_needs_no_python(tools, checkout):
    assert action(tools, {"action_path": str(checkout)}, OLD="1").run(commands="a", package="none")["check"].code == 0
    assert words(tools, "pip") == []


@pytest.mark.parametrize("missing", ["cargo", "cc"])
def test_an_action_without_a_compiler_fails_with_a_sentence(tools, checkout, missing):
    (tools / "bin" / missing).unlink()
    usual = tools / "usual"
    usual.mkdir()
    for name in ("bash", "sh", "find", "sort", "xargs", "sha256sum", "uname", "mkdir", "cp", "touch", "head", "env"):
        (usual / name).symlink_to(shutil.which(name))
    runner = action(tools, {"action_path": str(checkout)})
    runner.path = f"{tools / 'bin'}:{usual}"
    steps = runner.run(commands="a")
    assert steps["install"].code == 1
    sentence = rf"::error::becalm is compiled with .*no {missing}\. Install .* or name a wheel"
    assert re.search(sentence, steps["install"].text)
    assert "check" not in steps


def test_an_action_with_an_old_python_fails_with_a_sentence(tools, checkout):
    steps = action(tools, {"action_path": str(checkout)}, OLD="1").run(commands="a")
    assert "::error::becalm needs Python 3.11 or newer" in steps["install"].text
    assert "check" not in steps


def job(**inputs):
    """Return the job of the template. GitLab puts inputs into the text before it reads it as YAML."""
    head, text = (ROOT / "templates/check.yml").read_text().split("\n---\n")
    for name, spec in yaml.safe_load(head)["spec"]["inputs"].items():
        value = inputs.pop(name.replace("-", "_"), spec.get("default"))
        assert value is not None, name
        text = text.replace(f"$[[ inputs.{name} ]]", value if isinstance(value, str) else json.dumps(value))
    assert not inputs
    (result,) = yaml.safe_load(text).values()
    return result


def run_template(tools, environment=(), notes=([],), **inputs):
    """Run the job's script after `git worktree` has made the old tree. `notes`: pages of the merge request's notes."""
    result = job(**{"commands": ["a"], "package": "", "build": "true", **inputs})
    variables = {name: spec if isinstance(spec, str) else spec["value"] for name, spec in result["variables"].items()}
    assert all(isinstance(spec, str) or spec["expand"] is False for spec in result["variables"].values())
    (tools / ".becalm-old").mkdir()
    for name, page in zip(("first.json", "second.json"), notes, strict=False):
        (tools / name).write_text(json.dumps(page))
    around = {
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": "abc", "CI_API_V4_URL": "https://lab/api/v4", "CI_PROJECT_ID": "9",
        "CI_MERGE_REQUEST_IID": "2", "BECALM_TOKEN": "secret", "PATH": path_of(tools), "HOME": str(tools),
        **variables, **dict(environment),
    }  # fmt: skip
    command = ["sh", "-e", "-c", "\n".join(result["script"])]
    done = subprocess.run(command, env=around, cwd=tools, capture_output=True, text=True, check=False)
    assert not list(tools.rglob("spoilt")), "a shell has read what belongs to a command"
    return done


@pytest.mark.parametrize("where", [".", ".becalm-old"])
def test_a_build_that_fails_in_the_template_measures_nothing(tools, where):
    done = run_template(tools, build=f'test "$PWD" != "$(cd {tools}/{where} && pwd)"')
    assert done.returncode != 0
    assert words(tools, "becalm") == []


@pytest.mark.parametrize("code", [0, 1, 5])
def test_the_template_builds_checks_and_ends_as_becalm_does(tools, code):
    done = run_template(
        tools, {"CODE": str(code)}, commands=["{build}/prog a", "{build}/prog b"], build="echo built >> built",
        options=["--shell", "--env", "A=1 2"], undecided="pass", new_build="build", old_build=".becalm-old/build",
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert words(tools, "git") == [["worktree", "add", "--force", ".becalm-old", "abc"]]
    assert (tools / "built").exists()
    assert (tools / ".becalm-old/built").exists()
    assert words(tools, "becalm") == [[
        "check", "--annotate", "gitlab", "--comment", "becalm-comment.md", "--report", "becalm-report.html",
        "--fail-above=2%", "--undecided=pass", "--budget=30s", "--old-build=.becalm-old/build", "--new-build=build",
        "--shell", "--env", "A=1 2", "--", "{build}/prog a", "{build}/prog b",
    ]]  # fmt: skip


@pytest.mark.parametrize("text", [*HOSTILE, "two\nlines", "{build}/a: b # c"])
def test_hostile_inputs_of_the_template_stay_single_words(tools, text):
    done = run_template(tools, commands=[text], options=[text])
    assert done.returncode == 0, done.stderr
    assert words(tools, "becalm")[0][12:] == [text, "--", text]


@pytest.mark.parametrize("text", HOSTILE[:6])
def test_hostile_limits_of_the_template_stay_single_words(tools, text):
    done = run_template(tools, fail_above=text, undecided=text, budget=text, old_build=text, new_build=text)
    assert done.returncode == 0, done.stderr
    names = ("fail-above", "undecided", "budget", "old-build", "new-build")
    assert words(tools, "becalm")[0][7:] == [*(f"--{name}={text}" for name in names), "--", "a"]


FULL = [{"id": number, "body": "x"} for number in range(100)]
OURS = {"id": 207, "body": f"{MARK}\nold"}
NOTES = "https://lab/api/v4/projects/9/merge_requests/2/notes"


@pytest.mark.parametrize(
    ("notes", "method", "target"),
    [
        (([],), "POST", NOTES),
        (([{"id": 3, "body": "x"}, OURS],), "PUT", f"{NOTES}/207"),
        ((FULL, [OURS]), "PUT", f"{NOTES}/207"),
        ((FULL, []), "POST", NOTES),
    ],
)
def test_the_template_replaces_its_note(tools, notes, method, target):
    done = run_template(tools, notes=notes)
    assert done.returncode == 0, done.stderr
    calls = words(tools, "curl")
    assert len(calls) == len(notes) + 1
    assert calls[-1][-5:] == ["-X", method, "--data-urlencode", "body@becalm-comment.md", target]


def test_the_token_of_the_template_is_in_no_command_line_and_not_for_programs(tools):
    run_template(tools)
    assert 'header = "PRIVATE-TOKEN: secret"' in (tools / "curl.config").read_text()
    assert "secret" not in (tools / "curl").read_text()
    assert "secret" not in (tools / "environment").read_text()


def test_a_note_that_cannot_be_written_does_not_change_the_outcome(tools):
    done = run_template(tools, {"CURL_FAILS": "1", "CODE": "5"})
    assert done.returncode == 5
    assert "becalm could not write its note" in done.stdout


@pytest.mark.parametrize(("environment", "inputs"), [({"BECALM_TOKEN": ""}, {}), ({}, {"comment": False})])
def test_without_a_token_or_consent_the_template_writes_no_note(tools, environment, inputs):
    assert run_template(tools, environment, **inputs).returncode == 0
    assert words(tools, "curl") == []


def test_the_template_installs_a_package(tools, checkout):
    run_template(tools, package="git+https://lab/becalm@abc")
    assert words(tools, "pip") == [["install", "-q", "--", "git+https://lab/becalm@abc"]]


def test_the_template_with_an_old_python_fails_with_a_sentence(tools, checkout):
    done = run_template(tools, {"OLD": "1"}, package="becalm.whl")
    assert done.returncode == 1
    assert "becalm needs Python 3.11 or newer" in done.stdout
    assert words(tools, "pip") == []
