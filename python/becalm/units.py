"""Durations, fractions and lists as people write them: "30s", "1.5ms", "2min"; "0.5%", "0.005"; "a, b and c".

Used by the API and the command line alike, so that `budget="30s"` and `--budget 30s` mean the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from becalm.errors import UsageError

UNITS_NS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}

LONGEST_NS = 100 * 365 * 24 * UNITS_NS["h"]
"""The longest duration, a century: longer ones are mistakes, and do not fit into 63 bits of nanoseconds for long."""

MOST_BYTES = 1 << 60
"""The largest size, an exbibyte, above every memory, disk and network."""

MOST_WHOLE = 2**63 - 1
"""The largest whole number, which 64 bits hold with a sign as the store keeps it."""

NAMED = 5
"""The number of names that a sentence lists before it counts the rest."""

MOST_QUOTED = 200
"""The number of characters of a text that a sentence quotes."""

_DURATION = re.compile(r"\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)\s*(ns|us|µs|ms|s|min|h|)\s*", re.IGNORECASE)
_FRACTION = re.compile(r"\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)\s*(%?)\s*", re.IGNORECASE)


_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?", re.IGNORECASE)
_SEPARATED = re.compile(r"[+-]?[0-9](?:[0-9.,'_ \u2019\u00a0\u202f\u2009]*[0-9])?")

BOUND = "\ufdd0"
"""A stand-in for the space between a number and its unit while lines are broken: rich breaks them at no-break spaces,
too. Unicode reserves this character for uses within programs."""

_UNIT = r"(?:%|[num\u00b5]?s|min|h|[kMGT]?Hz|(?:[kKMGT]i?)?B|[kM]?[WJ])"
_BEFORE_UNIT = re.compile(rf"(?<=[0-9]) (?={_UNIT}(?![\w/]|\.\w))")


def bind_units(text: str) -> str:
    """Return a text of the same length in which a line breaker leaves numbers on one line with their units."""
    return _BEFORE_UNIT.sub(BOUND, text)


def release_units(text: str) -> str:
    """Return the text, or a line of it, that `bind_units` was given."""
    return text.replace(BOUND, " ")


def plain_number(text: str) -> float:
    """Return the number that a person typed. Raises UsageError, also for one that can be read in two ways: 1,234."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return float(text)
    if _SEPARATED.fullmatch(text):
        raise UsageError(
            f"{text!r} has separators, and can be read in two ways. Write it with a point for decimals, "
            "and nothing for thousands: 1234 or 1.234."
        )
    raise UsageError(f"{brief(text)} is not a number.")


def whole_number(text: str) -> int:
    """Return the whole number that a person typed. Raises UsageError, also for one with separators: 1_000 or 1,000."""
    if not re.fullmatch(r"[+-]?[0-9]+", text.strip()):
        plain_number(text)
        raise UsageError(f"{brief(text)} is not a whole number.")
    # Python refuses to read very many digits; 19 and a sign reach to the limit.
    if len(text.strip().lstrip("+-").lstrip("0")) > 19 or abs(int(text)) > MOST_WHOLE:
        raise UsageError(f"A whole number must be at most {MOST_WHOLE}, not {text.strip():.40}.")
    return int(text)


def duration_ns(value: float | str) -> int:
    """Return a duration in ns; numbers and text without a unit are seconds. Raises UsageError."""
    if isinstance(value, str):
        match = _DURATION.fullmatch(value)
        if match is None:
            raise UsageError(f"{brief(value)} is not a duration. Write it like 30s, 500ms or 2min.")
        seconds_ns = float(match[1]) * UNITS_NS[match[2].lower()]
    else:
        seconds_ns = value * 1e9
    if not seconds_ns > 0:
        raise UsageError(f"A duration must be more than zero, not {value!r}.")
    if seconds_ns > LONGEST_NS:
        raise UsageError(f"A duration must be at most 100 years, not {value!r}.")
    return max(1, round(seconds_ns))


def limit_ns(value: float | str) -> int | None:
    """Return a budget in ns; "none" or infinity gives no limit (None)."""
    if value == math.inf or (isinstance(value, str) and value.strip().lower() in ("none", "inf")):
        return None
    return duration_ns(value)


