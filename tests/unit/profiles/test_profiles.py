"""Profiles: files that people write, share and get wrong."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from becalm import profiles
from becalm.errors import MachineError, UsageError
from becalm.nouns.settings import Settings
from becalm.profiles import SHIPPED, Profile, load, names, parse, text, write
from becalm.wording.printable import one_line


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "becalm" / "profiles"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("nice = [", "not TOML"),
        ("[settings]\nnice = 1\nnice = 2", "not TOML"),
        ("", r"no \[settings\]"),
        ("settings = 3", r"no \[settings\]"),
        ("nice = -20", "unknown key 'nice'. Known: name"),
        ("[settings]\nnice = 1.5", "nice must be a string"),
        ("[settings]\nnice = [1]", "nice must be a string"),
        ("[settings.nice]\nvalue = 1", "nice must be a string"),
        ("[settings]\nwhen = 2024-01-01", "when must be a string"),
        ("machine = 'x'\n[settings]", "machine must be a table"),
        ("name = 3\n[settings]", "name must be a string"),
        ("description = true\n[settings]", "description must be a string"),
    ],
)
def test_errors_in_a_profile_name_the_file(content, says):
    with pytest.raises(UsageError, match=says) as caught:
        parse(content, "/some/file.toml", "file")
    assert "/some/file.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('name = "quiet\\n[Service]\\nExecStartPre=/bin/touch /x"\n[settings]\nswappiness = 1', "name has the control"),
        ('[settings]\nnice = "1\\nExecStartPre=/x"', "nice has the control character"),
        ('[settings]\n"a\\rb" = 1', "a key has"),
        ('description = "\\u001b[2J"\n[settings]', "description has the control"),
        ('[settings]\n[machine]\nhostname = "a\\u2028b"', "hostname has the control"),
        ('[settings]\n[machine]\n"host\\nname" = "a"', "a key has"),
    ],
)
def test_a_text_with_a_line_end_is_refused(content, says):
    with pytest.raises(UsageError, match=f"The profile x: {says}.* Write it on one line") as caught:
        parse(content, "x", "x")
    assert "\n" not in str(caught.value)


def test_a_profile_that_a_program_makes_has_lines_too():
    for name, settings in (
        ("quiet\n[Service]", {}),
        ("\ud800", {}),
        ("quiet", {"nice": "1\nx"}),
        ("quiet", {"a\rb": 1}),
    ):
        with pytest.raises(UsageError, match=r"a string that is not one line: .* has the control character"):
            Profile(name, Settings.of(settings))
    with pytest.raises(UsageError, match="description has the control character"):
        Profile("quiet", Settings(), "a\nb")


def test_a_description_of_several_lines_becomes_one():
    assert parse('description = """one\ntwo"""\n[settings]', "x", "x").description == "one two"


def test_a_profile_has_the_name_of_its_file_unless_it_says_so():
    assert parse("[settings]\nnice = -5", "x", "quiet").name == "quiet"
    assert parse("name = 'mine'\n[settings]", "x", "quiet").name == "mine"


words = st.text(max_size=12).map(one_line)
keys = st.text(max_size=8).map(one_line)
values = words | st.integers(-(2**63), 2**63 - 1) | st.booleans()


@given(words, words, st.dictionaries(keys, values, max_size=4), st.dictionaries(keys, words, max_size=3))
def test_a_written_profile_is_read_back(name, description, settings, machine):
    profile = Profile(name, Settings.of(settings), description, machine)
    read = parse(text(profile), "x", name)
    assert read == profile
    for key, value in settings.items():
        assert isinstance(read.settings.to_json()[key], bool) is isinstance(value, bool), "true is not 1"


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a b", "x" * 65, "ä", "llvm-tips", "last", "12"])
def test_names_that_cannot_name_a_file_of_ones_own(home, name):
    with pytest.raises(UsageError, match="cannot name a profile"):
        write(Profile(name, Settings.of({"nice": 1})))
    assert not home.exists() or not list(home.iterdir())


def test_written_profiles_are_listed_found_and_replaced(home):
    path = write(Profile("quiet", Settings.of({"nice": -5})))
    assert path == home / "quiet.toml"
    write(Profile("quiet", Settings.of({"nice": -6})))
    assert load("quiet").settings == Settings.of({"nice": -6})
    assert load(str(path)) == load("quiet")
    assert names() == [*SHIPPED, "quiet"]
    assert os.listdir(home) == ["quiet.toml"], "nothing temporary is left"


def test_ones_own_cannot_hide_a_shipped_one(home):
    write(Profile("pyperf", Settings.of({"nice": 1})), home / "pyperf.toml")
    assert load("pyperf").settings != Settings.of({"nice": 1})


def test_where_it_cannot_be_written_is_reported(home, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineError, match=r"file/x\.toml cannot be written"):
        write(Profile("x", Settings.of({})), tmp_path / "file" / "x.toml")


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("llvm-tip", "Did you mean 'llvm-tips'"),
        ("zzz", "Known: llvm-tips, pyperf"),
        ("/no/such.toml", "no profile file /no/such.toml"),
        ("no-such.toml", "no profile file no-such.toml"),
    ],
)
def test_missing_profiles_are_reported(home, reference, says):
    with pytest.raises(UsageError, match=says):
        load(reference)


def test_files_that_are_no_text_are_reported(home):
    home.mkdir(parents=True)
    (home / "broken.toml").write_bytes(b"\xff\xfe\x00")
    for reference in ("broken", str(home / "broken.toml")):
        with pytest.raises(UsageError, match=r"broken\.toml cannot be read"):
            load(reference)
    (home / "directory.toml").mkdir()
    assert "directory" not in names()


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_ones_have_words(name):
    profile = load(name)
    assert profile.name == name
    assert profile.description
    assert profile.settings.values
    assert json.loads(json.dumps(profile.settings.to_json())) == profile.settings.to_json()
    assert profiles.text(profile)


def test_bytes_of_a_file_name_that_are_no_text_do_not_stop_a_profile(home):
    write(Profile("odd", Settings.of({"nice": 1}), one_line("found for b\udcff")))
    assert load("odd").description == "found for b\\xff"
