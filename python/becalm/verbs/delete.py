"""`becalm delete`: removal of studies."""

from __future__ import annotations

import re
from collections.abc import Sequence

from becalm.errors import UsageError
from becalm.nouns.study import StoredStudy
from becalm.store import Store, in_use
from becalm.units import join_names

_RANGE = re.compile(r"(\d{1,18})\.\.(\d{1,18})")


def delete(
    studies: Sequence[str | int] | str | int, store: str | None = None, *, dry_run: bool = False
) -> list[StoredStudy]:
    """Delete studies from the store, with all their runs and results.

    Arguments:
        studies: numbers, ranges like "3..7", or "last".
        dry_run: delete nothing, and only return what would be deleted.

    Returns the studies in order, without the facts of their machines. All of them are deleted or, after an error, none.
    Raises UsageError for a study that does not exist or is being measured; StoreError.
    """
    selectors = [studies] if isinstance(studies, (str, int)) else list(studies)
    with Store.open(store) as opened:
        numbers = sorted({number for text in selectors for number in _numbers(opened, text)})
        if not numbers:
            raise UsageError("Which studies? For example: becalm delete 12, or 3..7. `becalm list` shows them.")
        if busy := sorted(in_use(opened) & set(numbers)):
            raise UsageError(
                f"Study {join_names(map(str, busy))} is being measured by a becalm that still runs. "
                "Nothing was deleted."
            )
        chosen = [study for study in opened.studies(facts=False) if study.number in numbers]
        if not dry_run:
            opened.delete(numbers)
            if not in_use(opened):
                opened.compact()
    return sorted(chosen, key=lambda study: study.number)


def _numbers(opened: Store, text: str | int) -> list[int]:
    """Return the existing studies that a number, "last" or a range names. Raises UsageError."""
    if (match := _RANGE.fullmatch(str(text).strip())) is None:
        return [opened.resolve(text)]
    first, last = int(match[1]), int(match[2])
    known = [study.number for study in opened.studies(facts=False) if first <= study.number <= last]
    if not known:
        raise UsageError(
            f"There is no study from {first} to {last} in the store {opened.shown}. `becalm list` shows them."
        )
    return known
