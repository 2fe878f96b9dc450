"""Output where the encoding lacks signs that becalm writes: others stand for them, and there is no stack trace."""

from __future__ import annotations

SIGNS = str.maketrans(
    {
        "±": "+-", "µ": "u", "×": "x", "²": "2", "…": "...", "–": "-", "−": "-", "→": "->", "≤": "<=", "≥": ">=",
        "∞": "inf", "•": "*", "·": ".", "λ": "lambda", "α": "alpha", "β": "beta", "σ": "sigma",
    }
)  # fmt: skip
"""The replacements for signs that becalm writes; any other letter, as of a name, is written as Python would."""


def instead(error: UnicodeError) -> tuple[str, int]:
    """Return the replacement for letters that an encoding lacks (codecs.register_error)."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return lacking.translate(SIGNS).encode("ascii", "backslashreplace").decode("ascii"), error.end
