"""Rules of the tree, each shown by a few lines that keep it and a few that do not."""

import ast

import check_tree
import pytest
from check_rust import circles, expand, long_functions, uses
from tests.places import ROOT

LAYERS = {"cli": 0, "report": 1, "wording": 2, "store": 3, "hosts": 3, "nouns": 4}


def messages(problems):
    return [message for _, message in problems]


def named(place, text):
    return messages(check_tree.check_named_modules(place, ast.parse(text), LAYERS))


def test_long_files_are_rejected():
    assert messages(check_tree.check_size("a.py", "x\n" * 501)) == ["file has 501 lines; the limit is 500"]
    assert messages(check_tree.check_size("a.py", "x\n" * 500)) == []


@pytest.mark.parametrize("name", ["python/becalm/utils.py", "crates/core/src/helpers/mod.rs"])
def test_vague_names_are_rejected(name):
    (message,) = messages(check_tree.check_size(name, ""))
    assert "does not tell what is in the file" in message


def test_long_functions_are_rejected_and_their_docstring_is_not_counted():
    lines = "    x = 1\n" * 90
    assert messages(check_tree.check_functions(ast.parse(f'def f():\n    """A\n    B."""\n{lines}'))) == []
    tree = ast.parse(f"def f():\n{lines}    x = 2\n")
    assert list(check_tree.check_functions(tree)) == [(1, "f has 91 lines; the limit is 90")]


@pytest.mark.parametrize(
    ("place", "text", "folders"),
    [
        ("nouns/run.py", "import sqlite3", "store"),
        ("hosts/agent.py", "def late():\n    from psycopg.rows import x", "store"),
        ("verbs/compare.py", "from rich.table import Table", "report and cli"),
        ("errors.py", "import click", "report and cli"),
    ],
)
def test_libraries_outside_of_their_folder_are_rejected(place, text, folders):
    (message,) = messages(check_tree.check_libraries(place, ast.parse(text)))
    assert message.startswith(f"only {folders} may import")


@pytest.mark.parametrize("place", ["store/sqlite.py", "report/terminal.py", "cli/main.py"])
def test_libraries_in_their_folder_are_accepted(place):
    text = "import sqlite3" if place.startswith("store") else "import click, rich.table"
    assert messages(check_tree.check_libraries(place, ast.parse(text))) == []


@pytest.mark.parametrize("line", ["print(1)", "sys.stdout.write('x')", "x = sys.stderr", "from sys import stderr"])
def test_printing_outside_of_the_command_line_is_rejected(line):
    assert len(messages(check_tree.check_printing("verbs/run.py", ast.parse(line)))) == 1
    assert messages(check_tree.check_printing("cli/run.py", ast.parse(line))) == []
    assert messages(check_tree.check_printing("report/terminal.py", ast.parse(line))) == []


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("nouns/run.py", "load('becalm.report.forms')"),
        ("nouns/run.py", "TABLE = {'a': 'becalm.report.forms:draw'}"),
        ("wording/study.py", "import_module(f'becalm.report.{name}')"),
        ("store/sqlite.py", "NAME = 'becalm.hosts.table'"),
    ],
)
def test_a_module_named_in_a_string_of_a_lower_layer_is_rejected(place, text):
    (message,) = named(place, text)
    assert "is an import of" in message


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("report/forms.py", "import_module(f'becalm.report.{name}')"),
        ("cli/main.py", "import_module('becalm.nouns.run')"),
        ("__init__.py", "TABLE = {'becalm.cli.main': 'main'}"),
        ("nouns/run.py", "'becalm.db', 'becalm.report is above', f'becalm.{name}'"),
    ],
)
def test_other_strings_are_accepted(place, text):
    assert named(place, text) == []


def test_the_layers_are_those_of_import_linter():
    layers = check_tree.read_layers((ROOT / "pyproject.toml").read_text())
    assert layers["cli"] < layers["report"] < layers["nouns"]
    assert layers["store"] == layers["hosts"]


def test_a_unit_test_has_the_name_of_its_module():
    modules = ["stats/paired.py", "hosts/guest/qemu.py", "hosts/__init__.py"]
    good = ["stats/test_paired.py", "stats/test_paired_ties.py", "hosts/test_guest.py", "hosts/guest/test_qemu.py"]
    free = ["test_documents.py", "tools/test_rows.py", "stats/test_stats.py"]
    assert list(check_tree.check_test_places([*good, *free], modules)) == []
    assert len(list(check_tree.check_test_places(["stats/test_pairs.py", "nowhere/test_x.py"], modules))) == 2


CRATE = {
    (): "pub mod a;\npub mod b;\npub mod c;\npub use c::inner::Deep;\n",
    ("a",): """use crate::b::{self, Bee};
// use crate::c::None
const TEXT: &str = "crate::c";
""",
    ("b",): "pub struct Bee;\nimpl Bee {\n    fn of(&self) { let _ = crate::a::wide(); }\n}\n",
    ("c",): "use super::a;\n#[cfg(test)]\nmod tests {\n    use crate::b;\n    fn x() {\n    }\n}\nuse crate::Deep;\n",
    ("c", "inner"): "pub struct Deep;\n",
}


def test_rust_modules_use_what_their_paths_name():
    assert uses(CRATE) == {
        (): set(),
        ("a",): {("b",)},
        ("b",): {("a",)},
        ("c",): {("a",), ("c", "inner")},
        ("c", "inner"): set(),
    }


def test_use_declarations_are_expanded():
    paths = expand("crate::a::{self, b::{C, d as e},\n f}")
    assert paths == [("crate", "a", "self"), ("crate", "a", "b", "C"), ("crate", "a", "b", "d"), ("crate", "a", "f")]


def test_a_circle_among_rust_modules_is_rejected(tmp_path):
    for name, text in CRATE.items():
        path = tmp_path.joinpath("src", *name).with_suffix(".rs") if name else tmp_path / "src/lib.rs"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    messages = list(circles(tmp_path))
    assert [message.partition(": ")[2][:7] for message in messages] == ["modules", "folders"]
    assert "a -> b -> a" in messages[0] or "b -> a -> b" in messages[0]
    (tmp_path / "src/b.rs").write_text("pub struct Bee;\n")
    assert list(circles(tmp_path)) == []


def test_long_rust_functions_outside_of_tests_are_rejected():
    body = "    let x: [u8; 3] = [0; 3];\n" * 5
    text = f"trait T {{\n    fn none(&self);\n}}\n\npub(crate) fn long(x: [u8; 3]) -> u8 {{\n{body}}}\n"
    assert list(long_functions(text, 6)) == [(5, "long has 7 lines; the limit is 6")]
    assert list(long_functions(text, 7)) == []
    assert list(long_functions(f"#[cfg(test)]\nmod tests {{\n    fn long() {{\n{body}    }}\n}}\n", 3)) == []
