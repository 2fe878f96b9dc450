"""Text from elsewhere made fit to show: characters that a terminal obeys or a reader cannot see are written out.

Names of programs, their standard error, journals, profiles and imported files hold any characters. A terminal acts on
control characters (ECMA-48), and direction overrides (Unicode, UAX 9) make a line read as something else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from becalm.line import CONTROLS, DIRECTIONS_AND_LINES, SURROGATES, Line, escape_sequence

_SURROGATE = re.compile(f"[{SURROGATES}]")
_HIDDEN = re.compile(rf"(?![\t\n])[{CONTROLS}{DIRECTIONS_AND_LINES}{SURROGATES}]")


def printable(text: str) -> str:
    """Return `text` with such characters written out as `\\x1b` or `\\u202e`; tabs and line ends stay, `\\r\\n`
    becomes one line end."""
    return _HIDDEN.sub(escape_sequence, text.replace("\r\n", "\n"))


def one_line(text: str) -> Line:
    """Return a name as printable text on one line, so that it cannot look like more rows of a table."""
    return Line.escape(text.replace("\r\n", "\n"))


def without_endless_words(text: str) -> str:
    """Return a sentence in which words longer than any path are cut: errors quote what users pass by mistake."""
    return _ENDLESS.sub(lambda match: f"{match[0][:LONGEST_QUOTE]}… ({len(match[0]):,} characters)", text)


LONGEST_QUOTE = 200
"""The number of characters that stay of a word that is cut."""

_ENDLESS = re.compile(r"\S{4097,}")


def process_name(name: str) -> Line:
    """Return the name of a process for a line of text; a name may be empty or hold any characters."""
    return one_line(name or "(no name)")


def lettered(text: str, encoding: str) -> str:
    """Return text with replacements for signs that the encoding lacks; before layout, since some are longer."""
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        # Imported only where it is needed, to keep the start short.
        from becalm.wording.letters import SIGNS

        return text.translate(SIGNS)
    return text


def encodable(text: str) -> str:
    """Return a text that any file can hold: bytes that are not UTF-8 (PEP 383) are written out, such as `\\xff`."""
    return _SURROGATE.sub(escape_sequence, text)


def cut(text: str, width: int) -> str:
    """Return a name cut to at most `width` columns of a terminal; beginning and end stay, since names differ there."""
    if width_of(text) <= width:
        return text
    if width < 3:
        return text[:width]
    first, last = "", ""
    room = width - 1
    for front, back in zip(text, reversed(text), strict=True):
        if width_of(first + last) + width_of(back) > room:
            break
        last = back + last
        if width_of(first + last) + width_of(front) > room:
            break
        first += front
    return f"{first}…{last}"


def width_of(text: str) -> int:
    """Return the columns of a terminal that a text takes (UAX 11): 2 for wide letters, 0 for combining marks."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def distinct(names: Sequence[str], width: int) -> tuple[str, ...]:
    """Return names of at most about `width` columns; different names stay different, equal ones stay equal.

    Where cut names would look alike, the beginning that they share is left out; where that does not tell them apart
    either, they are cut further and numbered: "a…z [2]".
    """
    shown = {name: cut(name, width) for name in dict.fromkeys(names)}
    groups: dict[str, list[str]] = {}
    for name, short in shown.items():
        groups.setdefault(short, []).append(name)
    taken = {short for short, alike in groups.items() if len(alike) == 1}
    for alike in (group for group in groups.values() if len(group) > 1):
        later = _without_shared_beginning(alike, width)
        if len(set(later)) == len(alike) and taken.isdisjoint(later):
            shown.update(zip(alike, later, strict=True))
            taken.update(later)
            continue
        number = 0
        for name in alike:
            label = ""
            while not label or label in taken:
                number += 1
                mark = f" [{number}]"
                label = cut(name, max(1, width - len(mark))) + mark
            shown[name] = label
            taken.add(label)
    return tuple(shown[name] for name in names)


def _without_shared_beginning(names: Sequence[str], width: int) -> list[str]:
    """Return names cut to a width, from the beginning of the first word in which they differ."""
    # What the first and the last in sorted order share, all of them share.
    pairs = enumerate(zip(min(names), max(names), strict=False))
    shared = names[0][: next(place for place, (first, second) in pairs if first != second)]
    start = max(shared.rfind(mark) for mark in "/ .,:(=") + 1
    return [cut(f"…{name[start:]}" if start else name, width) for name in names]
