"""The errors that `tools/mutants.py` makes: each is another program, and one place of it alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from mutants import main, mutants, named_tests

SOURCE = '''
def tail(values: list[int] | None, most: int = 3) -> float:
    """Not 1 of this text."""
    if not values or len(values) < most:
        return -1.5
    return max(values) - min(values) / 2
'''


def test_each_error_is_one_of_its_own():
    changes = list(mutants(SOURCE))
    assert len({change.text for change in changes}) == len(changes)
    assert {(change.before, change.after) for change in changes} >= {
        ("len(values) < most", "len(values) <= most"),
        ("3", "4"),
        ("1.5", "2.5"),
        ("-1.5", "+1.5"),
        ("min(values) / 2", "min(values) * 2"),
        ("max(values)", "min(values)"),
        ("not values", "not not values"),
        ("not values or len(values) < most", "not values and len(values) < most"),
    }
    assert all("Not 1 of this text" in change.text for change in changes)
    assert len(changes) == 11


def test_an_error_changes_what_is_computed():
    """Every one of them can be seen in some result, so none is a mere change of writing."""
    cases = [None, [], [1], [2, 5, 9], [1, 2, 3, 4], [-7, 0, 1, 3, 3], [1, 5]]

    def answers(text: str) -> list[object]:
        names: dict[str, object] = {}
        exec(compile(text, "mutant", "exec"), names)
        result: list[object] = []
        for case in cases:
            try:
                result.append(names["tail"](case))  # type: ignore[operator]
            except (TypeError, ValueError) as error:
                result.append(type(error))
        return result

    right = answers(SOURCE)
    assert [mutant.after for mutant in mutants(SOURCE) if answers(mutant.text) == right] == []


def test_a_module_has_the_tests_of_its_name_or_its_folder():
    assert named_tests(Path("becalm/stats/paired.py")) == ["tests/unit/stats/test_paired.py"]
    assert named_tests(Path("becalm/stats/huber.py")) == ["tests/unit/stats"]


def test_a_module_that_is_not_there_is_refused_before_anything_is_tried(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["mutants.py", "becalm/stats/paired.py", "becalm/load/nothing.py"])
    monkeypatch.setattr("mutants.tried", lambda *_: pytest.fail("a module was tried"))
    monkeypatch.chdir(Path.cwd())
    with pytest.raises(SystemExit):
        main()
    assert "no module of becalm, as in becalm/stats/paired.py: becalm/load/nothing.py" in capsys.readouterr().err
