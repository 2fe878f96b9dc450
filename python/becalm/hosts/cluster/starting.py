"""Starting a Dask cluster, or joining one, with workers that stay quiet. The only file here that needs Dask itself.

A worker of ours has one thread, no nanny where Dask lets us choose, one resource `machine`, and none of Dask's
housekeeping that wakes it up many times a second (QUIET).
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
import distributed

from becalm.errors import MachineError, UsageError, install
from becalm.hosts.cluster import through_ssh
from becalm.hosts.cluster.spec import RESOURCE, Spec, hosts_of
from becalm.paths import cache_dir, private_directory

QUIET = {
    # Each default wakes an idle worker: the profiler 100 times a second, the tick 50 times, the memory monitor 10.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "10s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.memory.monitor-interval": "10s",
    # Nobody's tasks are moved from one machine to another.
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.allowed-failures": 0,
}


CONNECT_S = 10
"""The time that a scheduler may take to answer, s."""


def environment() -> dict[str, str]:
    """Return QUIET as environment variables, for workers in processes of their own."""
    return {"DASK_" + name.upper().replace(".", "__").replace("-", "_"): str(value) for name, value in QUIET.items()}


@contextmanager
def started(spec: Spec) -> Iterator[Any]:
    """Yield a client of the cluster; what was started ends with it. Raises MachineError, UsageError."""
    make = {"local": _local, "ssh": _ssh, "slurm": _slurm, "address": _joined}[spec.kind]
    # Workers that are lost are said in our words; Dask's log would say it a dozen times.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with dask.config.set(QUIET), contextlib.ExitStack() as stack:
        try:
            cluster = make(spec, stack)
            client = stack.enter_context(distributed.Client(cluster, set_as_default=False, timeout=CONNECT_S))
        except (OSError, TimeoutError, RuntimeError, ValueError) as error:
            raise MachineError(f"The cluster cannot be started or reached: {error}.") from error
        yield client


def _joined(spec: Spec, stack: contextlib.ExitStack) -> str:
    return spec.place


def _local(spec: Spec, stack: contextlib.ExitStack) -> Any:
    """Return a cluster of processes of this machine, for trying things out: they take turns."""
    # Nannies start processes with this environment.
    with dask.config.set({"distributed.nanny.pre-spawn-environ": environment()}):
        return stack.enter_context(
            distributed.LocalCluster(
                n_workers=spec.workers,
                processes=True,
                threads_per_worker=1,
                memory_limit=0,
                resources={RESOURCE: 1},
                host="127.0.0.1",
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
                **_private(),
            )
        )


def _private() -> dict[str, Any]:
    """Return certificates for this cluster only: a Dask worker runs the code of any client that reaches it."""
    return {"protocol": "tls://", "security": distributed.Security.temporary()}


PARTS = ("ca_file", *(f"{role}_{part}" for role in ("client", "scheduler", "worker") for part in ("cert", "key")))
"""The parts of Dask's TLS, as files that nodes can read."""


