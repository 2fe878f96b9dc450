"""Sentences about runs that a killed becalm left, and about damaged or missing rows of a store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from becalm.nouns.study import StoredStudy
from becalm.units import join_names
from becalm.wording.numbers import are, counted


def recovered(study: int, runs: int, aside: Path | None = None) -> str:
    """Return the sentence about recovered runs of a killed becalm. `aside`: the file that holds the unreadable rest."""
    result = f"Recovered {counted(runs, 'run')} of study {study} that a killed becalm could not store."
    if aside is None:
        return result
    rest = f"they are damaged, or of a study that this store does not have. They are stored in {aside}."
    if not runs:
        return f"Runs that a killed becalm could not store cannot be read: {rest}"
    return f"{result} Others cannot be read: {rest}"


def left_elsewhere(study: int, host: str) -> str:
    """Return the sentence about a killed becalm that measured on another machine, whose last runs are still there."""
    return (
        f"The becalm that measured study {study} was killed. Runs that had not arrived may still be on {host}: the "
        "next one that measures there fetches them."
    )


_ROWS = {
    "run": ("run", "runs"),
    "load": ("record of load", "records of load"),
    "series": ("series of load", "series of load"),
    "text": ("output", "outputs"),
}
"""The names of the parts of a stored study, singular and plural."""


def damaged_rows(study: int, damaged: Mapping[str, tuple[int, int]]) -> str:
    """Return the sentence about damaged or missing rows of a store; pairs of their number and the number of all."""
    lost = [(*damaged[kind], words) for kind, words in _ROWS.items() if kind in damaged]
    parts = [f"{many:,} of {of:,} {words[of != 1]}" for many, of, words in lost]
    rest = "the other runs" if "run" in damaged else "the rest"
    return (
        f"{join_names(parts)} of study {study} are damaged: they are not as they were stored, and are left out. Check "
        f"the disk, and move the store aside; `becalm export` saves {rest}."
    )


def missing_runs(study: StoredStudy) -> str:
    """Return the sentence about runs that a store has lost without a trace."""
    pronoun = "it" if study.missing_at_end == 1 else "them"
    return (
        f"In study {study.number} {last_missing(study)}: the store has lost {pronoun}. Check the disk, and "
        "move the store aside; `becalm export` saves the other runs."
    )


def damage(study: StoredStudy) -> str:
    """Return the damage or loss of a study as a part of a sentence; empty for an intact one."""
    return study.wrong or (last_missing(study) if study.missing else "")


def last_missing(study: StoredStudy) -> str:
    """Return the number of missing runs as a part of a sentence, and whether they are the last ones."""
    count, of = study.missing_at_end or study.missing, study.rows + study.missing
    last = "the last " if study.missing_at_end else ""
    many = "run" if last and count == 1 else f"{count:,}"
    return f"{last}{many} of its {counted(of, 'run')} {are(count)} missing"
