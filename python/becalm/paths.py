"""The directories of files that becalm stores (XDG Base Directory Specification 0.8); no other module knows them."""

from __future__ import annotations

import os
from pathlib import Path

from becalm.errors import MachineError


def data_dir() -> Path:
    """Return the directory of the store, created private on first use. Raises MachineError."""
    return private_directory(_place("XDG_DATA_HOME", ".local/share"), "XDG_DATA_HOME")


def resolve_store(location: str | None) -> str:
    """Return the path or URL of a store: `location`, else BECALM_STORE, else the user's own. Raises MachineError."""
    return location or os.environ.get("BECALM_STORE") or str(data_dir() / "becalm.db")


def state_dir() -> Path:
    """Return the directory of files that last between runs of becalm and are not documents. Raises MachineError."""
    return private_directory(_place("XDG_STATE_HOME", ".local/state"), "XDG_STATE_HOME")


def cache_dir() -> Path:
    """Return the directory of files that can be fetched or built again: kernels for guests. Raises MachineError."""
    return private_directory(_place("XDG_CACHE_HOME", ".cache"), "XDG_CACHE_HOME")


def config_dir() -> Path:
    """Return the directory of files that the user writes: profiles. It need not exist yet. Raises MachineError."""
    return _place("XDG_CONFIG_HOME", ".config")


def spool_dir() -> Path:
    """Return the directory of spools, below the state directory; it need not exist yet. Raises MachineError."""
    return _place("XDG_STATE_HOME", ".local/state") / "spool"


def private_directory(path: Path, variable: str = "XDG_STATE_HOME") -> Path:
    """Create a directory that only the user can read (0700), unless it exists, and return it.

    Raises MachineError, which suggests to set `variable`.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise MachineError(
            f"The directory {path} cannot be made: {error.strerror}. Nothing was changed. "
            f"Set {variable} to a directory you may write."
        ) from error
    return path


def _place(variable: str, default: str) -> Path:
    base = os.environ.get(variable, "")
    # The specification: a relative path is invalid and to be ignored.
    if base.startswith("/"):
        return Path(base) / "becalm"
    try:
        return Path.home() / default / "becalm"
    except RuntimeError:
        # HOME is unset and the user has no entry in the password database, as in many containers.
        raise MachineError(f"This user has no home directory. Set HOME, or {variable} to an absolute path.") from None