def _certificates(directory: str) -> dict[str, Any]:
    """Return `_private` with the certificates in files that only their owner may read."""
    security = _private()["security"]
    files = {}
    for name in (f"tls_{part}" for part in PARTS):
        files[name] = f"{directory}/{name}.pem"
        with open(os.open(files[name], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(getattr(security, name))
    return {"protocol": "tls://", "security": distributed.Security(require_encryption=True, **files)}


_PLACE = re.compile(r"(?:(?P<user>[A-Za-z0-9_][\w.+-]*)@)?(?P<name>[A-Za-z0-9_][\w.-]*)(?::(?P<port>\d{1,5}))?")


def _ssh(spec: Spec, stack: contextlib.ExitStack) -> Any:
    """Return a cluster of workers that Dask starts through asyncssh, which reads ~/.ssh; the scheduler is here."""
    try:
        from distributed.deploy.ssh import Worker
    except ImportError:
        raise MachineError(f"--cluster ssh:FILE needs asyncssh: {install('asyncssh')}.") from None
    machines = []
    for line in hosts_of(spec.place):
        host, *python = line.removeprefix("ssh://").split()
        place = _PLACE.fullmatch(host)
        if place is None or len(python) > 1:
            raise UsageError(
                f"{spec.place}: {line!r} is not a host. Write it like ada@bench.example:22 /opt/bin/python."
            )
        known = {"username": place["user"], "port": place["port"] and int(place["port"])}
        connect = {name: value for name, value in known.items() if value}
        machines.append((place["name"], connect, python[0] if python else "python3"))
    security = _private()["security"]
    seats = through_ssh.carried(machines, security.tls_worker_cert + security.tls_worker_key)
    stack.callback(through_ssh.removed, seats)
    workers = {number: {"cls": Worker, "options": _seated(seat)} for number, seat in enumerate(seats)}
    private = {"host": seats[0].here, "protocol": "tls://", "security": security}
    scheduler = {"cls": through_ssh.Scheduler, "options": {"dashboard": False, "dashboard_address": None, **private}}
    return stack.enter_context(
        distributed.SpecCluster(workers, scheduler, name="becalm", silence_logs=logging.CRITICAL, security=security)
    )


def _seated(seat: through_ssh.Seat) -> dict[str, Any]:
    options = through_ssh.worker(seat, environment())
    return {**options, "kwargs": {**options["kwargs"], "resources": {RESOURCE: 1}}}


@contextmanager
def _shared() -> Iterator[str]:
    """Yield a private directory that all nodes see, for certificates and logs; it is kept after an error."""
    directory = tempfile.mkdtemp(prefix="cluster-", dir=private_directory(cache_dir()))
    try:
        yield directory
    except MachineError as error:
        raise MachineError(f"{error} The nodes' logs are in {directory}.") from error
    shutil.rmtree(directory, ignore_errors=True)


def _slurm(spec: Spec, stack: contextlib.ExitStack) -> Any:
    """Return a cluster of one job a node, each with the whole node to itself."""
    try:
        from dask_jobqueue import SLURMCluster
    except ImportError:
        raise MachineError(f"--cluster slurm needs dask-jobqueue: {install('dask-jobqueue')}.") from None
    given = spec.options
    directory = stack.enter_context(_shared())
    directives = [
        f"--{name}={given[name]}" for name in ("nodelist", "constraint", "reservation", "qos") if name in given
    ]
    cluster = SLURMCluster(
        cores=1,
        processes=1,
        memory="1GB",
        nanny=False,
        queue=given.get("partition"),
        account=given.get("account"),
        walltime=given.get("walltime", "1:00:00"),
        # The worker takes the script's place: a job that is ended leaves no child behind that nobody looks for.
        python=f"exec {shlex.quote(sys.executable)}",
        # The whole node, all its processors and its memory, and nobody else on it.
        job_directives_skip=["--mem", "--cpus-per-task"],
        job_extra_directives=["--exclusive", "--mem=0", *directives],
        job_script_prologue=[f"export {name}={shlex.quote(value)}" for name, value in environment().items()],
        worker_extra_args=["--resources", f"{RESOURCE}=1", "--memory-limit", "0"],
        scheduler_options={"dashboard": False, "dashboard_address": None},
        job_name="becalm",
        log_directory=directory,
        death_timeout="60",
        silence_logs="critical",
        **_certificates(directory),
    )
    stack.enter_context(cluster)
    _accepted(cluster.job_script())
    cluster.scale(jobs=spec.workers)
    return cluster


def _accepted(script: str) -> None:
    """Ask Slurm whether it would take such a job; Dask would wait in vain for one that it does not."""
    try:
        asked = subprocess.run(["sbatch", "--test-only"], input=script, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise MachineError(
            "There is no sbatch on this machine: --cluster slurm works where jobs can be sent."
        ) from None
    if asked.returncode != 0:
        said = " ".join(line.removeprefix("sbatch: error: ") for line in asked.stderr.splitlines()[:2])
        raise MachineError(f"Slurm does not take the job for a node: {said or 'it does not say why'}")
