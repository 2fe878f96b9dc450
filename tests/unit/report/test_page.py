"""Pages: no text in them has what a reader obeys or cannot see."""

import re

from becalm.report.page import filled

HOSTILE = "a\x1b[2J\x07\u202egpj\x9f\ufeff<script>x</script>\n::y"


def test_a_page_has_no_control_characters_and_no_markup_of_names():
    page = filled("plain.html", title=HOSTILE, lines=[HOSTILE], tables=(), findings=(), facts=HOSTILE)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]", page)
    assert "<script>x" not in page
    assert "\\x1b[2J" in page
