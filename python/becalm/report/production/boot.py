"""Parameters of the kernel: a file of grub.d as Debian and Ubuntu read it, with what others take in its comment."""

from __future__ import annotations

from collections.abc import Sequence

from becalm.nouns.production import Origin, ProductionFile, SettingPlace
from becalm.report.production.lines import comment, head
from becalm.wording.production import about


def write(origin: Origin, places: Sequence[SettingPlace]) -> tuple[ProductionFile, ...]:
    """The file; none without places."""
    if not places:
        return ()
    path = f"/etc/default/grub.d/90-{origin.name}.cfg"
    words = " ".join(each.path for each in places)
    install = ("update-grub   # and start the machine again",)
    undo = (f"rm {path}", "update-grub   # and start the machine again")
    lines = head(origin, install, undo)
    lines += [
        "# Without grub.d (Fedora, RHEL), instead of this file:",
        f'#   grubby --update-kernel=ALL --args="{words}"          and to undo it',
        f'#   grubby --update-kernel=ALL --remove-args="{words}"',
        "# A machine that might not come up with them is safer with becalm apply --boot, which falls back.",
        "",
        *comment(about(each) for each in places),
        f'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT {words}"',
    ]
    knobs = tuple(dict.fromkeys(each.knob for each in places))
    return (ProductionFile("boot", path, "\n".join(lines) + "\n", install, undo, knobs),)
