"""A line of a spool that tells a place, and lines that do not."""

import pytest

from becalm.nouns.elsewhere import elsewhere, place_in

PLACE = {"host": "ssh://bench", "pid": 7}


def test_a_line_tells_its_place():
    assert elsewhere(PLACE).endswith(b"\n")
    assert place_in(elsewhere(PLACE)) == PLACE


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[]", b'{"event":"runs","rows":[]}', b'{"event":"elsewhere"}', b"[" * 100_000, b"\xff", b"3"]
)
def test_any_other_line_tells_none(line):
    assert place_in(line) is None
