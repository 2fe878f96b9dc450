"""The cells of a page, and the values of their records (1.6, 2.1). Bytes that do not fit in every respect are not a
cell."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from becalm.store.salvage.page_file import INNER_INDEX, INNER_TABLE, LEAF_INDEX, LEAF_TABLE, PageFile

Value = int | float | str | bytes | None

_WIDTHS = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)
"""The number of bytes of a value by its serial type, except for texts and blobs."""

_REAL = 7


class BrokenError(ValueError):
    """A cell or record that is damaged."""


class RecordCell(msgspec.Struct, frozen=True):
    """A record with its rowid (of a table) and its overflow pages."""

    rowid: int | None
    values: tuple[Value, ...]
    pages: tuple[int, ...]


@dataclass(slots=True)
class Contents:
    """The content of a page of a tree: cells, pages below it, and the number of damaged cells."""

    kind: int
    cells: list[RecordCell] = field(default_factory=list)
    below: list[int] = field(default_factory=list)
    broken: int = 0


def read_contents(file: PageFile, number: int) -> Contents | None:
    """Return the content of a page of a tree; None for another page."""
    page = file.page(number)
    start = 100 if number == 1 else 0
    kind = page[start]
    if kind not in (LEAF_TABLE, LEAF_INDEX, INNER_TABLE, INNER_INDEX):
        return None
    inner = kind in (INNER_TABLE, INNER_INDEX)
    count, after = int.from_bytes(page[start + 3 : start + 5]), start + (12 if inner else 8)
    if after + 2 * count > file.usable:
        return None
    page_contents = Contents(kind)
    for (place,) in struct.iter_unpack(">H", page[after : after + 2 * count]):
        try:
            if not after + 2 * count <= place < file.usable:
                raise BrokenError
            if inner:
                page_contents.below.append(int.from_bytes(page[place : place + 4]))
                place += 4
            if kind != INNER_TABLE:
                page_contents.cells.append(_cell(file, page, place, table=kind == LEAF_TABLE))
        except (BrokenError, IndexError, struct.error):
            page_contents.broken += 1
    if inner:
        page_contents.below.append(int.from_bytes(page[start + 8 : start + 12]))
    return page_contents


def _cell(file: PageFile, page: bytes, place: int, *, table: bool) -> RecordCell:
    length, place = _varint(page, place)
    rowid: int | None = None
    if table:
        rowid, place = _varint(page, place)
        rowid = rowid - (1 << 64) if rowid >> 63 else rowid
    if not 0 < length <= file.count * file.size:
        raise BrokenError
    here = _local(length, file.usable, table)
    if place + here > file.usable:
        raise BrokenError
    payload, pages = page[place : place + here], list[int]()
    if here < length:
        payload, pages = _whole(file, payload, length, int.from_bytes(page[place + here : place + here + 4]))
    return RecordCell(rowid, tuple(_values(payload)), tuple(pages))


def _local(length: int, usable: int, table: bool) -> int:
    """Return the number of bytes of a record on its first page (1.6)."""
    most = usable - 35 if table else (usable - 12) * 64 // 255 - 23
    least = (usable - 12) * 32 // 255 - 23
    if length <= most:
        return length
    local = least + (length - least) % (usable - 4)
    return local if local <= most else least


def _whole(file: PageFile, payload: bytes, length: int, following: int) -> tuple[bytes, list[int]]:
    """Return a record that continues on overflow pages, and these pages (1.6)."""
    parts, missing, pages = [payload], length - len(payload), list[int]()
    while missing:
        if not file.has(following) or following in pages:
            raise BrokenError
        pages.append(following)
        page = file.page(following)
        parts.append(page[4 : 4 + min(missing, file.usable - 4)])
        missing -= len(parts[-1])
        following = int.from_bytes(page[:4])
    if following:
        raise BrokenError
    return b"".join(parts), pages


def _values(payload: bytes) -> Iterator[Value]:
    """Yield the values of a record, whose header must match its length exactly (2.1)."""
    head, place = _varint(payload, 0)
    kinds = []
    while place < head:
        kind, place = _varint(payload, place)
        if kind in (10, 11):
            raise BrokenError
        kinds.append(kind)
    widths = [(kind - 12) // 2 if kind >= 12 else _WIDTHS[kind] for kind in kinds]
    if place != head or head + sum(widths) != len(payload):
        raise BrokenError
    for kind, width in zip(kinds, widths, strict=True):
        data = payload[place : place + width]
        place += width
        yield _value(kind, data)


def _value(kind: int, data: bytes) -> Value:
    if kind == 0:
        return None
    if kind == _REAL:
        return float(struct.unpack(">d", data)[0])
    if kind in (8, 9):
        return kind - 8
    if kind < 12:
        return int.from_bytes(data, signed=True)
    return data.decode("utf-8", "surrogateescape") if kind % 2 else data


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """Return a number of one to nine bytes, and the place after it (1.6)."""
    number = 0
    for last in range(8):
        byte = data[place + last]
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            return number, place + last + 1
    return number << 8 | data[place + 8], place + 9
