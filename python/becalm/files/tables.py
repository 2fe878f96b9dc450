"""Parsers of TOML and JSON that people write. Errors name the place, and unknown names are refused."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from becalm.errors import UsageError
from becalm.files.text import read_text


def toml(text: str) -> dict[str, Any]:
    """Return a TOML document. Raises ValueError if the text is not TOML, or is nested too deeply."""
    # Importing it costs some 2 ms, which no command pays that reads no file.
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_toml(path: str | Path, called: str = "") -> dict[str, Any]:
    """Return the TOML document of a file in any encoding. `called`: the subject of the error message.

    Raises UsageError if it cannot be read, or is not TOML.
    """
    return parse_toml(read_text(path, called), str(path), called)


def parse_toml(text: str, path: str, called: str = "") -> dict[str, Any]:
    """Return the TOML document of a file's text. Raises UsageError, which names the kind of the file, if it is not
    TOML."""
    try:
        return toml(text)
    except ValueError as error:
        raise UsageError(_described(text, path, called or path, f"is not TOML: {error}")) from None


def _described(text: str, path: str, called: str, unknown: str) -> str:
    from becalm.files.kinds import TOML, describe, kind_of  # Most files are what they should be.

    data = text.encode("utf-8", "replace")
    kind = kind_of(data)
    if not data.strip() or kind is None or any(kind is toml_kind for _, toml_kind in TOML):
        return f"{called} {unknown}."
    return describe(data, path, "").strip()


def json_value(text: str, called: str) -> Any:
    """Return the JSON value of a text. Raises UsageError with this subject if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(_described(text, called, called, f"is not JSON: {error}")) from None


def toml_value(value: str | int | float | bool) -> str:
    """Return a value as TOML: a text as a basic string with escapes (TOML 1.0, String). Bytes that are not UTF-8
    (surrogates in Python) become question marks, as TOML cannot hold them.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return str(value)
    # A JSON string is a TOML basic string, but for this character.
    known = value.encode("utf-8", "replace").decode("utf-8")
    return json.dumps(known, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(name: str) -> str:
    """Return a key as TOML: bare where that can be."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)


def unknown_name(name: str, known: Collection[str]) -> str:
    """Return a hint after an unknown name: the one that was probably meant, or all names."""
    near = difflib.get_close_matches(name, known, n=1)
    # Known names that are short words differ by more than a share of their letters.
    near = near or [
        candidate for candidate in known if candidate.casefold().strip("s_-") == name.casefold().strip("s_-")
    ]
    return f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."


def check_keys(names: Iterable[str], known: Collection[str], where: str) -> None:
    """Raise UsageError for the first key that is not known, with the one that was probably meant."""
    for name in names:
        if name not in known:
            raise UsageError(f"{where} has an unknown key {name!r}. {unknown_name(name, known)}")
