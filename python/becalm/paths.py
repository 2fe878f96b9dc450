"""Where files go: the one place that knows the XDG directories (XDG Base Directory Specification 0.8)."""

from __future__ import annotations

import os
from pathlib import Path

from becalm.errors import MachineError


def data_dir() -> Path:
    """Return the directory of stored data: the store. Created private on first use. Raises MachineError."""
    return made(_place("XDG_DATA_HOME", ".local/share"), "XDG_DATA_HOME")


def meant_store(given: str | None) -> str:
    """Return the path or URL of a store: as given, else BECALM_STORE, else the user's own. Raises MachineError."""
    return given or os.environ.get("BECALM_STORE") or str(data_dir() / "becalm.db")


def state_dir() -> Path:
    """Return the directory of files that last between runs of becalm and are not documents. Raises MachineError."""
    return made(_place("XDG_STATE_HOME", ".local/state"), "XDG_STATE_HOME")


def cache_dir() -> Path:
    """Return the directory of files that can be fetched or made again: kernels for guests. Raises MachineError."""
    return made(_place("XDG_CACHE_HOME", ".cache"), "XDG_CACHE_HOME")


def config_dir() -> Path:
    """Return the directory of files that the person writes: profiles. It need not exist yet. Raises MachineError."""
    return _place("XDG_CONFIG_HOME", ".config")


def spool_dir() -> Path:
    """Return the directory of spools, below the state directory; it need not exist yet. Raises MachineError."""
    return _place("XDG_STATE_HOME", ".local/state") / "spool"


def made(path: Path, variable: str = "XDG_STATE_HOME") -> Path:
    """Return the directory, made private (0700) if it was not there. Raises MachineError; `variable` names the way
    out."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise MachineError(
            f"The directory {path} cannot be made: {error.strerror}. Nothing was changed. "
            f"Set {variable} to a directory you may write."
        ) from error
    return path


def _place(variable: str, usual: str) -> Path:
    base = os.environ.get(variable, "")
    # The specification: a relative path is invalid and to be ignored.
    if base.startswith("/"):
        return Path(base) / "becalm"
    try:
        return Path.home() / usual / "becalm"
    except RuntimeError:
        # HOME is unset and the user has no entry in the password database, as in many containers.
        raise MachineError(f"This user has no home directory. Set HOME, or {variable} to an absolute path.") from None
