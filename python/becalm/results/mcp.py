"""The answer of a tool of `becalm mcp`: the sentence for a reader, and the numbers for a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from becalm.nouns.codec import plain
from becalm.nouns.result import Result

BULKY = frozenset(("quantiles", "histogram", "texts", "ids", "bins", "density"))
"""Fields for pictures, of which an agent would read thousands of numbers; `becalm show N --json` has them."""


class ToolAnswer(Result, frozen=True):
    """An answer. `result`: the documented form of the verb's result, without what only pictures need; `error`: whether
    the tool failed."""

    sentence: str
    result: Mapping[str, Any] = msgspec.field(default_factory=dict)
    study: int | None = None
    error: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the structured content of the answer."""
        head: dict[str, Any] = {"sentence": self.sentence, "result": plain(slim(self.result))}
        return head if self.study is None else {**head, "study": self.study}


def slim(value: Any) -> Any:
    """Return JSON without the fields that only pictures need."""
    if isinstance(value, Mapping):
        return {name: slim(part) for name, part in value.items() if name not in BULKY}
    if isinstance(value, (list, tuple)):
        return [slim(part) for part in value]
    return value
