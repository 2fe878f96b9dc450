"""Output where the encoding lacks signs that becalm writes: others stand for them, and there is no stack trace."""

from __future__ import annotations

import codecs
import io
from typing import TextIO

SIGNS = str.maketrans(
    {
        "±": "+-", "µ": "u", "×": "x", "²": "2", "…": "...", "–": "-", "−": "-", "→": "->", "≤": "<=", "≥": ">=",
        "∞": "inf", "•": "*", "·": ".", "λ": "lambda", "α": "alpha", "β": "beta", "σ": "sigma",
    }
)  # fmt: skip
"""What stands for signs that becalm writes; any other letter, as of a program's name, is written as Python would."""

HANDLER = "becalm"


def _instead(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    text = lacking.translate(SIGNS)
    return text.encode("ascii", "backslashreplace").decode("ascii"), error.end


def write_out(*streams: TextIO, encoding: str | None = None) -> None:
    """Have these streams write what their encoding, or this one, lacks by what it has."""
    codecs.register_error(HANDLER, _instead)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=encoding or stream.encoding, errors=HANDLER)
