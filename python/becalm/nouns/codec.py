"""How values become JSON: strings that are not UTF-8, and numbers that JSON does not have."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

Json = Any
"""A value that `json` can write."""


def wire(text: str | None) -> Json:
    """A string as the protocol carries it: itself, or {"hex": …} when it is not UTF-8 (a file name, an argument)."""
    if text is None:
        return None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return {"hex": os.fsencode(text).hex()}
    return text


def unwire(value: Json) -> str | None:
    """The inverse of `wire`."""
    if isinstance(value, dict):
        return os.fsdecode(bytes.fromhex(value["hex"]))
    return None if value is None else str(value)


def finite(value: Any) -> Any:
    """JSON has no infinity and no NaN: both become null, all through a structure of dicts and lists."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    if isinstance(value, StrEnum):
        return str(value)
    return value
