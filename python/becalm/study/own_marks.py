"""A recorded program with the marks that a built-in kernel sets: `kernel:matrixmult` sets one before each product.

Kernels write marks by CLOCK_MONOTONIC (crates/becalm-core/src/kernel/marks.rs); recordings use CLOCK_MONOTONIC_RAW.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from becalm import hosts, system_clock
from becalm.hosts import Host
from becalm.nouns import tables
from becalm.nouns.workload import AGENT, Workload
from becalm.workloads import single

if TYPE_CHECKING:
    from becalm.nouns.keywords import ProgramKeywords

FLAG = "--marks"


class MarkedProgram(msgspec.Struct, frozen=True):
    """A recorded program. `folder`: where it writes marks; None if it sets none or runs on another machine."""

    workload: Workload
    folder: tempfile.TemporaryDirectory[str] | None = None

    def marks(self, programs: Sequence[Mapping[str, Any]], process: int | None) -> Iterator[dict[str, Any]]:
        """Yield the marks that the program set, in the engine's form of the marks of a log, and remove their file."""
        if self.folder is None:
            return
        with self.folder as folder, suppress(OSError):
            lines = (Path(folder) / "marks").read_text(encoding="ascii").splitlines()
            # The rates of the clocks differ only by NTP's correction, at most 500 ppm (adjtimex(2)).
            ahead = system_clock.monotonic_raw_ns() - system_clock.monotonic_ns()
            number = next((at for at, row in enumerate(programs) if row["task"] == process), None)
            for line in lines if number is not None else ():
                yield {"program": number, "time_ns": int(line.removeprefix("mark ")) + ahead, "number": 1}


def program(command: str | Sequence[str], host: str | Host, **keywords: Unpack[ProgramKeywords]) -> MarkedProgram:
    """Return the program to record. Raises UsageError for a source that names several programs or none."""
    words = [command] if isinstance(command, str) else list(command)
    workload = single(words[0] if len(words) == 1 else words, **keywords)
    argv = list(workload.argv)
    local = isinstance(host, str) and hosts.is_local(host)
    if argv[:2] != [AGENT, "kernel"] or FLAG in argv or not local or not _sets_marks(argv[2]):
        return MarkedProgram(workload)
    folder = tempfile.TemporaryDirectory(prefix="becalm-marks-")
    # Where becalm runs as root, the program runs as the invoking user.
    Path(folder.name).chmod(0o777)
    return MarkedProgram(replace(workload, argv=(*argv, FLAG, f"{folder.name}/marks")), folder)


def _sets_marks(name: str) -> bool:
    return any(
        row.name == name and f"--{parameter.name}" == FLAG
        for row in tables.built_in_kernels()
        for parameter in row.parameters
    )
