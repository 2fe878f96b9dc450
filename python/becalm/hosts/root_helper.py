"""`becalm-helper`, which root runs for an agent that is not root, and which sudo starts for `--sudo`.

A copy that root has installed (`becalm install-sudoers`) takes precedence over that of the package.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

from becalm.errors import MachineError

INSTALLED = Path("/usr/local/lib/becalm/becalm-helper")
"""The copy by `becalm install-sudoers`, in a directory that only root can write."""

SUDO_S = 60.0
"""The time in which sudo has to answer if it may not ask for a password, s; as long as an agent waits for it."""

PROMPT = "Password of %u, to change settings of this machine: "


def packaged() -> Path:
    """Return the helper inside the installed package. Raises MachineError when it is not there."""
    path = Path(__file__).parents[1] / "becalm-helper"
    if not os.access(path, os.X_OK):
        raise MachineError(
            f"becalm-helper is missing: {path} is not an executable file. Install becalm with `pip install .`, "
            "which builds it (Rust is needed), or run becalm as root."
        )
    return path


def helper_path() -> str:
    """Return the path of the helper that sudo starts. Raises MachineError if there is none."""
    return str(INSTALLED if os.access(INSTALLED, os.X_OK) else packaged())


def ask_sudo(path: str) -> None:
    """Have sudo start the helper, which ends at once, so that sudo asks for a password while the terminal is free.

    Raises MachineError if sudo refuses, or does not end within SUDO_S where nobody has to type.
    """
    try:
        if _run("-n", path, quiet=True, limit_s=SUDO_S) == 0:
            return
        askpass = ["-A"] if "SUDO_ASKPASS" in os.environ and not sys.stdin.isatty() else []
        if _run(*askpass, "-p", PROMPT, path) == 0:
            return
    except FileNotFoundError:
        raise MachineError("--sudo was given, but there is no sudo on this machine. Run becalm as root.") from None
    except subprocess.TimeoutExpired:
        raise MachineError(
            f"sudo did not answer within {SUDO_S:g} s when it was asked to start {path}. Nothing was changed. "
            "`sudo -n true` shows whether sudo answers."
        ) from None
    raise MachineError(
        f"sudo does not start {path}. Nothing was changed. Run without --sudo, or have root allow it: "
        "becalm install-sudoers"
    )


def _run(*words: str, quiet: bool = False, limit_s: float | None = None) -> int:
    """Run sudo with these arguments, and return its exit code. Without input the helper ends at once.

    Raises subprocess.TimeoutExpired after `limit_s` seconds.
    """
    *options, path = words
    errors = subprocess.DEVNULL if quiet else None
    command = ["sudo", *options, "--", path]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
    try:
        return process.wait(limit_s)
    except BaseException:
        # It belongs to root, and may have to be left.
        with contextlib.suppress(PermissionError):
            process.kill()
        raise
