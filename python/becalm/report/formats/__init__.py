"""File formats for measured runs: one table, one file per format.

A `Document` is one study with all that is known of it. Writers turn it into text, readers make Documents of text.
One more format is one file and one row.
"""

from __future__ import annotations

import gzip
import importlib
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from becalm.errors import UsageError
from becalm.nouns.conform import conform
from becalm.report.document import Document


@dataclass(frozen=True, slots=True)
class Row:
    """One format: its name, its file, whether it can be read back, and what it is for.

    `report`: it is what the study says (`becalm.report.drawn.FORMS`), and not what it holds.
    """

    name: str
    module: str
    reads: bool
    what: str
    report: str = ""

    def writer(self) -> Callable[[Document], str]:
        """The function that writes it."""
        found: Callable[[Document], str] = importlib.import_module(self.module).write
        return found


FORMATS = (
    Row("json", "becalm.report.formats.becalm_json", True, "everything, to be read back by `becalm import`"),
    Row("csv", "becalm.report.formats.table_csv", False, "one line a run, for spreadsheets and data frames"),
    Row("markdown", "", False, "the report, for an issue or a pull request", ".md"),
    Row("html", "", False, "the report as one page, with pictures where there are any", ".html"),
    Row("hyperfine", "becalm.report.formats.hyperfine", True, "hyperfine's --export-json"),
    Row("pyperf", "becalm.report.formats.pyperf", True, "pyperf's JSON, version 1.0"),
)


def format_row(name: str) -> Row:
    """The format of a name. Raises UsageError for an unknown one."""
    for row in FORMATS:
        if row.name == name:
            return row
    raise UsageError(f"There is no format {name!r}. Known: {', '.join(row.name for row in FORMATS)}.")


def read(path: Path) -> list[Document]:
    """The studies in a file of any readable format, told apart by content; gzip is unpacked.

    Raises UsageError with the path and what was expected.
    """
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        value = json.loads(data)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (EOFError, zlib.error, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON ({error}). becalm imports {_readable()}.") from None
    for row in FORMATS:
        if row.reads:
            module = importlib.import_module(row.module)
            if module.recognises(value):
                try:
                    documents: list[Document] = module.read(value)
                    for document in documents:
                        conform(Document, document, "the study")
                except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
                    kind = type(error).__name__
                    raise UsageError(
                        f"{path} looks like {row.name} JSON, but cannot be read: {kind}: {error}."
                    ) from None
                return documents
    raise UsageError(f"{path} is JSON, but none that becalm knows. It imports {_readable()}.")


def _readable() -> str:
    return ", ".join(row.name for row in FORMATS if row.reads)
