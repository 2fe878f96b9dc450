"""Talking to an agent about the next start of a machine, and what the loader's files say about it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.laptop import Snapshot, changed, snapshot, strays
from tests.support.loaders import EFIVARS, VENDOR, environment
from tests.support.stepping import Stepped
from tests.support.talk import Agent, holders
from tests.waiting import wait_for

from becalm.hosts.agent import agent_path

WORDS = ("isolcpus=1,3", "nohz_full=1,3")
UNITS = "etc/systemd/system"
NEXT = "a0000000-0000-4000-8000-000000000002"
"""The id of another boot."""


class Starter(Agent):
    """A conversation with consent to restarts."""

    def __init__(self, root: Path, *, reboot: bool = True, **popen: object) -> None:
        super().__init__(root, **popen)
        version = self.greeting["protocol"]
        self.done("open", protocol=version, environment={}, directory="/", title="a test", reboot=reboot)

    def boot(self, *words: str, **fields: object) -> dict[str, object]:
        """Write an entry with these parameters; return the agent's answer."""
        return self.done("boot", parameters=list(words), **fields)


def custom(root: Path) -> str:
    """Return the text of GRUB's custom.cfg."""
    (path,) = root.glob("boot/grub*/custom.cfg")
    return path.read_text()


def grub_variables(root: Path) -> dict[str, str]:
    """Return the variables in GRUB's environment block."""
    (path,) = root.glob("boot/grub*/grubenv")
    return environment(path.read_bytes())


def about(root: Path) -> dict:
    """Return the agent's report of its boot entry."""
    with Starter(root) as agent:
        return agent.done("status")["boot"]


def reset(root: Path, *options: str) -> None:
    """Restore everything; raise AssertionError when something is left."""
    done = subprocess.run([agent_path(), "restore", "--root", root, *options], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def same(root: Path, before: Snapshot, *but: str) -> None:
    """Check that every file but these is as before."""
    differences = {name: held for name, held in changed(before, snapshot(root)).items() if name not in but}
    assert differences == {}
    assert strays(root) == []


def cut(root: Path, request: str, moment: int | None, **fields: object) -> int:
    """Kill an agent after this number of system calls of a request, or let it finish; return their number."""
    agent = Starter(root)
    try:
        traced = Stepped(agent.pid)
    except PermissionError:
        agent.close()
        pytest.skip("processes cannot be traced here (ptrace is forbidden)")
    agent.send(request, **fields)
    agent.send("bye")
    if traced.run(moment):
        traced.kill()
    agent.process.wait()
    agent.process.stdin.close()
    agent.process.stdout.close()
    agent.process.stderr.close()
    # Its children may have the lock a little longer.
    wait_for(lambda: not holders(root), "nobody holds the lock")
    return traced.stops


def armed(root: Path) -> str | None:
    """Return the name of the entry that starts next, or None when the default does."""
    shot = root / EFIVARS / f"LoaderEntryOneShot-{VENDOR}"
    if shot.exists() and shot.read_bytes():
        return shot.read_bytes()[4:].decode("utf-16-le").rstrip("\0")
    # A variable that was created and not yet written is none.
    return (grub_variables(root).get("next_entry") or None) if list(root.glob("boot/grub*/grubenv")) else None


def check_menu(path: Path) -> None:
    """Check that every block of a GRUB menu is closed, which is what a cut in the middle of a write breaks."""
    depth = 0
    for line in path.read_text().splitlines():
        depth += line.split("#")[0].rstrip().endswith("{")
        depth -= line.strip() == "}"
        assert depth >= 0, line
    assert depth == 0, path


def check_start(root: Path, check: Callable[[Path], None] = check_menu) -> str | None:
    """Check that the next start is whole, has its fall-back and can be removed; return its mark.

    `check` raises an error for a GRUB menu that GRUB cannot read.
    """
    name = armed(root)
    if name is None:
        return None
    mark = name.removeprefix("becalm-").removesuffix(".conf")
    menus = [*root.glob("boot/grub*/custom.cfg"), *root.glob("boot/efi/loader/entries/becalm-*.conf")]
    (text,) = [text for text in (path.read_text() for path in menus) if f"becalm.boot={mark} " in text]
    assert text.endswith("\n")
    if name.endswith(".conf"):
        assert "options" in text
    else:
        assert f"### END becalm {mark} ###" in text
        (menu,) = [path for path in menus if path.name == "custom.cfg"]
        check(menu)
    assert mark in (root / "etc/systemd/system/sysinit.target.wants/becalm-boot.timer").read_text()
    assert mark in (root / "etc/systemd/system/becalm-boot.service").read_text()
    assert mark in (root / "var/lib/becalm/boot").read_text()
    return mark
