"""The order in which a person wants tables, for the whole process; `becalm.wording.numbers` has the unit of times.

The command line sets it once, before anything is measured; reports ask for it.
"""

from __future__ import annotations

from collections.abc import Callable

from becalm.results.compare import Summary
from becalm.wording.metric import measured

SORTS: dict[str, Callable[[Summary], object] | None] = {
    "auto": None,
    "given": lambda each: 0,
    "name": lambda each: each.name,
    "time": lambda each: measured(each).median.value,
    "spread": lambda each: measured(each).cv.value,
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
