"""The house rules that a machine can check."""

import ast
import re

import pytest
from tests.places import ROOT

import becalm.errors
from becalm._version import VERSION
from becalm.nouns.verdict import UNDECIDED_CODE

PYTHON = sorted((ROOT / "python/becalm").rglob("*.py"))
SOURCES = PYTHON + sorted((ROOT / "crates").rglob("*.rs")) + sorted((ROOT / "bench").glob("*.py"))
LONGEST = 500
DATA_TABLES = {"crates/becalm-core/src/load/table.rs"}
"""Files that are tables of data, which may be longer."""


def imported(path):
    """Names of the becalm modules that a file imports anywhere in it, but not only for type checking."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{each.name}" for each in node.names}
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
    return found


def test_only_the_store_knows_sql_and_only_report_and_cli_the_terminal():
    for path in PYTHON:
        names = imported(path)
        home = path.relative_to(ROOT / "python/becalm").parts[0]
        if home != "store":
            assert not any(name.split(".")[0] in ("sqlite3", "psycopg") for name in names), path
        if home not in ("report", "cli"):
            assert not any(name.split(".")[0] in ("rich", "click") for name in names), path


PRINT = {"report/terminal.py", "report/program_output.py", "__main__.py"}
"""What prints besides the command line; its entry writes out what waits in both streams at the end."""


def prints(node):
    """Whether a node calls print, or takes one of the standard streams."""
    if isinstance(node, ast.Attribute):
        return node.attr in {"stdout", "stderr", "__stdout__", "__stderr__"} and ast.unparse(node.value) == "sys"
    if isinstance(node, ast.ImportFrom):
        return node.module == "sys" and any(each.name in {"stdout", "stderr"} for each in node.names)
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "print"


def test_only_the_command_line_prints():
    for path in PYTHON:
        place = path.relative_to(ROOT / "python/becalm")
        if place.parts[0] != "cli" and place.as_posix() not in PRINT:
            assert not any(map(prints, ast.walk(ast.parse(path.read_text())))), place


@pytest.mark.parametrize("line", ["print(1)", "sys.stdout.write('x')", "x = sys.stderr", "from sys import stderr"])
def test_what_counts_as_printing(line):
    assert any(map(prints, ast.walk(ast.parse(line))))


def test_no_file_is_two_files():
    for path in SOURCES:
        if str(path.relative_to(ROOT)) not in DATA_TABLES:
            assert len(path.read_text().splitlines()) <= LONGEST, path.relative_to(ROOT)


def test_nothing_is_called_by_a_name_that_says_nothing():
    for path in SOURCES:
        assert not set(path.with_suffix("").parts) & {"common", "util", "utils", "helper", "helpers", "manager"}, path


def test_every_public_function_and_class_says_what_it_is():
    for path in PYTHON:
        tree = ast.parse(path.read_text())
        assert ast.get_docstring(tree) or not tree.body, f"{path.relative_to(ROOT)} has no docstring"
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                if [each for each in node.decorator_list if isinstance(each, ast.Name) and each.id == "overload"]:
                    continue
                assert ast.get_docstring(node), f"{path.relative_to(ROOT)}: {node.name}"


def test_versions_agree():
    assert re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1] == VERSION
    assert VERSION in (ROOT / "CHANGELOG.md").read_text()


def test_make_targets_of_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_files_that_documents_name_exist():
    for document in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / link).exists(), f"{document.name} links to {link}"


def test_exit_codes_are_documented():
    text = (ROOT / "docs/reference/exit-codes.md").read_text()
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    errors = [getattr(becalm.errors, name) for name in dir(becalm.errors) if name.endswith("Error")]
    assert {error.exit_code for error in errors} | {0, 1, UNDECIDED_CODE, 130} == documented


def test_columns_and_outcomes_are_documented():
    from becalm.hosts.agent import PROTOCOL
    from becalm.nouns.run import COLUMNS, Outcome
    from becalm.nouns.tables import run_columns

    text = (ROOT / "docs/reference/protocol.md").read_text()
    assert text.startswith(f"# The agent's protocol, version {PROTOCOL}\n")
    assert f'"protocol":{PROTOCOL},' in text
    # The table of the page is written from these.
    assert "(columns.md)" in text
    meanings = {column.name: column.meaning for column in run_columns()}
    assert tuple(meanings) == COLUMNS
    assert set(Outcome) <= set(re.findall(r"[a-z]+", meanings["outcome"]))


def chapter(title):
    """One chapter of docs/reference/json.md."""
    text = (ROOT / "docs/reference/json.md").read_text()
    assert f"\n## {title}" in text
    return text.split(f"\n## {title}")[1].split("\n## ")[0]


def test_fields_of_the_json_are_documented():
    import dataclasses

    from becalm.nouns.excluded import Excluded
    from becalm.nouns.tune_verdict import AblationEffect, Arm, ArmComparison, Transfer, Trial, TuneVerdict
    from becalm.nouns.verdict import Difference, Summary, Verdict

    verdict = chapter("A verdict")
    for kind in (Verdict, Difference, Summary):
        for each in dataclasses.fields(kind):
            assert f"`{each.name}`" in verdict, f"{kind.__name__}.{each.name}"
    tuned = chapter("A tune study")
    for kind in (TuneVerdict, Trial, Arm, ArmComparison, AblationEffect):
        for each in dataclasses.fields(kind):
            assert f"`{each.name}`" in tuned, f"{kind.__name__}.{each.name}"
    for kind in (Transfer, Excluded):
        assert f"`{{{', '.join(each.name for each in dataclasses.fields(kind))}}}`" in tuned, kind.__name__


def test_fields_of_the_json_of_several_hosts_are_documented():
    import dataclasses

    from becalm.nouns.multi_host import MultiHostVerdict, PooledDifference, PooledMetric, PooledTime
    from becalm.nouns.survey import Outlier, PeerGroup, Row, SurveyResult

    for title, kinds in (("Several hosts", (MultiHostVerdict, PooledDifference)), ("A survey", (SurveyResult,))):
        for kind in kinds:
            for each in dataclasses.fields(kind):
                assert f"`{each.name}`" in chapter(title), f"{kind.__name__}.{each.name}"
    for title, kind in (
        ("Several hosts", PooledTime),
        ("Several hosts", PooledMetric),
        ("A survey", Outlier),
        ("A survey", Row),
        ("A survey", PeerGroup),
    ):
        assert f"`{{{', '.join(each.name for each in dataclasses.fields(kind))}}}`" in chapter(title), kind.__name__


def test_fields_of_the_json_of_watching_are_documented():
    import dataclasses

    from becalm.load.delay import Delay
    from becalm.load.live import Consumer, Followed, Instant
    from becalm.load.run_report import Course, Watched
    from becalm.load.waterfall import Bar, Waterfall

    run, interval = chapter("One watched run"), chapter("One interval")
    for text, kind in ((run, Watched), (run, Waterfall), (interval, Instant)):
        for each in dataclasses.fields(kind):
            assert f"`{each.name}`" in text, f"{kind.__name__}.{each.name}"
    for text, kind in ((run, Delay), (run, Bar), (run, Course), (run, Consumer), (interval, Followed)):
        assert f"`{{{', '.join(each.name for each in dataclasses.fields(kind))}}}`" in text, kind.__name__


def test_fields_of_the_json_of_an_explanation_are_documented():
    import dataclasses

    from becalm.load.attribution import Answer, Attribution, Share
    from becalm.load.delay import Delay
    from becalm.load.explanation import Bottleneck, Case, Explanation, Point
    from becalm.load.waterfall import Bar
    from becalm.stats.response_shape import Shape

    text = chapter("An explanation")
    for kind in (Explanation, Case, Point, Attribution):
        for each in dataclasses.fields(kind):
            assert f"`{each.name}`" in text, f"{kind.__name__}.{each.name}"
    for kind in (Bottleneck, Bar, Delay, Share, Shape):
        assert f"`{{{', '.join(each.name for each in dataclasses.fields(kind))}}}`" in text, kind.__name__
    for answer in Answer:
        assert f"`{answer}`" in text


def test_fields_of_the_json_of_designs_are_documented():
    import dataclasses

    from becalm.nouns import design_fit
    from becalm.nouns.design import Design, DesignRun
    from becalm.nouns.factor import Factor
    from becalm.nouns.goal import Goal

    planned, fitted = chapter("A design"), chapter("A filled design")
    wholes = {design_fit.DesignFit, design_fit.ResponseFit}
    for text, kind in ((planned, Design), *((fitted, kind) for kind in wholes)):
        for each in dataclasses.fields(kind):
            assert f"`{each.name}`" in text, f"{kind.__name__}.{each.name}"
    rest = {kind for kind in vars(design_fit).values() if dataclasses.is_dataclass(kind)}
    own = {kind for kind in rest if kind.__module__ == design_fit.__name__} - wholes
    for text, kind in ((planned, DesignRun), (planned, Factor), (fitted, Goal), *((fitted, kind) for kind in own)):
        assert f"`{{{', '.join(each.name for each in dataclasses.fields(kind))}}}`" in text, kind.__name__


def test_fields_of_the_json_of_settings_are_documented():
    import dataclasses

    from becalm.nouns import settings_change
    from becalm.nouns.excluded import Excluded
    from becalm.nouns.knob import Knob

    wholes = {
        "The catalogue": Knob,
        "Putting on": settings_change.ApplyResult,
        "Taking off": settings_change.Reset,
        "What is on": settings_change.Status,
    }
    for title, kind in (*wholes.items(), ("What is on", settings_change.BootEntry)):
        for each in dataclasses.fields(kind):
            assert f"`{each.name}`" in chapter(title), f"{kind.__name__}.{each.name}"
    lists = [
        ("Putting on", settings_change.Change),
        ("Putting on", Excluded),
        ("Putting on", settings_change.BootApplied),
        ("Taking off", settings_change.RestoredPlace),
        ("What is on", settings_change.Held),
        ("What is on", settings_change.BootFile),
        ("What is on", settings_change.LeftGroup),
    ]
    for title, kind in lists:
        assert f"`{{{', '.join(each.name for each in dataclasses.fields(kind))}}}`" in chapter(title), kind.__name__
    seen = {settings_change.BootEntry, *wholes.values(), *(kind for _, kind in lists)}
    assert {each for each in vars(settings_change).values() if dataclasses.is_dataclass(each)} <= seen


def test_a_test_stands_where_the_name_of_its_module_says():
    """tests/unit/a/test_b.py is of becalm/a/b.py, test_b_more.py of an aspect of it, test_a.py of the folder itself."""
    unit = ROOT / "tests/unit"
    for path in sorted(unit.rglob("test_*.py")):
        folder = path.parent.relative_to(unit)
        if not folder.parts or folder.parts[0] == "tools":
            continue
        home = ROOT / "python/becalm" / folder
        modules = {each.stem for each in home.glob("*.py")} | {each.name for each in home.iterdir() if each.is_dir()}
        named = path.stem.removeprefix("test_")
        known = modules | {folder.name}
        assert any(named == each or named.startswith(f"{each}_") for each in known), path.relative_to(ROOT)
