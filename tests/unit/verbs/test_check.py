"""A change checked: three outcomes and their codes, comments and annotations in which hostile names stay names."""

import io
import json
import math
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from markdown_it import MarkdownIt
from msgspec.structs import replace
from rich.console import Console
from tests.places import ROOT

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import UsageError
from becalm.report import check_annotations, forms
from becalm.report.check import LONGEST, MARK
from becalm.results.check import Checked, CheckResult, together
from becalm.results.compare import Answer, Difference, Gate
from becalm.wording import check as words

DATA = ROOT / "tests/data/benchmarks"
SIM = {"host": "sim:normal", "seed": 1, "budget": "2s", "store": False}


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch, store):
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "GITLAB_CI", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("new", "limit", "gate", "code"),
    [
        ("spin 20ms", "20%", Gate.WITHIN, 0),
        ("spin 30ms", "5%", Gate.ABOVE, 1),
        ("spin 20ms", "0.01%", Gate.UNDECIDED, 5),
    ],
)
def test_three_outcomes(new, limit, gate, code):
    verdict = becalm.check(["spin 20ms", new], fail_above=limit, **SIM)
    assert (verdict.gate, verdict.exit_code) == (gate, code)
    forms.draw_all(verdict)


def test_undecided_may_pass():
    verdict = becalm.check(["spin 20ms", "spin 20ms"], fail_above="0.01%", undecided="pass", **SIM)
    assert (verdict.gate, verdict.exit_code) == (Gate.UNDECIDED, 0)


def test_the_settings_that_were_on_are_reported_once():
    profile = becalm.Profile("calm", becalm.Settings.of({"swappiness": 10}))
    options = {**SIM, "host": "sim:laptop-a", "profile": profile, "fail_above": "5%"}
    verdict = becalm.check(["spin {build}", "spin  {build}"], old_build="20ms", new_build="30ms", **options)
    assert verdict.basis.count("swappiness=10") == verdict.sentence.count("swappiness=10") == 1
    assert "swappiness" not in becalm.check(["spin 20ms", "spin 30ms"], fail_above="5%", **SIM).sentence


def test_two_builds_of_several_benchmarks_hold_together():
    verdict = becalm.check(
        ["spin {build}", "spin  {build}"], old_build="20ms", new_build="30ms", fail_above="5%", **SIM
    )
    assert [check.gate for check in verdict.checks] == [Gate.ABOVE] * 2
    # Each at 97.5 %, so that both hold at 95 %.
    assert {round(check.difference.confidence, 6) for check in verdict.checks} == {0.975}


def test_builds_that_run_at_the_same_time_are_checked_and_reported():
    options = {**SIM, "budget": "5s", "fail_above": "5%"}
    result = becalm.check(["spin 20ms", "spin 30ms"], schedule="at-once", **options)
    assert result.gate is Gate.ABOVE
    assert "spin 30ms: Measured alongside each other on CPUs 0 and 1" in result.basis
    assert "alongside" not in becalm.check(["spin 20ms", "spin 30ms"], **options).basis


def test_the_reason_for_turns_is_reported_once():
    options = {**SIM, "host": "null", "fail_above": "5%", "schedule": "auto"}
    result = becalm.check(["{build} a", "{build} b"], old_build="old", new_build="new", **options)
    assert result.basis.count("The programs took turns") == 1
    with pytest.raises(UsageError, match="cannot run at the same time"):
        becalm.check(["old", "new"], **{**options, "schedule": "at-once"})


def test_stored_results_have_no_schedule():
    files = [str(DATA / f"pyperf-{number}.json") for number in (1, 2)]
    with pytest.raises(UsageError, match="--schedule is for programs that are measured"):
        becalm.check(files, stored=True, schedule="at-once")


def test_stored_results_are_undecided_until_the_shift_is_known():
    files = [str(DATA / f"pyperf-{number}.json") for number in (1, 2)]
    verdict = becalm.check(files, stored=True, fail_above="95%")
    assert verdict.gate is Gate.UNDECIDED
    assert "these runs" in verdict.sentence
    assert becalm.check(files, stored=True, fail_above="95%", shift="1%").gate is Gate.WITHIN


@pytest.mark.parametrize(
    ("commands", "arguments", "message"),
    [
        (["a"], {}, "old and the new command"),
        (["a", "b"], {"old_build": "x"}, "belong together"),
        (["prog"], {"old_build": "x", "new_build": "y"}, r"has no \{build\}"),
        (["{build}/a", "{build}/a"], {"old_build": "x", "new_build": "y"}, "Two benchmarks are called 'a'"),
        ([], {"old_build": "x", "new_build": "y"}, "Which benchmarks"),
        (["a", "b"], {"shift": "3%"}, "--shift belongs to --stored"),
        (["a", "b"], {"stored": True, "warmup": 3}, "no option 'warmup'"),
        (["a", "b"], {"stored": True, "prepare": "x"}, "--prepare is for programs that are measured"),
        (["a"], {"stored": True}, "--stored takes the old and the new"),
    ],
)
def test_bad_input_is_a_sentence(commands, arguments, message):
    with pytest.raises(UsageError, match=message):
        becalm.check(commands, **arguments)


