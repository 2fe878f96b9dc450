"""The figures of a tree, counted in a small one whose figures are known."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[3] / "tools/house.py"

TREE = r'''
=== python/becalm/__init__.py
"""Root."""
from becalm.upper import entry
=== python/becalm/units.py
"""Units."""
=== python/becalm/loose.py
"""Loose."""
from becalm import units
=== python/becalm/upper/__init__.py
"""Upper."""


def entry(a, b, *rest, c=1, **options):
    """Doc
    string."""
    return a
=== python/becalm/upper/first.py
from becalm.upper import second
from becalm.lower.base import Base
=== python/becalm/upper/second.py
def late():
    from becalm.upper import first
    return first
=== python/becalm/lower/__init__.py
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from becalm.lower.base import Base as Base
=== python/becalm/lower/base.py
import becalm.lower
from typing import TYPE_CHECKING, Any
if TYPE_CHECKING:
    from becalm.upper.first import Base2


class Base:
    def method(self, what: dict[str, Any]) -> None:
        x = 1
        y = 2
        z = 3

    def _hidden(self, what: Any) -> None:
        pass
=== crates/core/Cargo.toml
=== crates/core/src/lib.rs
pub mod a;
pub mod b;
pub mod c;
pub mod t;
=== crates/core/src/a.rs
use crate::b::{self, Bee};
// use crate::c::None
pub fn wide<T: Into<String>>(one: &str, two: [u8; 3], (x, y): (u8, u8)) -> T {
    "}";
    '}';
    todo!()
}
=== crates/core/src/b.rs
pub struct Bee;
impl Bee {
    fn of(&self, n: u8) { let _ = crate::a::wide("", [0; 3], (0, 0)); }
}
=== crates/core/src/c.rs
use super::a;
#[cfg(test)]
mod tests {
    use crate::t;
    fn long() {







    }
}
=== crates/core/src/t.rs
pub fn x() { crate::c::y() }
=== tests/test_base.py
def test_it():
    pass


def test_more():
    pass
'''


@pytest.fixture
def tree(tmp_path):
    for each in TREE.split("=== ")[1:]:
        name, _, text = each.partition("\n")
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def told(*arguments):
    return subprocess.run([sys.executable, TOOL, *map(str, arguments)], capture_output=True, text=True, check=False)


def test_figures_of_a_known_tree(tree):
    lines = told(tree).stdout.splitlines()
    rows = dict(line.strip("| ").split(" | ")[:2] for line in lines[2:])
    expected = {
        "Python: folders": "3",
        "Python: files": "8",
        "Python: functions": "4",
        "Python: longest function": "4 (lower/base.py:Base.method)",
        "Python: widest signature": "5 (upper/__init__.py:entry)",
        "Python: public functions with **keywords": "1",
        "Python: public functions with Any": "1",
        "Python: modules loose at the root": "1",
        "Python: cycles of imports at the top": "0",
        "Python: … with imports in functions": "1",
        "Python: … with those for type checkers": "1",
        "Rust: files": "5",
        "Rust: functions": "3",
        "Rust: longest function": "5 (core/src/a.rs:wide)",
        "Rust: widest signature": "3 (core/src/a.rs:wide)",
        "Rust: cycles of modules": "1",
        "tests: functions": "2",
    }
    assert {name: rows[name] for name in expected} == expected


def test_things_are_named(tree):
    text = told("--list", tree).stdout
    assert "becalm.upper.first <-> becalm.upper.second" in text
    assert "becalm.lower.base <-> becalm.upper.first <-> becalm.upper.second" in text, "with those for type checkers"
    assert "core/a <-> core/b\n" in text, "a test's use of a module is none"
    assert "  loose.py\n" in text


def test_check_fails_for_cycles_alone(tree):
    done = told("--check", tree)
    assert done.returncode == 1
    assert "core/a <-> core/b" in done.stderr
    (tree / "crates/core/src/b.rs").write_text("pub struct Bee;\n")
    (tree / "python/becalm/upper/second.py").write_text("")
    (tree / "python/becalm/lower/base.py").write_text("def alone(): ...\n")
    assert told("--check", tree).returncode == 0


def test_two_trees_side_by_side(tree):
    lines = told(tree, TOOL.parents[1]).stdout.splitlines()
    assert all(line.count("|") == 4 for line in lines)


def test_another_directory_is_refused(tmp_path):
    done = told(tmp_path)
    assert done.returncode == 1
    assert "No checkout of becalm" in done.stderr
