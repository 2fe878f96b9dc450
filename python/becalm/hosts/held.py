"""Settings that are on for as long as a context lasts, and what they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from becalm.values import dataclass

if TYPE_CHECKING:
    from becalm.nouns.settings_change import Change


@dataclass(frozen=True, slots=True)
class Planned:
    """What settings would write. `lasting`: what would not be as before when they are taken off again, in sentences."""

    changes: tuple[Change, ...] = ()
    lasting: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Planned:
        """As the agent says it."""
        return cls(_changes(found), tuple(found.get("lasting", ())))


@dataclass(frozen=True, slots=True)
class PutOn:
    """What putting settings on has written, sentences on it, and how long it took, ns."""

    changes: tuple[Change, ...] = ()
    remarks: tuple[str, ...] = ()
    took_ns: int = 0

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> PutOn:
        """As the agent says it."""
        return cls(_changes(found), tuple(found["remarks"]), found["took_ns"])


def _changes(found: Mapping[str, Any]) -> tuple[Change, ...]:
    # Imported when settings are put on: most comparisons have none.
    from becalm.nouns.settings_change import Change

    return tuple(map(Change.from_json, found["changes"]))


@contextmanager
def held(put_on: Callable[[], PutOn], settle: Callable[[], None]) -> Iterator[PutOn]:
    """Put settings on; on leaving, also by an error, `settle`, which raises when something is not as it was before."""
    try:
        yield put_on()
    finally:
        settle()
