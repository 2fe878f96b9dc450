"""The output of the examples of the tutorials is what the documents show."""

from pathlib import Path

import documents
import pytest

SESSIONS = list(documents.blocks("session"))


NAMES = [f"{number} of {Path(document).name}" for number, (document, _, _) in enumerate(SESSIONS, start=1)]


@pytest.mark.parametrize(("document", "body"), [(document, body) for document, _, body in SESSIONS], ids=NAMES)
def test_an_example_prints_what_its_document_shows(document, body):
    assert body == documents.replayed(body), f"{document} is behind: python tools/documents.py"
