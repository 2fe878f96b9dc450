"""`becalm list`: what was measured, by number. Returns data, prints nothing.

By itself, since shells ask for it while a word is typed: a store is opened, and numpy loaded, where there is one.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from becalm.paths import meant_store
from becalm.values import dataclass

if TYPE_CHECKING:
    from becalm.nouns.study import StoredStudy
    from becalm.store import Recovered


@dataclass(frozen=True, slots=True)
class Listing:
    """The studies of a store, newest first, and what was recovered from killed becalms meanwhile."""

    store: str
    studies: tuple[StoredStudy, ...]
    recovered: tuple[Recovered, ...]


def list_studies(
    store: str | None = None, *, limit: int | None = 20, kind: str | None = None, as_is: bool = False
) -> Listing:
    """The newest studies. Raises StoreError.

    `as_is`: nothing is recovered from killed becalms, and a store that was never written to is not made for this.
    """
    place = meant_store(store)
    if as_is and "://" not in place and not os.path.exists(place):
        return Listing(place, (), ())
    from becalm.store import Store, recover

    with Store.open(store) as opened:
        found = () if as_is else tuple(recover(opened))
        return Listing(opened.shown, tuple(opened.studies(limit, kind, facts=False)), found)