def test_one_gate_above_its_limit_decides_and_no_gates_are_undecided():
    gates = [Checked("a", gate) for gate in (Gate.WITHIN, Gate.UNDECIDED, Gate.ABOVE)]
    assert together(tuple(gates)) is Gate.ABOVE
    assert together(tuple(gates[:2])) is Gate.UNDECIDED
    assert together(()) is Gate.UNDECIDED


HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "x --> <script>alert(1)</script>",
    "a | b | c",
    "@everyone look at #1 [here](http://evil)",
    "one\n::error file=x::two",
    "%0A::set-env name=PATH::/evil",
    "file=a,line=1::b:c",
    "\x1b[31mred \u202e back",
    "no UTF-8: \udcff",
    "`code` **bold** ~~x~~ </details>",
    "x" * 5000,
)


def difference(name):
    return Difference(name, "old", 0.1, 0.05, 0.15, 0.95, 9, 0.01, 0.001, Answer.SLOWER, 0.01)


def result(names, gate=Gate.ABOVE):
    checks = tuple(Checked(name, gate, difference(name), "1 ms", "2 ms") for name in names)
    return words.worded(CheckResult(checks, 0.02, 0.95, "fail", gate, missing=tuple(names)))


def test_in_a_comment_nothing_of_a_name_is_markup():
    text = forms.as_markdown(result(HOSTILE))
    assert text.startswith(f"{MARK}\n")
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    own = page.replace(MARK, "")
    assert set(re.findall(r"<(/?\w+)", own)) <= {
        label for tag in ("h3", "p", "details", "summary", "table", "thead", "tbody", "tr", "th", "td", "sub", "strong")
        for label in (tag, f"/{tag}")
    }  # fmt: skip
    assert own.count("<tr>") == 1 + len(HOSTILE)
    assert "href" not in own
    # Nobody is called and no issue is linked to.
    assert not re.search(r"@[a-z]", text.replace("@\u200b", ""))
    assert "\x1b" not in text
    text.encode("utf-8")


def test_long_names_are_cut_and_many_are_counted():
    text = forms.as_markdown(result([f"{index} " + "x" * 1000 for index in range(300)]))
    assert "100 more are in the JSON" in text
    cells = [cell for line in text.splitlines() if line.startswith("|") for cell in line.split("|")]
    assert max(map(len, cells)) < LONGEST + 20
    assert len(text) < 65_536


def test_long_names_are_whole_in_a_comment_that_has_room():
    name = "a" * 300 + "/1"
    assert name in forms.as_markdown(result([name]))


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name[:12]))
def test_a_name_begins_no_command_of_its_own(name):
    lines = check_annotations.github(result([name]), "src/a,b.c").splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("::error file=src/a%2Cb.c,line=1,title=becalm%3A ")
    properties, _, text = lines[0][2:].partition("::")
    # As the runner reads it: properties are split at commas, and unescaped afterwards.
    assert [word.partition("=")[0] for word in properties.split(" ", 1)[1].split(",")] == ["file", "line", "title"]
    assert "\x1b" not in text


def test_annotations_are_of_what_is_not_within_and_ten_of_a_kind():
    assert check_annotations.github(result(["a"], Gate.WITHIN)) == ""
    assert check_annotations.github(result(["a"], Gate.UNDECIDED)).startswith("::warning ")
    assert len(check_annotations.github(result([f"b{index}" for index in range(40)])).splitlines()) == 10


def test_the_report_for_gitlab_has_what_its_format_asks_for():
    issues = json.loads(check_annotations.gitlab(result(HOSTILE)))
    assert len({issue["fingerprint"] for issue in issues}) == len(HOSTILE)
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] == "major"
        assert issue["location"]["lines"]["begin"] == 1


def test_the_ci_system_is_recognised_by_its_variable():
    assert check_annotations.service("auto", {"GITHUB_ACTIONS": "true"}) == "github"
    assert check_annotations.service("auto", {"GITLAB_CI": "true"}) == "gitlab"
    assert check_annotations.service("auto", {}) == "none"
    assert check_annotations.service("none", {"GITHUB_ACTIONS": "true"}) == "none"


def invoke(*arguments, **environment):
    return CliRunner().invoke(group, ["check", *arguments], env=environment)


SIMULATED = ("--host", "sim:normal", "--seed", "1", "--budget", "1s", "--fail-above", "5%", "spin 20ms", "spin 30ms")


