"""What a verb gives, shown by a notebook: `InNotebook` has the method that Jupyter asks for.

`becalm.report.notebook` draws; its name is text here, loaded when somebody looks, since nouns know of no report.
"""

from __future__ import annotations

import importlib


class InNotebook:
    """A value that a notebook shows as a fragment of a page."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(importlib.import_module("becalm.report.notebook").fragment(self))
