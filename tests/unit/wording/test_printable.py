"""Characters that a terminal would obey are written out; everything else stays."""

import io

import pytest
from rich.text import Text

from becalm.report.markdown import code, escaped
from becalm.report.terminal import Screen
from becalm.wording.printable import one_line, printable, without_endless_words
from becalm.wording.short_names import short

HOSTILE = "a\x1b]0;title\x07b\x1b[2J\x9b31m\u202egpj.exe\rc\x00\x7f"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain – ± µs\tand\nlines", "plain – ± µs\tand\nlines"),
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("a\r\nb\rc", "a\nb\\x0dc"),
        ("\u202egpj", "\\u202egpj"),
        (b"caf\xe9".decode("utf-8", "surrogateescape"), "caf\\xe9"),
        ("\ud800", "\\ud800"),
    ],
)
def test_text(text, shown):
    assert printable(text) == shown


def test_a_word_that_is_longer_than_a_path_is_cut():
    path = "/" + "x" * 4094
    assert without_endless_words(f"There is no {path}. It ends.") == f"There is no {path}. It ends."
    text = without_endless_words(f"There is no '{'a' * 6000}' here.")
    assert text == f"There is no '{'a' * 199}… (6,002 characters) here."


def obeyed(text):
    """Return characters that a terminal acts on."""
    controls = [
        character for character in text if ord(character) < 32 or 0x7F <= ord(character) < 0xA0 or character == "\u202e"
    ]
    return [control for control in controls if control not in "\n\t"]


def test_nothing_hostile_reaches_a_screen_but_its_own_codes_do():
    out = io.StringIO()
    Screen(file=out, force_terminal=True, width=300, color_system="standard").print(Text(HOSTILE, style="bold"))
    output = out.getvalue()
    assert output.startswith("\x1b[1m")
    assert obeyed(output.replace("\x1b[1m", "").replace("\x1b[0m", "")) == []
    assert "\\x1b[2J" in output


def test_nothing_hostile_reaches_markdown():
    for text in (escaped(HOSTILE + "<script>&amp;"), code(HOSTILE)):
        assert obeyed(text) == []
    assert "\\<script\\>\\&amp;" in escaped("<script>&amp;")


def test_a_name_is_no_more_rows_than_one():
    assert one_line("sh -c 'a\r\nb'\n2  2026 \x1b[2J") == "sh -c 'a\\nb'\\n2  2026 \\x1b[2J"
    assert short(["a\n2  2026 fake", "b"]) == ("a\\n2  2026 fake", "b")


def test_names_in_sentences_and_tables_are_shown_as_they_are_measured():
    assert obeyed("".join(short([HOSTILE, "b"]))) == []
