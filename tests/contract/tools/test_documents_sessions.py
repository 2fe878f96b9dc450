"""What the examples of the tutorials print is what is in the documents."""

import documents
import pytest

SESSIONS = list(documents.blocks("session"))


@pytest.mark.parametrize(("document", "body"), [(document, body) for document, _, body in SESSIONS])
def test_an_example_prints_what_its_document_shows(document, body):
    assert body == documents.replayed(body), f"{document} is behind: python tools/documents.py"
