"""Rules of words, each shown by a few lines that keep it and a few that do not."""

import ast

import check_words
import pytest

CRATE = "crates/a/src/lib.rs"


def rules(text):
    return [rule for _, rule, _ in check_words.check_python(ast.parse(text))]


@pytest.mark.parametrize("word", ["Of", "What", "Whose", "So", "Those", "As", "How", "What,"])
@pytest.mark.parametrize(
    "text", ['"""{} x."""', 'def f():\n    """{} x."""', 'class C:\n    """{} x."""', 'A = 1\n"""{} x."""']
)
def test_docstrings_that_do_not_stand_alone_are_rejected(word, text):
    assert rules(text.format(word)) == ["relative"]


def test_a_function_begins_with_a_verb():
    assert rules('def f():\n    """The mean (ns)."""') == ["verb"]
    assert rules('class C:\n    def f(self):\n        """Whether it is."""') == ["verb"]
    assert rules('async def f():\n    """Return the mean (ns)."""') == []


@pytest.mark.parametrize("line", ["@property", "@functools.cached_property", "@pytest.fixture(scope='module')"])
def test_a_property_or_fixture_begins_with_a_noun(line):
    assert rules(f'class C:\n    {line}\n    def f(self):\n        """The mean (ns)."""') == []
    assert rules(f'class C:\n    {line}\n    def f(self):\n        """Nothing."""') == ["noun"]


def test_a_class_or_constant_begins_with_an_article_or_a_noun():
    assert rules('class C:\n    """Counts of runs."""\n    a: int = 0\n    """`a` of it."""\n') == []
    assert rules('class C:\n    """One of the runs."""\n    a: int = 0\n    """By name."""\n') == ["noun"] * 2


def test_a_test_has_any_sentence_as_its_docstring():
    assert rules('def test_a():\n    """Two runs are enough."""') == []


@pytest.mark.parametrize(
    "text",
    [
        "found = 1",
        "def f(*, given): pass",
        "lambda *asked: 0",
        "for each in x: pass",
        "[thing for thing in x]",
        "with x as made: pass",
        "(a, (told, b)) = x",
        "if said := x: pass",
        "class C:\n    kept: int",
    ],
)
def test_vague_names_are_rejected(text):
    assert rules(text) == ["name"]


def test_other_names_and_uses_are_accepted():
    assert rules("advice = found.one(each)\nf(given=1)") == []


@pytest.mark.parametrize("name", ["test_what_is_told", "test_who_waits", "test_whoever_asks"])
def test_names_of_tests_that_begin_with_a_pronoun_are_rejected(name):
    assert rules(f"def {name}(): pass") == ["test"]
    assert rules("def test_whole_numbers_are_accepted(): pass") == []


def test_only_the_first_line_of_a_rust_comment_is_checked():
    text = "//! How it is.\n//! What it is.\n/// The mean\n/// of times.\nx // Of it\n    /// Of it.\n//// What\n///\n"
    assert list(check_words.check_rust(text)) == [(1, "relative", "How"), (6, "relative", "Of")]


@pytest.fixture
def checkout(tmp_path):
    """The folder of a checkout with a violation."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/a.py").write_text("found = 1\n")
    return tmp_path


def test_every_violation_is_printed(checkout, capsys):
    assert check_words.main([], checkout) == 1
    assert capsys.readouterr().out.startswith("tools/a.py:1: name: 'found' does not tell what the value is")


def test_violations_of_other_paths_are_not_printed(checkout, capsys):
    assert check_words.main(["tools/a"], checkout) == 1
    assert capsys.readouterr().out.count("\n") == 1
    assert check_words.main(["tools/b"], checkout) == 0
    assert capsys.readouterr().out == ""
