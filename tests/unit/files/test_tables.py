"""TOML and JSON that people write: encodings, places of errors, misspelt names."""

from pathlib import Path

import pytest

from becalm.errors import UsageError
from becalm.files.tables import check_keys, json_value, read_toml


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_toml_is_read_in_every_encoding(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.toml").write_bytes('a = "ä"\r\nb = 2'.encode(encoding))
    assert read_toml(tmp_path / "a.toml") == {"a": "ä", "b": 2}


def test_errors_name_the_file_and_the_place(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("a = 1\n\tb = \n")
    with pytest.raises(UsageError, match=r"The suite is not TOML: .*line 2, column"):
        read_toml(file, "The suite")
    file.write_text("a = " + "[" * 5000)
    with pytest.raises(UsageError, match=r"nested too deeply|is not TOML"):
        read_toml(file)
    with pytest.raises(UsageError, match=r"x\.json is not JSON: .*line 2 column 1"):
        json_value("{\n", "x.json")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("comand", "Did you mean 'command'?"),
        ("Name", "Did you mean 'name'?"),
        ("names", "Did you mean 'name'?"),
        ("shell", "Known: command, name."),
    ],
)
def test_unknown_keys_are_refused_with_a_suggestion(name: str, hint: str) -> None:
    with pytest.raises(UsageError) as error:
        check_keys(["name", name], ("command", "name"), "x, program 1")
    assert str(error.value) == f"x, program 1 has an unknown key {name!r}. {hint}"
