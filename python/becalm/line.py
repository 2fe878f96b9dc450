"""A line of text that is safe to write into files that other programs read.

Units of systemd, tuned.conf, sysctl.d, tmpfiles.d, shell and GRUB's files are read line by line. A text from elsewhere
(a profile, an imported study, the answer of a host, a repository, the environment) that contains a line end would add a
directive of its own, which root obeys. Such a text becomes a `Line` once, where it is read. Writers accept nothing
else, which mypy checks, and build lines from lines, which `Line` checks again.
"""

from __future__ import annotations

import re

CONTROLS = r"\x00-\x1f\x7f-\x9f"
"""Characters that terminals and readers of lines obey (ECMA-48), as in a set of `re`."""

DIRECTIONS_AND_LINES = r"\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff"
"""Characters that end a line, or make it read as another (Unicode, UAX 9)."""

SURROGATES = r"\ud800-\udfff"
"""Stand-ins for bytes that are not UTF-8 (PEP 383), which no file of text can hold."""

_REFUSED = re.compile(f"[{CONTROLS}{DIRECTIONS_AND_LINES}{SURROGATES}]")


class ControlCharacterError(ValueError):
    """The error for a text that is not a single line; its message has no full stop, to follow the name of the text."""


class Line(str):
    """A text without line ends, control characters, direction overrides and lone surrogates."""

    __slots__ = ()

    def __new__(cls, text: str) -> Line:
        """Check the text. Raises ControlCharacterError, which names the first such character and its place."""
        if (match := _REFUSED.search(text)) is not None:
            raise ControlCharacterError(f"has the control character {match[0]!a} at place {match.start() + 1}")
        return super().__new__(cls, text)

    @classmethod
    def escape(cls, text: str) -> Line:
        """Return the text as a line, with such characters escaped as `\\n`, `\\x1b` or `\\u202e`."""
        return cls(_REFUSED.sub(escape_sequence, text))


def escape_sequence(match: re.Match[str]) -> str:
    """Return the escape sequence of the character that a match contains."""
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:
        # A byte that was not UTF-8 (PEP 383).
        code -= 0xDC00
    return _SHORT.get(code) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


_SHORT = {9: r"\t", 10: r"\n"}
