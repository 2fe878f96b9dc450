"""The bases of results of verbs: `Documented` has a JSON form; `Result` has a sentence, too.

The `str` of a Result is its sentence, its `repr` is one line, and a notebook shows it as HTML.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

from becalm._version import SCHEMA, VERSION
from becalm.nouns.codec import plain, plain_dict

LINE = 100
"""The number of characters of the sentence in the `repr`."""


class Documented(msgspec.Struct, frozen=True):
    """A value with the documented, versioned JSON form (docs/reference/json.md)."""

    KIND: ClassVar[str] = ""
    """The kind that the JSON form names; empty where a field names it."""

    DERIVED: ClassVar[tuple[str, ...]] = ()
    """Properties that are members of the JSON form."""

    OMITTED: ClassVar[tuple[str, ...]] = ()
    """Fields that are not."""

    OBJECTS: ClassVar[tuple[str, ...]] = ()
    """Fields with a named tuple (or None) that the JSON form has as an object."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; infinite numbers and NaN become null."""
        head = {"becalm": VERSION, "schema": SCHEMA} | ({"kind": self.KIND} if self.KIND else {})
        objects = {name: plain(value._asdict()) for name in self.OBJECTS if (value := getattr(self, name)) is not None}
        return {**head, **plain_dict(self), **objects}


class Result(Documented, frozen=True):
    """A value with a `sentence`, which is its text; its `repr` is one line, because all fields would fill screens."""

    html: ClassVar[Callable[[Result], str] | None] = None
    """The function that renders a result for a notebook; `becalm.verbs` sets it: this layer has no reports."""

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
