"""The tables in the documents are what becalm gives now, and no block is left empty."""

import documents
import pytest

TABLES = list(documents.blocks("table"))


@pytest.mark.parametrize(("document", "name", "body"), TABLES, ids=[name for _, name, _ in TABLES])
def test_a_table_in_a_document_is_the_one_that_becalm_gives(document, name, body):
    assert body == documents.table(name), f"{document} is behind: python tools/documents.py"


def test_every_session_shows_what_it_prints():
    for document, _, body in documents.blocks("session"):
        lines = body.splitlines()
        assert lines[0] == "```text", document
        assert any(not line.startswith("$ ") for line in lines[1:-1]), document


def test_blocks_are_replaced_and_nothing_else():
    text = "a\n<!-- becalm-session -->\n$ x\nold\n<!-- /becalm-session -->\nb\n"
    assert documents.renewed(text, play=lambda body: body.upper()) == text.replace("$ x\nold", "$ X\nOLD")
    with pytest.raises(KeyError):
        documents.table("no table")
