"""The results of verbs in Python: as text its sentence, at the prompt a line, in a notebook a fragment of a page.

`becalm.report.notebook` draws; its name is text here, loaded when somebody looks, since nouns know of no report.
"""

from __future__ import annotations

import importlib

LINE = 100
"""Characters of a sentence that the prompt shows."""


class Result:
    """A value with a `sentence`. Its dataclass takes `repr=False`: all fields of one fill screens."""

    __slots__ = ()

    def __str__(self) -> str:
        return str(getattr(self, "sentence", ""))

    def __repr__(self) -> str:
        study = getattr(self, "study", None)
        where = f" of study {study}" if isinstance(study, int) else ""
        first = next(iter(str(self).splitlines()), "")
        return f"<{type(self).__name__}{where}: {first if len(first) <= LINE else first[: LINE - 1] + '…'}>"

    def _repr_html_(self) -> str:
        return str(importlib.import_module("becalm.report.notebook").fragment(self))
