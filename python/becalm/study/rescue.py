"""The rescue of runs when the store fails during a study: they are written to a file that `becalm import` reads."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from becalm import system_clock
from becalm.errors import MachineError
from becalm.nouns.run import Run
from becalm.nouns.study import Study
from becalm.paths import state_dir
from becalm.report.document import Document
from becalm.report.formats.becalm_json import write


def rescue(rows: Sequence[Run], study: Study) -> tuple[str, str]:
    """Write runs as becalm JSON into the state directory, or else a temporary one.

    Returns the file's path and an empty text; when both directories fail, an empty path and the JSON text.
    """
    text = write(Document(study, rows, created_ns=system_clock.time_ns()))
    name = f"rescued-{time.strftime('%Y%m%d-%H%M%S', time.localtime(system_clock.time_ns() / 1e9))}-{os.getpid()}.json"
    for directory in (state_dir, lambda: Path(tempfile.gettempdir())):
        try:
            path = directory() / name
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(text)
        except (OSError, MachineError):
            continue
        return str(path), ""
    return "", text
