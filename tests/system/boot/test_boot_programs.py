"""GRUB's and systemd's own programs read what the agent writes for the next start."""

import subprocess

import pytest
from tests.needs import need
from tests.samples import samples
from tests.support.boot import NEXT, UNITS, WORDS, Starter, check_start, custom, cut, grub_variables, reset, same
from tests.support.laptop import snapshot
from tests.support.loaders import MACHINES, debian, environment, restarted, set_variable
from tests.support.stepping import cuts

GRUB = [kind for kind in MACHINES if "systemd-boot" not in kind]
"""The machines that GRUB starts."""


def check_script(path):
    """Raise CalledProcessError when GRUB cannot read a menu."""
    subprocess.run([need("grub-script-check"), path], check=True)


@pytest.mark.parametrize("kind", GRUB)
def test_grub_reads_what_is_written(kind, tmp_path):
    root = MACHINES[kind](tmp_path / "root")
    before = grub_variables(root)
    with Starter(root) as agent:
        armed = agent.boot(*WORDS)
    (path,) = root.glob("boot/grub*/custom.cfg")
    check_script(path)
    # The whole menu with our lines where it reads them.
    whole = tmp_path / "whole"
    whole.write_text(next(root.glob("boot/grub*/grub.cfg")).read_text() + path.read_text())
    check_script(whole)
    (block,) = root.glob("boot/grub*/grubenv")
    done = subprocess.run([need("grub-editenv"), block, "list"], capture_output=True, text=True, check=True)
    variables = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert variables == grub_variables(root) == {**before, "next_entry": armed["entry"]}


@pytest.mark.parametrize("kind", GRUB)
def test_the_stand_in_for_grub_editenv_writes_the_same_bytes(kind, tmp_path):
    root = MACHINES[kind](tmp_path / "root")
    (block,) = root.glob("boot/grub*/grubenv")
    for assignment in ("next_entry=becalm-1", "next_entry=becalm-2", "other=x>y"):
        before = block.read_bytes()
        subprocess.run([need("grub-editenv"), block, "set", assignment], check=True)
        assert environment(block.read_bytes()) == environment(set_variable(before, assignment))
        assert len(block.read_bytes()) == len(set_variable(before, assignment))


@pytest.mark.parametrize("kind", ["debian, a person's custom.cfg", "fedora"])
def test_grub_reads_the_menu_wherever_the_agent_is_killed(kind, tmp_path):
    root = MACHINES[kind](tmp_path / "root")
    before = snapshot(root)
    moments = cut(root, "boot", None, parameters=WORDS)
    reset(root)
    for moment in cuts(moments, samples(10, 50)):
        cut(root, "boot", moment, parameters=WORDS)
        check_start(root, check_script)
        for menu in root.glob("boot/grub*/custom.cfg"):
            check_script(menu)
        reset(root)
        same(root, before)


def verify(*units):
    """Return what systemd has to say about becalm in these units."""
    command = [need("systemd-analyze"), "verify", "--man=no", *units]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [line for line in done.stderr.splitlines() if "becalm" in line]


def test_systemd_understands_the_units(tmp_path):
    root = debian(tmp_path / "root")
    with Starter(root) as agent:
        mark = agent.boot(*WORDS, limit_s=90)["mark"]
    assert verify(root / UNITS / "becalm-boot.timer", root / UNITS / "becalm-boot.service") == []
    restarted(root, boot=NEXT, mark=mark, parameters=WORDS)
    with Starter(root) as agent:
        agent.done("healthy")
        agent.done("keep_boot", parameters=list(WORDS))
    assert mark in custom(root)
    assert [line for line in verify(root / UNITS / "becalm-kept.service") if "not executable" not in line] == []
