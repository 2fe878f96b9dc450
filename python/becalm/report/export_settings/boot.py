"""Parameters of the kernel: a file of grub.d for Debian and Ubuntu, with commands for other systems in its comment."""

from __future__ import annotations

import re
from collections.abc import Sequence

from becalm.line import Line
from becalm.report.export_settings.lines import comment, file_of, fixed, head
from becalm.results.export_settings import Origin, ProductionFile, SettingPlace
from becalm.wording.export_settings import about


def write(origin: Origin, places: Sequence[SettingPlace]) -> tuple[ProductionFile, ...]:
    """Return the file; nothing without places."""
    if not places:
        return ()
    path = Line(f"/etc/default/grub.d/90-{origin.name}.cfg")
    words = _within_quotes(Line(" ".join(place.path for place in places)))
    install = fixed("update-grub   # and start the machine again")
    undo = fixed(f"rm {path}", "update-grub   # and start the machine again")
    lines = head(origin, install, undo)
    lines += [
        *fixed(
            "# Without grub.d (Fedora, RHEL), instead of this file:",
            f'#   grubby --update-kernel=ALL --args="{words}"          and to undo it',
            f'#   grubby --update-kernel=ALL --remove-args="{words}"',
            "# A machine that might not come up with them is safer with becalm apply --boot, which falls back.",
            "",
        ),
        *comment(about(place) for place in places),
        Line(f'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT {words}"'),
    ]
    return (file_of("boot", path, lines, install, undo, places),)


def _within_quotes(text: Line) -> Line:
    """Return a text for the double quotes of the shell that reads the file, which expands nothing in it (POSIX,
    2.2.3)."""
    return Line(re.sub(r'([\\"$`])', r"\\\1", text))
