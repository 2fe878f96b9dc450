"""Output in an encoding that lacks signs that becalm writes: replacements stand for them instead of an exception."""

from __future__ import annotations

SIGNS = str.maketrans(
    {
        "±": "+-", "µ": "u", "×": "x", "²": "2", "…": "...", "–": "-", "−": "-", "→": "->", "≤": "<=", "≥": ">=",
        "∞": "inf", "•": "*", "·": ".", "λ": "lambda", "α": "alpha", "β": "beta", "σ": "sigma",
    }
)  # fmt: skip
"""Replacements for the signs that becalm writes; other characters, as in a name, are escaped as Python does."""


def instead(error: UnicodeError) -> tuple[str, int]:
    """Return the replacement for characters that an encoding lacks, and where to go on (codecs.register_error)."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return lacking.translate(SIGNS).encode("ascii", "backslashreplace").decode("ascii"), error.end
