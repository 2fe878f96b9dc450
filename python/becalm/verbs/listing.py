"""`becalm list`: what was measured, by number. Returns data, prints nothing.

By itself, since shells ask for it while a word is typed: a store is opened, and numpy loaded, where there is one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from becalm.paths import resolve_store
from becalm.values import dataclass

if TYPE_CHECKING:
    from becalm.nouns.study import StoredStudy
    from becalm.store import Recovered, Store
    from becalm.wording.outcome import StudyOutcome


@dataclass(frozen=True, slots=True)
class Listing:
    """The studies of a store, newest first, and what was recovered from killed becalms meanwhile.

    `outcomes`: what they came to, by number, where that was asked for.
    """

    store: str
    studies: tuple[StoredStudy, ...]
    recovered: tuple[Recovered, ...]
    outcomes: Mapping[int, StudyOutcome] = field(default_factory=dict)


def list_studies(
    store: str | None = None,
    *,
    limit: int | None = 20,
    kind: str | None = None,
    as_is: bool = False,
    outcomes: bool = False,
) -> Listing:
    """Return the newest studies. Raises StoreError.

    `outcomes`: what each came to is read too. `as_is`: nothing is recovered from killed becalms, and a store that was
    never written to is not made for this.
    """
    place = resolve_store(store)
    if as_is and "://" not in place and not os.path.exists(place):
        return Listing(place, (), ())
    from becalm.store import Store, in_use, recover

    with Store.open(store) as opened:
        found = () if as_is else tuple(recover(opened))
        busy = in_use(opened) if outcomes else set()
        studies = tuple(opened.studies(limit, kind, facts=False))
        ends = {study.number: outcome_of(opened, study, study.number in busy) for study in studies} if outcomes else {}
        return Listing(opened.shown, studies, found, ends)


def outcome_of(opened: Store, study: StoredStudy, measured_now: bool) -> StudyOutcome:
    """Return what a study came to; of a damaged one nothing."""
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
