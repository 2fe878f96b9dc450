"""The circumstances of a measurement (time, machine, commands), which make a report evidence later."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.results.compare import Circumstances


def circumstances(study: Study, facts: Mapping[str, Any], when_ns: int | None) -> Circumstances:
    """Return the circumstances of a study.

    `facts`: the facts of its machine, as the host reports them. `when_ns`: the start of the study, Unix time in ns.
    """
    host, cpu, kernel, memory = ((facts.get(name) or {}) for name in ("host", "cpu", "kernel", "memory"))
    processor = [str(cpu["model"])] if cpu.get("model") else []
    processor += [f"{cpu['count']} CPUs"] if cpu.get("count") else []
    if memory.get("total_bytes"):
        processor.append(f"{round(memory['total_bytes'] / 2**30)} GiB")
    return Circumstances(
        when_ns=when_ns,
        machine=str(host.get("hostname") or study.host),
        processor=", ".join(processor),
        kernel=str(kernel.get("release") or ""),
        commands=tuple(map(_command, study.workloads)),
    )


def _command(workload: Workload) -> str:
    """Return the command as it could be typed, with its directory, environment and input."""
    around = [f"cd {shlex.quote(workload.directory)} &&"] if workload.directory else []
    around += [f"{name}={shlex.quote(value)}" for name, value in workload.environment]
    command = shlex.join(workload.argv) or workload.name
    rest = [f"< {shlex.quote(workload.input)}"] if workload.input else []
    return " ".join([*around, command, *rest])
