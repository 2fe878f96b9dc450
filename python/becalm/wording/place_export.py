"""Sentences of exported placements: what the files do and cannot do."""

from __future__ import annotations


def no_form(form: str, forms: str) -> str:
    """Return the sentence about an unknown form."""
    return f"{form!r} is not a form of a placement. The forms are: {forms}."


def no_cpus() -> str:
    """Return the sentence about chips without CPUs."""
    return (
        "The chips of this placement have no CPU numbers: they were given by --chips, or the file of costs has none. "
        "Leave --chips out, or give chips their `cpus`."
    )


def no_rounds(form: str) -> str:
    """Return the sentence that this form cannot express rounds."""
    return (
        f"The programs share one cache, and run in rounds. {form} says on which CPUs something runs, not when: export "
        "`taskset`, a script that runs the rounds."
    )


def no_command(name: str) -> str:
    """Return the sentence about a task without a command."""
    return f"# {name}: the profile has no command for it; run it by: taskset -c CPUS COMMAND"


TASKSET = "This script runs each program on the CPUs of its chip. Run it with sh."
ROUNDS = (
    "This script runs programs in rounds: those of a round at the same time, on all CPUs, and the next round when all "
    "have ended. Run it with sh."
)
SYSTEMD = (
    "For services of these names: put each file into /etc/systemd/system, then `systemctl daemon-reload` and restart "
    "them. CPUAffinity= is what processes begin with, and they may change it; AllowedCPUs= is a cpuset that they "
    "cannot leave (cgroup v2, systemd 244)."
)
KUBERNETES = (
    "Programs of one chip are one pod, with whole CPUs as requests and limits: so the static CPU manager of the "
    "kubelet (--cpu-manager-policy=static) gives them their own CPUs. The kubelet chooses which ones; with the "
    "policy option prefer-align-cpus-by-uncorecache (Kubernetes 1.32) it chooses CPUs that share a cache. Fill in "
    "images and memory."
)
