"""Settings that are applied for as long as a context lasts, and the changes that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from becalm.results.settings import Change


class Planned(msgspec.Struct, frozen=True):
    """The changes that settings would make. `lasting`: sentences on changes that restoring does not undo."""

    changes: tuple[Change, ...] = ()
    lasting: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, answer: Mapping[str, Any]) -> Planned:
        """Return the value for an answer of the agent."""
        return cls(_changes(answer), tuple(answer.get("lasting", ())))


class AppliedSettings(msgspec.Struct, frozen=True):
    """The changes that applying settings made, remarks on them, and the time that it took, ns."""

    changes: tuple[Change, ...] = ()
    remarks: tuple[str, ...] = ()
    took_ns: int = 0

    @classmethod
    def from_json(cls, answer: Mapping[str, Any]) -> AppliedSettings:
        """Return the value for an answer of the agent."""
        return cls(_changes(answer), tuple(answer["remarks"]), answer["took_ns"])


def _changes(answer: Mapping[str, Any]) -> tuple[Change, ...]:
    # Imported when settings are applied: most comparisons have none.
    from becalm.results.settings import Change

    return tuple(map(Change.from_json, answer["changes"]))


@contextmanager
def settings_context(apply: Callable[[], AppliedSettings], settle: Callable[[], None]) -> Iterator[AppliedSettings]:
    """Apply settings for as long as the context lasts, then `settle`, which raises if something is not restored."""
    try:
        yield apply()
    finally:
        settle()
