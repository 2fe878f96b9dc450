"""Directories for what becalm writes in a test."""

import pytest

VARIABLES = ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")


def use_directories(patch: pytest.MonkeyPatch, path) -> str:
    """Have becalm keep its files below a directory; return the path of its store."""
    for variable in VARIABLES:
        patch.setenv(variable, str(path / variable))
    patch.setenv("BECALM_STORE", str(path / "runs.db"))
    return str(path / "runs.db")
