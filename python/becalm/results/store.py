"""The results of checking, copying and repairing a store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from becalm.nouns.codec import plain_dict
from becalm.nouns.result import Result


class StudyHealth(msgspec.Struct, frozen=True):
    """The health of a study: the number of readable runs, and its damaged or missing parts, each as a part of a
    sentence."""

    number: int
    kind: str
    title: str
    runs: int
    problems: tuple[str, ...] = ()


class StoreHealth(Result, frozen=True):
    """The health of a store that was read to the end. `problems`: the faults that the database itself reports."""

    KIND = "store-check"
    DERIVED = ("whole",)

    store: str
    studies: tuple[StudyHealth, ...]
    problems: tuple[str, ...] = ()
    sentence: str = ""

    @property
    def whole(self) -> bool:
        """Whether the store is undamaged."""
        return not self.problems and not any(study.problems for study in self.studies)

    @property
    def exit_code(self) -> int:
        """The exit code: 0 for a store that is whole, else 1."""
        return 0 if self.whole else 1


class StoreBackup(Result, frozen=True):
    """A copy of a store: its place, and its size in bytes."""

    KIND = "store-backup"

    store: str
    copy: str
    size: int
    sentence: str = ""


class StoreRepair(Result, frozen=True):
    """The rows that were saved from a damaged store.

    - `rows`: the number of rows in the new store, by table
    - `damaged`: the number of rows that were found but are not as they were stored, by table
    - `missing`: the number of rows that the counts of its studies have and the new store lacks, by table
    - `described_anew`: studies whose description is lost
    - `pages`: pages that cannot be read
    - `health`: the health of the new store

    Rows of which nothing is left are neither in `rows` nor in `damaged`.
    """

    KIND = "store-repair"

    store: str
    new: str
    rows: Mapping[str, int]
    damaged: Mapping[str, int]
    missing: Mapping[str, int]
    described_anew: tuple[int, ...]
    pages: int
    health: StoreHealth
    sentence: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, with the fields of the health."""
        return {**super().to_json(), "health": plain_dict(self.health)}
