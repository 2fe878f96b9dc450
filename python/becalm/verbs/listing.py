"""`becalm list`: the stored studies. Returns data, prints nothing.

A module of its own, since shells call it while a word is typed: it opens a store, and loads numpy, only if one exists.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from becalm.paths import resolve_store

if TYPE_CHECKING:
    from becalm.nouns.study import StoredStudy
    from becalm.store import Recovered, Store
    from becalm.wording.outcome import StudyOutcome


class Listing(msgspec.Struct, frozen=True):
    """The studies of a store, newest first, and the studies recovered from killed becalms.

    `outcomes`: the outcomes of the studies by number, where requested.
    """

    store: str
    studies: tuple[StoredStudy, ...]
    recovered: tuple[Recovered, ...]
    outcomes: Mapping[int, StudyOutcome] = msgspec.field(default_factory=dict)


def list_studies(
    store: str | None = None,
    *,
    limit: int | None = 20,
    kind: str | None = None,
    as_is: bool = False,
    outcomes: bool = False,
) -> Listing:
    """Return the newest studies. Raises StoreError.

    `outcomes`: read the outcome of each study, too. `as_is`: recover nothing from killed becalms, and do not make a
    store that was never written to.
    """
    place = resolve_store(store)
    if as_is and "://" not in place and not os.path.exists(place):
        return Listing(place, (), ())
    from becalm.store import Store, in_use, recover

    with Store.open(store) as opened:
        recovered = () if as_is else tuple(recover(opened))
        busy = in_use(opened) if outcomes else set()
        studies = tuple(opened.studies(limit, kind, facts=False))
        ends = {study.number: outcome_of(opened, study, study.number in busy) for study in studies} if outcomes else {}
        return Listing(opened.shown, studies, recovered, ends)


def outcome_of(opened: Store, study: StoredStudy, measured_now: bool) -> StudyOutcome:
    """Return the outcome of a study; an empty one for a damaged study."""
    from becalm.errors import StoreError
    from becalm.verbs import KINDS
    from becalm.wording.outcome import StudyOutcome, outcome

    kind = KINDS.get(study.study.kind)
    concluded = kind is not None and bool(kind.read) and study.environment == "known"
    try:
        verdict = opened.verdict(study.number)
    except StoreError:
        return StudyOutcome("", "")
    if verdict is None and measured_now:
        return StudyOutcome("being measured", "")
    return outcome(verdict, concluded=concluded, last=opened.last_outcome(study.number))
