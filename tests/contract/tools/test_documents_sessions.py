"""The output of the examples of the tutorials is what the documents show."""

from pathlib import Path

import documents
import pytest

SESSIONS = list(documents.blocks("session"))


NAMES = [f"{number} of {Path(document).name}" for number, (document, _, _) in enumerate(SESSIONS, start=1)]


@pytest.mark.parametrize(("document", "body"), [(document, body) for document, _, body in SESSIONS], ids=NAMES)
def test_an_example_prints_what_its_document_shows(document, body):
    assert documents.comparable(body) == documents.comparable(documents.replayed(body)), (
        f"{document} is behind: python tools/documents.py"
    )


def test_of_a_search_commands_and_headings_are_compared():
    search = "```text\n$ becalm tune -- spin 1s\nIt falls 53-fold.\n\nBefore and after\n     spread\n```\n"
    assert documents.comparable(search) == "$ becalm tune -- spin 1s\nBefore and after"
    assert documents.comparable(search.replace("tune", "tune --try pyperf")) == search.replace(
        "tune", "tune --try pyperf"
    )
