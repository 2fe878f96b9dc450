"""A checksum of each stored run, so that a damaged value is never read as a measured one.

It has 31 bits of a sum over the columns, each value times an odd number of its column, modulo 2^64, mixed by the
finalizer of MurmurHash3 (Appleby 2011). A single changed value always changes the sum, and the mixed bits then agree by
chance once in 2^31. An unknown column adds nothing. A text is represented by the CRC-32 of its UTF-8 (`text_checksum`).

Public: checksums, match_checksums, text_checksum, as_text.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

Row = Sequence[int | None]

_STEP = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio, an odd number whose odd multiples are far apart (Knuth, The Art of …, 6.4)."""


def checksums(rows: Iterable[Row]) -> list[int]:
    """Return the checksum of each row of integers, 0 to 2^31 - 1. A row is the study's number and the stored run."""
    known = list(rows)
    if not known:
        return []
    present = np.array([[value is not None for value in row] for row in known])
    values = np.array([[value or 0 for value in row] for row in known], dtype=np.int64).view(np.uint64)
    return [int(mixed) for mixed in _mix(values, present)]


def text_checksum(text: str) -> int:
    """Return the number that represents a text in a row."""
    return zlib.crc32(text.encode())


def as_text(value: object) -> str:
    """Return a stored text. Raises TypeError for another type, and ValueError for bytes that are not UTF-8."""
    if not isinstance(value, str):
        raise TypeError(f"not a text: {type(value).__name__}")
    value.encode()
    return value


def match_checksums(rows: Sequence[Row], stored: Sequence[int]) -> list[bool]:
    """Return for each row whether its checksum is the stored one."""
    # SQLite stores any type, and an array would accept an empty text or "5" as an integer.
    current = checksums(rows) if _integers(rows) else [_row_checksum(row) for row in rows]
    return [now == checksum for now, checksum in zip(current, stored, strict=True)]


def _row_checksum(row: Row) -> int:
    return checksums([row])[0] if _integers([row]) else -1


def _integers(rows: Sequence[Row]) -> bool:
    return set(map(type, itertools.chain.from_iterable(rows))) <= {int, type(None)}


def _mix(values: npt.NDArray[np.uint64], present: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint64]:
    odd = np.arange(1, 2 * values.shape[1], 2, dtype=np.uint64) * _STEP
    total = ((values + _STEP) * odd * present).sum(axis=1, dtype=np.uint64)
    for factor in (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)):
        total = (total ^ (total >> np.uint64(33))) * factor
    mixed: npt.NDArray[np.uint64] = total >> np.uint64(33)
    return mixed
