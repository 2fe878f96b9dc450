"""`becalm store check`, `backup`, `repair`: care for a store. Returns data, prints nothing."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from becalm.results.store import StoreBackup, StoreHealth, StoreRepair
from becalm.store import copies, health
from becalm.wording import store as words


def check_store(store: str | None = None) -> StoreHealth:
    """Read all pages and checksums of a store, and change nothing. Raises StoreError for a missing store."""
    store_health = health.check(store)
    return replace(store_health, sentence=words.health(store_health))


def backup_store(copy: str | Path, store: str | None = None) -> StoreBackup:
    """Copy a store while others may use it.

    Arguments:
        copy: the new file.
        store: where studies are stored.

    Raises UsageError for a file that exists, StoreError.
    """
    store_backup = copies.backup(store, copy)
    return replace(store_backup, sentence=words.backup(store_backup))


def repair_store(new: str | Path, store: str | None = None) -> StoreRepair:
    """Save every undamaged row of a damaged store in a new one; the damaged one is never changed.

    Arguments:
        new: the new file.
        store: the damaged store. Nobody should write to it meanwhile.

    Raises UsageError for a file that exists, StoreError where nothing can be saved.
    """
    store_repair = copies.repair(store, new)
    return replace(
        store_repair,
        sentence=words.repair(store_repair),
        health=replace(store_repair.health, sentence=words.health(store_repair.health)),
    )
