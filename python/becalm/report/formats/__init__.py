"""File formats for measured runs: one table, one module per format.

A `Document` is a study with everything that is known of it. Writers turn it into text, readers make Documents of text.
A new format is a module and a row, in FORMATS or, if it can only be read, in FOREIGN.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import msgspec

from becalm.errors import UsageError
from becalm.files.kinds import IMPORT, describe, kind_of
from becalm.files.text import read_bytes, text_of
from becalm.nouns.conform import conform
from becalm.report.document import Document


class Reader(Protocol):
    """A module that reads a format."""

    def recognises(self, value: object) -> bool:
        """Return whether a JSON value is of this format."""

    def read(self, value: Any) -> list[Document]:
        """Return the studies in such a value. Raises ValueError, KeyError, TypeError, … if it breaks the format."""


class FormatRow(msgspec.Struct, frozen=True):
    """A format: its name, the ending of its files, its module, whether it can be read back, and its purpose.

    A format without a module is a report of the study (`becalm.report.forms.FORMS`, by ending), not its data.
    `regions`: whether it can hold timed regions.
    """

    name: str
    ending: str
    module: str
    reads: bool
    what: str
    regions: bool = False

    @property
    def whose(self) -> str:
        """The possessive of the tool that writes the format, for a sentence: "pyperf's"."""
        return f"{_MAKERS.get(self.name, self.name)}'s"

    def writer(self) -> Callable[[Document], str]:
        """Return the function that writes the format."""
        result: Callable[[Document], str] = importlib.import_module(self.module).write
        return result

    def unwritten(self, document: Document) -> list[str]:
        """Return the parts of a study that the format cannot hold, with reasons, as parts of a sentence."""
        units = getattr(importlib.import_module(self.module), "UNITS", None) if self.module else None
        if units is None:
            return []
        from becalm.report.formats.exported import unwritten  # Two formats need it.

        return unwritten(document, units)

    def reader(self) -> Reader:
        """Return the module that reads the format."""
        return cast(Reader, importlib.import_module(self.module))


_OWN = "becalm.report.formats"

_MAKERS = {"json": "becalm", "Go benchmark": "Go"}
"""The tools that write a format, where the format has another name."""

FORMATS = (
    FormatRow("json", ".json", f"{_OWN}.becalm_json", True, "everything, to be read back by `becalm import`", True),
    FormatRow(
        "csv",
        ".csv",
        f"{_OWN}.table_csv",
        False,
        "one line a run or timed region, for spreadsheets and data frames",
        True,
    ),
    FormatRow("markdown", ".md", "", False, "the report, for an issue or a pull request"),
    FormatRow("html", ".html", "", False, "the report as one page, with pictures where there are any"),
    FormatRow("hyperfine", ".json", f"{_OWN}.hyperfine", True, "hyperfine's --export-json"),
    FormatRow("pyperf", ".json", f"{_OWN}.pyperf", True, "pyperf's JSON, version 1.0"),
)
"""The formats in which a study can be written."""

FOREIGN = (
    FormatRow("Google Benchmark", ".json", f"{_OWN}.google_benchmark", True, "--benchmark_out=FILE, with repetitions"),
    FormatRow("pytest-benchmark", ".json", f"{_OWN}.pytest_benchmark", True, "--benchmark-json=FILE"),
    FormatRow("Go benchmark", ".txt", f"{_OWN}.go_benchmark", True, "what `go test -bench` prints and benchstat reads"),
    FormatRow(
        "asv", ".json", f"{_OWN}.asv", True, "the directory of results: a session of each commit, for `becalm history`"
    ),
    FormatRow(
        "CSV",
        ".csv",
        f"{_OWN}.history_csv",
        True,
        "commit, benchmark, value: a history, for `becalm history`",
    ),
    FormatRow(
        "Criterion", ".json", f"{_OWN}.criterion", True, "the directory target/criterion, or one of its sample.json"
    ),
)
"""The formats that can only be read."""


def format_row(name: str) -> FormatRow:
    """Return the format with this name. Raises UsageError for an unknown one."""
    for row in FORMATS:
        if row.name == name:
            return row
    raise UsageError(f"There is no format {name!r}. Known: {', '.join(row.name for row in FORMATS)}.")


def read(path: Path) -> list[Document]:
    """Return the studies in a file of any readable format, recognised by content; gzip is unpacked.

    A directory is one of asv or Criterion. Raises UsageError with the path and the expected content.
    """
    from becalm.report.formats import asv, criterion, go_benchmark, history_csv

    if asv.directory(path):
        return asv.read_directory(path)
    if (location := criterion.directory(str(path))) is not None:
        return criterion.read_directory(*location)
    data = read_bytes(path)
    try:
        value = _parsed(data, (go_benchmark.recognises, history_csv.recognises))
    except (ValueError, RecursionError) as error:
        raise UsageError(describe(data, str(path), _readable(), _no_json(data, error))) from None
    for row in (*FORMATS, *FOREIGN):
        if row.reads:
            reader = row.reader()
            if reader.recognises(value):
                try:
                    documents = reader.read(value)
                    for document in documents:
                        conform(Document, document, "the study")
                except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
                    from becalm.report.formats.layout import refused  # Most files are whole.

                    raise UsageError(f"{path} {refused(error, row.whose)}.") from None
                return documents
    if (kind := kind_of(data)) is not None and kind.advice == IMPORT:
        # The file is of a kind that this function imports.
        raise UsageError(f"{path} looks like {kind.words}, but is laid out in another way. {_readable()}")
    raise UsageError(describe(data, str(path), _readable(), "is JSON, but none that becalm knows"))


def _parsed(data: bytes, text_formats: Sequence[Callable[[Any], bool]]) -> Any:
    """Return a JSON value, or the text itself where its format is not JSON. Raises ValueError, RecursionError."""
    text = text_of(data, legacy=True)
    try:
        return json.loads(text)
    except ValueError:
        if any(recognises(text) for recognises in text_formats):
            return text
        raise


def _no_json(data: bytes, error: Exception) -> str:
    """Return the error of a text that is not JSON, and its place, as words that follow the name of the file."""
    if not isinstance(error, json.JSONDecodeError):
        return f"is not JSON ({error})"
    text, line = error.doc, error.lineno
    if error.msg == "Extra data":
        return f"is not only JSON, more text follows in line {line}: give each result its own file"
    if error.pos >= len(text.rstrip()):
        return f"is not JSON, it ends in the middle, in line {line}: it is cut or half written"
    if begin := _BEGIN.search(text) if not text.lstrip().startswith(("{", "[")) else None:
        line = text.count("\n", 0, begin.start()) + 1
        return (
            f"is not only JSON, which begins in line {line} behind other text: have the tool write a file, such as by "
            "--benchmark_out=FILE, instead of its standard output"
        )
    return f"is not JSON ({error})"


_BEGIN = re.compile(r"^\s*[{\[]\s*$|^\s*\{\s*\"", re.MULTILINE)
"""A line with which a JSON value may begin."""


def _readable() -> str:
    names = ", ".join(_MAKERS.get(row.name, row.name) for row in (*FORMATS, *FOREIGN) if row.reads)
    return f"becalm imports files of {names}."
