"""The results of verbs in Python: as text the sentence, at the prompt a line, in a notebook a fragment of a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

LINE = 100
"""Characters of a sentence that the prompt shows."""


class Result:
    """A value with a `sentence`. Its dataclass takes `repr=False`: all fields of one fill screens."""

    __slots__ = ()

    html: ClassVar[Callable[[Result], str] | None] = None
    """The function that draws a result for a notebook; `becalm.verbs` sets it, which may use reports."""

    def __str__(self) -> str:
        return str(getattr(self, "sentence", ""))

    def __repr__(self) -> str:
        study = getattr(self, "study", None)
        where = f" of study {study}" if isinstance(study, int) else ""
        first = next(iter(str(self).splitlines()), "")
        return f"<{type(self).__name__}{where}: {first if len(first) <= LINE else first[: LINE - 1] + '…'}>"

    def _repr_html_(self) -> str | None:
        draw = Result.html
        return None if draw is None else draw(self)
