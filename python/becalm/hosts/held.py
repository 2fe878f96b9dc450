"""Settings that are on for as long as a context lasts, and what they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from becalm.values import dataclass

if TYPE_CHECKING:
    from becalm.results.settings import Change


@dataclass(frozen=True, slots=True)
class Planned:
    """The changes that settings would make. `lasting`: changes that restoring does not undo, in sentences."""

    changes: tuple[Change, ...] = ()
    lasting: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Planned:
        """Return the value for the agent's form."""
        return cls(_changes(found), tuple(found.get("lasting", ())))


@dataclass(frozen=True, slots=True)
class PutOn:
    """The changes that applying settings made, remarks on them, and the time that it took, ns."""

    changes: tuple[Change, ...] = ()
    remarks: tuple[str, ...] = ()
    took_ns: int = 0

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> PutOn:
        """Return the value for the agent's form."""
        return cls(_changes(found), tuple(found["remarks"]), found["took_ns"])


def _changes(found: Mapping[str, Any]) -> tuple[Change, ...]:
    # Imported when settings are put on: most comparisons have none.
    from becalm.results.settings import Change

    return tuple(map(Change.from_json, found["changes"]))


@contextmanager
def held(put_on: Callable[[], PutOn], settle: Callable[[], None]) -> Iterator[PutOn]:
    """Put settings on; on leaving, also by an error, `settle`, which raises when something is not as it was before."""
    try:
        yield put_on()
    finally:
        settle()
