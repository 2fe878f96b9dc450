"""`becalm store check`, `backup`, `repair`: a store that is not lost. Returns data, prints nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from becalm.results.store import StoreBackup, StoreHealth, StoreRepair
from becalm.store import copies, health
from becalm.wording import store as words


def check_store(store: str | None = None) -> StoreHealth:
    """Read all pages and checksums of a store, and change nothing. Raises StoreError for one that is not there."""
    found = health.check(store)
    return replace(found, sentence=words.health(found))


def backup_store(copy: str | Path, store: str | None = None) -> StoreBackup:
    """Copy a store while others may use it.

    Arguments:
        copy: the new file.
        store: where studies are kept.

    Raises UsageError for a file that is there, StoreError.
    """
    found = copies.backup(store, copy)
    return replace(found, sentence=words.backup(found))


def repair_store(new: str | Path, store: str | None = None) -> StoreRepair:
    """Save every row of a damaged store that is as it was stored in a new one; the damaged one is never changed.

    Arguments:
        new: the new file.
        store: the damaged store. Nobody should write to it meanwhile.

    Raises UsageError for a file that is there, StoreError where nothing can be saved.
    """
    found = copies.repair(store, new)
    return replace(
        found, sentence=words.repair(found), health=replace(found.health, sentence=words.health(found.health))
    )
