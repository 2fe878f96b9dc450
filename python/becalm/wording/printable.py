"""Text from elsewhere, fit to be shown: what a terminal would obey or a reader could not see is written out.

Names of programs, their standard error, journals, profiles and imported files hold any characters. A terminal acts on
control characters (ECMA-48), and direction overrides (Unicode, UAX 9) make a line read as something that it is not.
"""

from __future__ import annotations

import re

_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
_DIRECTIONS_AND_LINES = r"\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff"
_SURROGATES = r"\ud800-\udfff"
_HIDDEN = re.compile(f"[{_CONTROLS}{_DIRECTIONS_AND_LINES}{_SURROGATES}]")


def printable(text: str) -> str:
    """`text` with such characters as `\\x1b` or `\\u202e`; tabs and ends of lines stay, `\\r\\n` counts as one."""
    return _HIDDEN.sub(_written, text.replace("\r\n", "\n"))


def _written(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:
        # A byte that was no UTF-8 (PEP 383).
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
