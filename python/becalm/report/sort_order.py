"""The order of tables that a user asks for, in the whole process; `becalm.wording.numbers` has the unit of times.

The command line sets it once, before anything is measured; reports read it.
"""

from __future__ import annotations

from collections.abc import Callable

from becalm.results.compare import Summary
from becalm.wording.metric import measured

SORTS: dict[str, Callable[[Summary], object] | None] = {
    "auto": None,
    "given": lambda summary: 0,
    "name": lambda summary: summary.name,
    "time": lambda summary: measured(summary).median.value,
    "spread": lambda summary: measured(summary).cv.value,
}
"""The keys by which programs of a table are sorted. auto: the fastest first where they are ranked, else as given."""


class _Chosen:
    sort = "auto"


def sort_by(name: str) -> None:
    """Sort tables from now on by one of SORTS."""
    _Chosen.sort = name


def key() -> Callable[[Summary], object] | None:
    """Return the key to sort programs by; None for the report's own order."""
    return SORTS[_Chosen.sort]
