"""The sudoers file that lets users change settings of this machine with `--sudo`, and nothing else.

It names `becalm-helper` alone, by a path that only root can write: whoever could change that file, or a directory above
it, would be root.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import re
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path

from becalm.errors import MachineError, UsageError
from becalm.hosts.root_helper import INSTALLED, helper_path, packaged
from becalm.verbs.settings_service import write_whole

FILE = "etc/sudoers.d/becalm"
ACTION = "usr/share/polkit-1/actions/org.becalm.helper.policy"

MARK = "# Written by `becalm install-sudoers`, which replaces and removes it."

_WHO = re.compile(r"%?[A-Za-z_][A-Za-z0-9_.-]*")
"""A user, or a group after a percent sign, in letters without another meaning in sudoers(5)."""

_PLAIN = re.compile(r"/[A-Za-z0-9_./+-]+")


def sudoers(who: Sequence[str], helper: str) -> str:
    """Return the sudoers file for these users and %groups. Raises UsageError."""
    if not who:
        raise UsageError("Name who may change settings: a user, or a group as %NAME.")
    for name in who:
        if not _WHO.fullmatch(name) or name == "ALL":
            raise UsageError(f"{name!r} is neither a user nor a group (%NAME) that a sudoers file can name.")
    if not _PLAIN.fullmatch(helper):
        raise UsageError(f"The path {helper!r} has characters that mean something else in a sudoers file.")
    # "" is: without arguments (sudoers(5), "Command").
    lines = [f'{name} ALL=(root) NOPASSWD: {helper} ""' for name in who]
    return "\n".join([MARK, "# Settings of becalm's catalogue and their way back: no program, no file.", *lines, ""])


def show_sudoers(who: Sequence[str], *, copy: bool = False) -> str:
    """Return the sudoers file that `install_sudoers` would write. Raises UsageError."""
    return sudoers(who, str(INSTALLED) if copy else helper_path())


def action(helper: str) -> str:
    """Return the polkit action for pkexec(1): it asks for an administrator's password, then for nothing for minutes."""
    return f"""\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE policyconfig PUBLIC "-//freedesktop//DTD PolicyKit Policy Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/PolicyKit/1/policyconfig.dtd">
<!-- Written by `becalm install-sudoers`, which replaces and removes it. -->
<policyconfig>
  <action id="org.becalm.helper">
    <description>Change settings of this machine for measurements</description>
    <message>becalm wants to change settings of this machine, and restores them afterwards.</message>
    <defaults>
      <allow_any>no</allow_any>
      <allow_inactive>no</allow_inactive>
      <allow_active>auth_admin_keep</allow_active>
    </defaults>
    <annotate key="org.freedesktop.policykit.exec.path">{helper}</annotate>
    <annotate key="org.freedesktop.policykit.exec.argv1"></annotate>
  </action>
</policyconfig>
"""


def install_sudoers(
    who: Sequence[str], *, copy: bool = False, polkit: bool = False, root: Path = Path("/")
) -> list[str]:
    """Let users and %groups change settings with `--sudo`: write the sudoers file, after `visudo -c` has accepted it.

    Args:
        who: users, and groups as %NAME.
        copy: install a copy of becalm-helper that only root can write, and name that copy in the file.
        polkit: write the polkit action for pkexec, too.
        root: the directory whose files are written.

    Returns a sentence for each thing done. Raises UsageError and MachineError.
    """
    _need_root(root)
    for name in who:
        _check_known(name)
    done = []
    source = packaged()
    helper = INSTALLED if copy or (root / str(INSTALLED)[1:]).exists() else source
    text = sudoers(who, str(helper))
    there = root / str(helper)[1:] if helper == INSTALLED else helper
    try:
        if copy:
            write_whole(there, source.read_bytes(), 0o755)
            done.append(f"becalm-helper was copied to {there}.")
        elif there.read_bytes() != source.read_bytes():
            raise MachineError(f"{there} is of another becalm. Nothing was changed. Renew it: --copy")
        _check_only_roots(there, root)
        _write_checked(root / FILE, text)
        done.append(f"{root / FILE} was written: {', '.join(who)} may use --sudo without a password.")
        if polkit:
            write_whole(root / ACTION, action(str(helper)).encode(), 0o644)
            done.append(f"{root / ACTION} was written.")
    except OSError as error:
        raise MachineError(f"The sudoers file cannot be installed: {error.filename}: {error.strerror}.") from error
    return done


def remove_sudoers(root: Path = Path("/")) -> list[str]:
    """Undo `install_sudoers`. Returns a sentence for each thing done, none when nothing was installed."""
    _need_root(root)
    done = []
    for path in (root / FILE, root / ACTION, root / str(INSTALLED)[1:]):
        try:
            if path != root / str(INSTALLED)[1:]:
                _check_ours(path)
            path.unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise MachineError(f"{path} cannot be removed: {error.strerror}.") from error
        done.append(f"{path} was removed.")
    with contextlib.suppress(OSError):
        (root / str(INSTALLED)[1:]).parent.rmdir()
    return done


def _need_root(root: Path) -> None:
    if root == Path("/") and os.geteuid() != 0:
        raise MachineError("Only root may decide who may use --sudo: run this as root. Nothing was changed.")


def _check_known(name: str) -> None:
    """Raise UsageError for a user or group that this machine does not have, as the name may be given to anybody
    later."""
    try:
        grp.getgrnam(name[1:]) if name.startswith("%") else pwd.getpwnam(name)
    except (KeyError, ValueError):
        kind = "group" if name.startswith("%") else "user"
        raise UsageError(f"There is no {kind} {name.removeprefix('%')!r} on this machine.") from None


def _check_only_roots(path: Path, root: Path) -> None:
    """Raise MachineError when a user other than root could change the file at a path."""
    part = path
    while True:
        about = part.lstat()
        # Below a directory other than / the files belong to whoever creates them.
        owners = {0, os.geteuid()} if root != Path("/") else {0}
        if stat.S_ISLNK(about.st_mode) or about.st_uid not in owners or about.st_mode & 0o022:
            raise MachineError(
                f"Users other than root can change {part}, so a sudoers file that names {path} would make them root. "
                "Nothing was allowed. Have a copy where only root can write: becalm install-sudoers --copy"
            )
        if part in (root, part.parent):
            return
        part = part.parent


def _check_ours(path: Path) -> None:
    """Raise MachineError for a file that becalm did not write, and OSError."""
    if MARK.removeprefix("# ") not in path.read_text(encoding="utf-8", errors="replace"):
        raise MachineError(f"{path} was not written by becalm. It was left as it is.")


def _write_checked(path: Path, text: str) -> None:
    """Write a sudoers file that visudo accepts. sudo reads no file with a dot in its name."""
    with contextlib.suppress(FileNotFoundError):
        _check_ours(path)
    new = path.with_name("becalm.new")
    write_whole(new, text.encode(), 0o440)
    try:
        done = subprocess.run(["visudo", "-c", "-q", "-f", new], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            message = " ".join((done.stderr + done.stdout).split())
            raise MachineError(f"visudo does not accept the sudoers file: {message}. Nothing was changed.")
        os.replace(new, path)
    except FileNotFoundError:
        raise MachineError("There is no visudo here, which checks sudoers files. Nothing was changed.") from None
    finally:
        new.unlink(missing_ok=True)
