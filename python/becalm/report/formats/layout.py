"""Parts of a file's JSON, each with its place: its errors name the place and the expected content.

Readers of other tools' files walk them as Parts, so that the refusal of a damaged file names the place, and not a
Python error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

LONGEST = 40
"""The number of characters of a value that are shown."""


class Unlike(ValueError):
    """An error in the layout of a file; its sentence names the place, without a full stop."""


class JsonPart(msgspec.Struct, frozen=True):
    """A value of a file with its place, such as `benchmarks[0].runs`; the place of the whole file is empty."""

    value: Any
    place: str = ""

    def __getitem__(self, name: str) -> JsonPart:
        """Return a member of an object. Raises Unlike for another value, or without the member."""
        members = self.members()
        if name not in members:
            raise Unlike(f"{self._called} has no {name!r}")
        return JsonPart(members[name], f"{self.place}.{name}" if self.place else name)

    def get(self, name: str) -> JsonPart | None:
        """Return a member of an object; None where it is missing or null. Raises Unlike for another value."""
        return self[name] if self.members().get(name) is not None else None

    def members(self) -> dict[str, Any]:
        """Return the members of an object. Raises Unlike."""
        if not isinstance(self.value, dict):
            raise self._unlike("an object")
        return self.value

    def __iter__(self) -> Iterator[JsonPart]:
        """Yield the parts of a list. Raises Unlike."""
        return (JsonPart(value, f"{self.place}[{index}]") for index, value in enumerate(self.list()))

    def list(self) -> list[Any]:
        """Return a list. Raises Unlike."""
        if not isinstance(self.value, list):
            raise self._unlike("a list")
        return self.value

    def number(self) -> float:
        """Return a number. Raises Unlike."""
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            raise self._unlike("a number")
        try:
            return float(self.value)
        except OverflowError:
            raise Unlike(f"{self._called} is {shown(self.value)}, which is too large") from None

    def whole(self) -> int:
        """Return a whole number. Raises Unlike."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self._unlike("a whole number")
        return self.value

    def text(self) -> str:
        """Return a text; a number is converted. Raises Unlike."""
        if isinstance(self.value, bool) or not isinstance(self.value, (str, int, float)):
            raise self._unlike("a string")
        return str(self.value)

    @property
    def _called(self) -> str:
        return self.place or "it"

    def _unlike(self, expected: str) -> Unlike:
        return Unlike(f"{self._called} is {shown(self.value)}, where {expected} is expected")


def shown(value: Any) -> str:
    """Return a value as it is in the file, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def named(entry: JsonPart, member: str) -> str:
    """Return the name of an entry for a report: the text of a member, or its place."""
    name = entry.value.get(member) if isinstance(entry.value, dict) else None
    return name if isinstance(name, str) and name.strip() else entry.place


def scalars(value: Any) -> tuple[tuple[str, str], ...]:
    """Return the members of an object as pairs of name and text, sorted; empty for another value."""
    if not isinstance(value, dict):
        return ()
    texts = {name: member if isinstance(member, str) else _text(member) for name, member in value.items()}
    return tuple(sorted(texts.items()))


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def refused(error: Exception, whose: str) -> str:
    """Return the error in a file, to follow its name, without a full stop. `whose`: the owner of the format."""
    if isinstance(error, Unlike):
        return f"is not laid out as {whose}: {error}"
    if isinstance(error, KeyError):
        return f"is not laid out as {whose}: it lacks {error}"
    if isinstance(error, (TypeError, AttributeError, IndexError, OverflowError)):
        # The message of such an error is about Python's own types.
        return f"is not laid out as {whose}"
    return f"looks like {whose}, but cannot be read: {error}"