def test_on_github(tmp_path):
    summary = tmp_path / "summary"
    done = invoke("--json", "--comment", "c.md", *SIMULATED, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary))
    assert done.exit_code == 1
    assert json.loads(done.stdout)["gate"] == "above"
    assert "::error title=becalm%3A spin 30ms::" in done.stderr
    assert summary.read_text() == Path("c.md").read_text()


def test_on_github_no_line_of_the_report_is_a_command():
    stored = Path("old.json"), Path("new.json")
    for factor, path in enumerate(stored, 1):
        runs = [factor * value for value in (1.0, 1.01, 1.02, 1.0)]
        path.write_text(json.dumps({"results": [{"command": "::add-mask::a\n::error::x", "mean": 1.0, "times": runs}]}))
    lines = invoke("--stored", *map(str, stored), GITHUB_ACTIONS="true").stdout.splitlines()
    obeyed = [line for line in lines if line.lstrip().startswith("::")]
    assert len(obeyed) == 1
    assert obeyed[0].startswith("::warning title=becalm%3A ")
    assert any(line.lstrip().startswith(":\\u003aadd-mask::a") for line in lines)


def test_on_gitlab():
    assert invoke(*SIMULATED, GITLAB_CI="true").exit_code == 1
    assert json.loads(Path("gl-code-quality-report.json").read_text())[0]["check_name"] == "becalm"


def test_places_that_cannot_be_written_are_refused_before_anything_is_measured():
    done = invoke("--comment", "nowhere/c.md", *SIMULATED)
    assert "There is no directory nowhere" in str(done.exception)
    assert "--annotations" in str(invoke("--annotations", "x.json", *SIMULATED).exception)


def test_the_files_of_the_guide_are_yaml_and_run_no_text_of_others():
    text = (ROOT / "docs/how-to/check.md").read_text()
    blocks = re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        assert isinstance(yaml.safe_load(block), dict)
        # Titles, branches and names of a proposed change are text of strangers: a shell must not read them.
        for line in block.splitlines():
            assert not re.search(
                r"\$\{\{\s*github\.(event\.(pull_request\.(title|body|head\.ref)|issue)|head_ref)", line
            )


def test_a_source_of_two_builds_is_compared_benchmark_by_benchmark(tmp_path):
    for build, time, other in (("old", 20, "gone"), ("new", 30, "added")):
        (tmp_path / build).mkdir()
        rows = [("same", 20), ("slower", time), (other, 20)]
        text = "".join(f'[[program]]\nname = "{name}"\ncommand = "spin {ms}ms"\n' for name, ms in rows)
        (tmp_path / build / "programs.toml").write_text(text)
    options = {"old_build": "old", "new_build": "new", "fail_above": "5%", **SIM}
    verdict = becalm.check(["suite:{build}/programs.toml"], **options)
    assert [(check.name, check.gate) for check in verdict.checks] == [("same", Gate.WITHIN), ("slower", Gate.ABOVE)]
    assert verdict.missing == ("gone (gone)", "added (new)")
    (tmp_path / "new/programs.toml").write_text('[[program]]\nname = "other"\ncommand = "spin 1ms"\n')
    with pytest.raises(UsageError, match="no benchmark in common"):
        becalm.check(["suite:{build}/programs.toml"], **options)
    with pytest.raises(UsageError, match="Two benchmarks are called 'same'"):
        becalm.check(["suite:{build}/programs.toml", "suite:{build}//programs.toml"], **{**options, "new_build": "old"})


UNBOUNDED = ((1e40, 1e3, 1e50), (0.1, -1.0, math.inf), (1e40, -1e40, 1e45), (math.nan, -math.inf, math.inf))


@pytest.mark.parametrize("ends", UNBOUNDED)
@pytest.mark.parametrize("columns", [80, 72])
def test_change_and_outcome_stay_in_the_table_whatever_the_intervals(ends, columns):
    names = [f"a rather long name of a benchmark in some package, number {number}" for number in range(3)]
    changes = [replace(difference(name), estimate=ends[0], low=ends[1], high=ends[2]) for name in names]
    checks = tuple(Checked(change.name, Gate.ABOVE, change, "1 ms", "2 ms") for change in changes)
    lines = words.worded(CheckResult(checks, 0.02, 0.95, "fail", Gate.ABOVE))
    out = io.StringIO()
    console = Console(file=out, width=columns, force_terminal=False, color_system=None)
    console.print(forms.on_terminal(lines, plain=True, columns=columns))
    head, *rows = out.getvalue().split("\n\n")[1].splitlines()[:4]
    assert "difference" in head
    assert head.rstrip().endswith("outcome")
    assert len(rows) == 3
    for number, row in enumerate(rows):
        assert row.rstrip().endswith("above")
        assert f"number {number}" in row
        assert "%" in row
        assert len(row) <= columns
    assert not re.search(r"\d{13}", out.getvalue())
