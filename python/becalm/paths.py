"""Where files go: the one place that knows the XDG directories (XDG Base Directory Specification 0.8)."""

from __future__ import annotations

import os
from pathlib import Path

from becalm.errors import MachineError


def data_dir() -> Path:
    """For what is kept: the store. Created private on first use."""
    return _directory("XDG_DATA_HOME", ".local/share")


def state_dir() -> Path:
    """For what lasts between runs of becalm but is no document: spools, rescued runs."""
    return _directory("XDG_STATE_HOME", ".local/state")


def config_dir(*, make: bool = True) -> Path:
    """For what the person writes: profiles. Created private on first use, unless it is only looked at."""
    return _directory("XDG_CONFIG_HOME", ".config", make)


def _directory(variable: str, usual: str, make: bool = True) -> Path:
    base = os.environ.get(variable, "")
    # The specification: a relative path is invalid and to be ignored.
    root = Path(base) if base.startswith("/") else Path.home() / usual
    path = root / "becalm"
    if not make:
        return path
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise MachineError(
            f"The directory {path} cannot be made: {error.strerror}. Set {variable} to a directory you may write."
        ) from error
    return path
