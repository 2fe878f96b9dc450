"""Sentences about a store that was checked, copied or repaired."""

from __future__ import annotations

from collections.abc import Mapping

from becalm.results.store import StoreBackup, StoreHealth, StoreRepair
from becalm.units import join_names
from becalm.wording.numbers import counted, memory

_ROWS = {
    "host": "machine", "study": "study", "study_workload": "program", "study_settings": "set of settings",
    "study_noticed": "finding", "study_count": "count", "run": "run", "run_text": "output",
    "run_load": "record of load", "run_series": "series of load", "run_others": "record of others",
    "region_part": "piece of timed regions", "verdict": "result",
}  # fmt: skip
"""The word for a row of each table."""

_MANY = {
    "study": "studies", "study_settings": "sets of settings", "run_load": "records of load",
    "run_series": "series of load", "run_others": "records of others", "region_part": "pieces of timed regions",
}  # fmt: skip


def rows(counts: Mapping[str, int]) -> str:
    """Return numbers of rows by table in words; tables without rows are left out."""
    known = [(table, count) for table, count in counts.items() if count]
    return ", ".join(
        f"{count:,} {_ROWS[table] if count == 1 else _MANY.get(table, _ROWS[table] + 's')}" for table, count in known
    )


def health(store_health: StoreHealth) -> str:
    """Return the sentence on whether a store is whole, with what to do where it is not."""
    size = (
        f"{_studies(len(store_health.studies))} with "
        f"{counted(sum(study.runs for study in store_health.studies), 'run')}"
    )
    if store_health.whole:
        return f"The store {store_health.store} is whole: {size}."
    bad = sum(bool(study.problems) for study in store_health.studies)
    what = (
        f"{_studies(bad)} of {len(store_health.studies)} damaged"
        if store_health.studies
        else "nothing of it can be read"
    )
    return (
        f"The store {store_health.store} is damaged: {what}. Nothing in it was changed. Save what can be "
        f"saved in a new one: becalm store repair NEW --store {store_health.store}"
    )


def backup(store_backup: StoreBackup) -> str:
    """Return the sentence on where a copy is."""
    return f"The store {store_backup.store} was copied to {store_backup.copy} ({memory(store_backup.size)})."


def repair(store_repair: StoreRepair) -> str:
    """Return the sentences on what was saved and what was lost."""
    lines = [
        f"Saved in {store_repair.new}: {rows(store_repair.rows) or 'nothing'}. The store "
        f"{store_repair.store} was not changed."
    ]
    if store_repair.damaged:
        lines.append(f"Left out, since they are not as they were stored: {rows(store_repair.damaged)}.")
    if store_repair.missing:
        lines.append(f"Lost or left out, by the counts of their studies: {rows(store_repair.missing)}.")
    if store_repair.described_anew:
        numbers = join_names(map(str, store_repair.described_anew))
        lines.append(f"Nothing but runs and records is left of study {numbers}: becalm export N --format csv")
    if store_repair.pages:
        lines.append(f"{counted(store_repair.pages, 'page')} could not be read in full.")
    if not (store_repair.damaged or store_repair.missing or store_repair.described_anew or store_repair.pages):
        lines.append("Nothing is known to be lost.")
    return "\n".join(lines)


def _studies(number: int) -> str:
    return f"{number} study" if number == 1 else f"{number} studies"
