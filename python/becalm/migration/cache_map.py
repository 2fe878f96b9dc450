"""The CPUs that share each last-level cache: as typed, or from the header of a perf.data.

Format: tools/perf/Documentation/perf.data-file-format.txt. HEADER_CACHE lists every cache with its level and CPUs.
"""

from __future__ import annotations

import struct
from pathlib import Path

from becalm.errors import UsageError
from becalm.files.text import NotTextError, open_bytes
from becalm.units import cpu_list

CACHE = 20
"""The number of the feature HEADER_CACHE."""

FEATURES = 256
"""The number of bits for features in the header."""

MOST = 1 << 20
"""The largest part of a section to read, in bytes."""

_HEAD = struct.Struct("<8s8Q4Q")
_SECTION = struct.Struct("<QQ")


def typed(text: str) -> list[list[int]]:
    """Return the CPUs of caches, typed as lists with semicolons or spaces, or as ranges with commas: 0-15,16-31.

    Raises UsageError for an invalid list, or a CPU that is named twice.
    """
    parts = [part for part in text.replace(";", " ").split() if part] if set(text) & {";", " "} else text.split(",")
    caches = [sorted(cpu_list(part)) for part in parts if part]
    named = [cpu for cache in caches for cpu in cache]
    if not caches or len(set(named)) < len(named):
        raise UsageError(
            f"{text!r} is not a list of last-level caches. Write the CPUs of each: --llc 0-15,16-31, or "
            "--llc '0-3,8-11;4-7,12-15'."
        )
    return caches


def of_perf_data(path: str | Path) -> list[list[int]]:
    """Return the CPUs of each last-level cache from a file's header; empty if it does not have them."""
    try:
        with open_bytes(path) as file:
            head = file.read(_HEAD.size)
            if len(head) < _HEAD.size or not head.startswith(b"PERFILE2"):
                return []
            fields = _HEAD.unpack(head)
            data_end, words = fields[5] + fields[6], fields[9:]
            bits = [bit for bit in range(FEATURES) if words[bit // 64] >> bit % 64 & 1]
            if CACHE not in bits:
                return []
            file.seek(data_end + bits.index(CACHE) * _SECTION.size)
            offset, size = _SECTION.unpack(file.read(_SECTION.size))
            file.seek(offset)
            return _caches(file.read(min(size, MOST)))
    except (OSError, NotTextError, struct.error, ValueError, UsageError, OverflowError):
        return []


def _caches(section: bytes) -> list[list[int]]:
    """Return the CPUs of each cache of the highest level."""
    _, count = struct.unpack_from("<II", section)
    at, caches = 8, []
    for _ in range(count):
        level = struct.unpack_from("<I", section, at)[0]
        at += 16
        texts = []
        for _ in range(3):
            length = struct.unpack_from("<I", section, at)[0]
            texts.append(section[at + 4 : at + 4 + length].split(b"\0")[0].decode("ascii"))
            at += 4 + length
        caches.append((level, texts[2]))
    last = max(level for level, _ in caches)
    return [sorted(cpu_list(text)) for text in dict.fromkeys(text for level, text in caches if level == last)]
