"""The share of each function in a profile, from the files of callgrind and the text of `perf script`.

A function is the pair of its symbol and the file name of its code; its callees are not part of it. Suffixes that a
compiler adds to parts and copies of a function (.cold, .part.0, .constprop.0, .isra.0) do not count: they change from
build to build.

Public: callgrind_counts, perf_samples.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath

from becalm.errors import UsageError

Function = tuple[str, str]
"""A symbol, and the file name of the program or library with its code."""

NO_SYMBOL = "[no symbol]"

SUFFIX = re.compile(r"(\.(?:cold|part|constprop|isra|lto_priv|llvm)(?:\.\d+)*)+$")

_COST = re.compile(r"(?:[+-]\d+|\*|\d+|0x[0-9a-f]+)(?: (?:[+-]\d+|\*|\d+|0x[0-9a-f]+))* (\d+)$")
_NAMED = re.compile(r"\((\d+)\)(?: (.*))?$")


def callgrind_counts(text: str) -> Counter[Function]:
    """Return the instructions of each function itself from a callgrind file of one event, Ir.

    Source: Callgrind Format Specification, version 1 (valgrind's manual). Raises UsageError for another file.
    """
    codes, names = dict[str, str](), dict[str, str]()
    counts: Counter[Function] = Counter()
    code, name, inclusive, known = "", NO_SYMBOL, False, False
    for line in text.splitlines():
        key, separator, value = line.partition("=")
        if separator and key in ("ob", "fn", "cob", "cfn"):
            text_of = codes if key.endswith("ob") else names
            full = _full(value, text_of)
            if key == "ob":
                code = full
            elif key == "fn":
                name = full
        elif separator and key == "calls":
            # The next line is the cost of the whole call, which belongs to the callee.
            inclusive = True
        elif (cost := _COST.match(line)) is not None:
            if inclusive:
                inclusive = False
            else:
                counts[_function(name, code)] += int(cost[1])
        elif line.startswith("events:"):
            known = line.split() == ["events:", "Ir"]
    if not known:
        raise UsageError("This is not a callgrind file with Ir as its only event.")
    return counts


def _full(value: str, names: dict[str, str]) -> str:
    """Return a name in full: a file writes it in full once, and later as a number in brackets."""
    match = _NAMED.match(value)
    if match is None:
        return value
    if match[2]:
        names[match[1]] = match[2]
    return names.get(match[1], "")


def perf_samples(text: str) -> Counter[Function]:
    """Return the number of samples in each function, from `perf script -F ip,sym,dso`."""
    samples: Counter[Function] = Counter()
    for line in text.splitlines():
        _, _, rest = line.strip().partition(" ")
        symbol, bracket, code = rest.rpartition(" (")
        if bracket:
            samples[_function("" if symbol == "[unknown]" else symbol, code.removesuffix(")"))] += 1
    return samples


def _function(symbol: str, code: str) -> Function:
    # Callgrind numbers the levels of a recursion: f'2 is f. A hexadecimal address has no symbol.
    plain = SUFFIX.sub("", re.sub(r"'\d+$", "", symbol))
    unnamed = not plain or plain == "???" or re.fullmatch(r"0x[0-9a-f]+", plain)
    return NO_SYMBOL if unnamed else plain, PurePosixPath(code).name or "[unknown]"
