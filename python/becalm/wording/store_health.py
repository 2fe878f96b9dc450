"""Sentences on a store that was checked, copied or repaired."""

from __future__ import annotations

from collections.abc import Mapping

from becalm.nouns.store_health import StoreBackup, StoreHealth, StoreRepair
from becalm.units import listed
from becalm.wording.measurement import counted, memory

_ROWS = {
    "host": "machine", "study": "study", "study_workload": "program", "study_settings": "set of settings",
    "study_noticed": "finding", "study_count": "count", "run": "run", "run_text": "output",
    "run_load": "record of load", "run_series": "series of load", "region_part": "piece of timed regions",
    "verdict": "result",
}  # fmt: skip
"""The names of a table's rows."""

_MANY = {
    "study": "studies", "study_settings": "sets of settings", "run_load": "records of load",
    "run_series": "series of load", "region_part": "pieces of timed regions",
}  # fmt: skip


def rows(found: Mapping[str, int]) -> str:
    """Return rows by table in words, those of no row left out."""
    known = [(table, count) for table, count in found.items() if count]
    return ", ".join(
        f"{count:,} {_ROWS[table] if count == 1 else _MANY.get(table, _ROWS[table] + 's')}" for table, count in known
    )


def health(found: StoreHealth) -> str:
    """Return whether a store is whole, and what to do where it is not."""
    size = f"{_studies(len(found.studies))} with {counted(sum(study.runs for study in found.studies), 'run')}"
    if found.whole:
        return f"The store {found.store} is whole: {size}."
    bad = sum(bool(study.problems) for study in found.studies)
    what = f"{_studies(bad)} of {len(found.studies)} damaged" if found.studies else "nothing of it can be read"
    return (
        f"The store {found.store} is damaged: {what}. Nothing in it was changed. Save what can be saved in a new one: "
        f"becalm store repair NEW --store {found.store}"
    )


def backup(found: StoreBackup) -> str:
    """Return where a copy is."""
    return f"The store {found.store} was copied to {found.copy} ({memory(found.size)})."


def repair(found: StoreRepair) -> str:
    """Return what was saved and what was lost."""
    lines = [f"Saved in {found.new}: {rows(found.rows) or 'nothing'}. The store {found.store} was not changed."]
    if found.damaged:
        lines.append(f"Left out, since they are not as they were stored: {rows(found.damaged)}.")
    if found.missing:
        lines.append(f"Lost or left out, by the counts of their studies: {rows(found.missing)}.")
    if found.described_anew:
        numbers = listed(map(str, found.described_anew))
        lines.append(f"Nothing but runs and records is left of study {numbers}: becalm export N --format csv")
    if found.pages:
        lines.append(f"{counted(found.pages, 'page')} could not be read in full.")
    if not (found.damaged or found.missing or found.described_anew or found.pages):
        lines.append("Nothing was lost, as far as can be told.")
    return "\n".join(lines)


def _studies(number: int) -> str:
    return f"{number} study" if number == 1 else f"{number} studies"
