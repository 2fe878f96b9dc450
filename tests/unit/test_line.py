"""Lines: what no text of one may hold."""

import pickle

import pytest

from becalm.line import ControlCharacterError, Line
from becalm.nouns.codec import decode, plain
from becalm.nouns.conform import conform
from becalm.results.export_settings import SettingPlace, Where
from becalm.wording.printable import one_line

OBEYED = ["\n", "\r", "\t", "\0", "\x1b", "\x7f", "\x85", "\u2028", "\u2029", "\u202e", "\ufeff", "\udcff"]


@pytest.mark.parametrize("character", OBEYED)
def test_a_control_character_is_refused_with_its_place(character):
    with pytest.raises(ControlCharacterError, match=r"^has the control character .* at place 4$") as caught:
        Line(f"abc{character}d")
    assert str(caught.value).isascii()


def test_other_texts_stay():
    for text in ("", "plain", "ä – 漢字 🦀", "a b", "${x} `y` \\ \" '", b"caf\xc3\xa9".decode()):
        assert Line(text) == text
        assert pickle.loads(pickle.dumps(Line(text))) == text
        assert type(plain(Line(text))) is str


@pytest.mark.parametrize("character", OBEYED)
def test_any_text_can_be_written_out_as_a_line(character):
    assert isinstance(one_line(f"a{character}b"), Line)
    assert one_line(f"a{character}b")[1] == "\\"


def test_a_stored_plan_with_a_line_end_is_damaged():
    stored = {"knob": "swappiness", "where": "sysctl", "path": "/proc/sys/vm/swappiness", "after": "1"}
    place = decode(SettingPlace, stored)
    assert place == SettingPlace(*map(Line, ("swappiness", Where.SYSCTL, "/proc/sys/vm/swappiness", "1")))
    conform(SettingPlace, place, "place")
    with pytest.raises(ValueError, match=r"has the control character .* - at `\$\.after`"):
        decode(SettingPlace, {**stored, "after": "1\nkernel.core_pattern = |/x"})
    with pytest.raises(ValueError, match=r"got 'int' - at `\$\.path`"):
        decode(SettingPlace, {**stored, "path": 1})