def fraction(value: float | str, *, below: float = 1.0) -> float:
    """Return a positive fraction: 0.005, "0.5%" or "0.005".

    A number of `below` and more needs its sign: 2 usually means 2 %, but would be 200 %. Raises UsageError.
    """
    percent = False
    if isinstance(value, str):
        match = _FRACTION.fullmatch(value)
        if match is None:
            raise UsageError(f"{brief(value)} is not a share. Write it like 0.5% or 0.005.")
        percent = bool(match[2])
        number = float(match[1]) / (100 if percent else 1)
    else:
        number = float(value)
    if not math.isfinite(number) or number <= 0:
        raise UsageError(f"A share must be more than zero, not {value!r}.")
    if number >= below and not percent:
        raise UsageError(f"{value} can be read as {number:g}% or as {100 * number:g}%. Write the one that is meant.")
    return number


_SIZE = re.compile(r"\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)\s*([kmgt]?)(i?b|)\s*(/s)?\s*", re.IGNORECASE)


def size_bytes(value: float | str) -> int:
    """Return bytes (or bytes per second): 512M, 512MiB (both of 1024), 512MB (of 1000), 4096. Raises UsageError."""
    if isinstance(value, str):
        match = _SIZE.fullmatch(value)
        if match is None:
            raise UsageError(f"{brief(value)} is not a valid size. Write it like 512M, 64K or 1.5G.")
        base = 1000 if match[3].lower() == "b" and match[2] else 1024
        number = float(match[1]) * float(base) ** " kmgt".index(match[2].lower() or " ")
    else:
        number = float(value)
    if not number >= 1:
        raise UsageError(f"An amount of bytes must be at least 1, not {value!r}.")
    if number > MOST_BYTES:
        raise UsageError(f"An amount of bytes must be at most {MOST_BYTES >> 40}T, not {value!r}.")
    return round(number)


def exit_codes(value: str | Sequence[int] | None) -> tuple[int, ...] | None:
    """Return exit codes from "0,1" or (0, 1); None and "any" give None, which accepts every code. Raises UsageError."""
    if value is None or value == "any":
        return None
    try:
        parts = value.split(",") if isinstance(value, str) else value
        codes = tuple(whole_number(part) if isinstance(part, str) else int(part) for part in parts)
    except (ValueError, UsageError):
        codes = (-1,)
    if any(not 0 <= code <= 255 for code in codes):
        raise UsageError(f"{value!r} is not a list of exit codes. Write it like 0,1, or any.")
    return codes


def cpu_list(value: str | Sequence[int]) -> tuple[int, ...]:
    """Return CPU numbers, ascending, from a list such as "0,2-3" or from numbers. Raises UsageError."""
    try:
        ranges = (
            [[whole_number(end) for end in part.split("-", 1)] for part in value.split(",")]
            if isinstance(value, str)
            else [[int(cpu)] for cpu in value]
        )
        cpus = tuple(sorted({cpu for ends in ranges for cpu in range(ends[0], ends[-1] + 1)}))
    except (ValueError, UsageError):
        cpus = ()
    if not cpus or cpus[0] < 0 or cpus[-1] > 1023:
        raise UsageError(f"{value!r} is not a list of processors. Write it like 0,2-3.")
    return cpus


def brief(text: str) -> str:
    """Return a text quoted for a sentence; a long one is cut and followed by its number of characters."""
    return repr(text) if len(text) <= MOST_QUOTED else f"{text[:MOST_QUOTED]!r}… ({len(text):,} characters)"


def join_names(names: Iterable[str], word: str = "and") -> str:
    """Return names joined in one text: "a, b and c", or "a, b, c, d, e and 7 more"; empty without names."""
    sequence = list(names)
    if len(sequence) > NAMED:
        return f"{', '.join(sequence[:NAMED])} {word} {len(sequence) - NAMED} more"
    return f" {word} ".join([", ".join(sequence[:-1]), sequence[-1]] if len(sequence) > 1 else sequence)
