"""Starting or joining a Dask cluster with quiet workers. Only this file and `through_ssh` import Dask.

A worker has one thread, no nanny where Dask permits that, one resource `machine`, and none of the housekeeping by which
Dask wakes it many times a second (QUIET).
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
    # By default, an idle worker is woken by the profiler 100 times a second, the tick 50 and the memory monitor 10
    # times.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "10s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.memory.monitor-interval": "10s",
    # No task is moved from one machine to another.
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
    """Start or join a cluster and yield a client; end what was started. Raises MachineError, UsageError."""
    open_cluster = {"local": _local, "ssh": _ssh, "slurm": _slurm, "address": _joined}[spec.kind]
    # becalm reports a lost worker in one sentence; Dask would log it a dozen times.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with dask.config.set(QUIET), contextlib.ExitStack() as stack:
        try:
            cluster = open_cluster(spec, stack)
            client = stack.enter_context(distributed.Client(cluster, set_as_default=False, timeout=CONNECT_S))
        except (OSError, TimeoutError, RuntimeError, ValueError) as error:
            raise MachineError(f"The cluster cannot be started or reached: {error}.") from error
        yield client


def _joined(spec: Spec, stack: contextlib.ExitStack) -> str:
    return spec.place


def _local(spec: Spec, stack: contextlib.ExitStack) -> Any:
    """Return a cluster of processes on this machine, which take turns, to try things out."""
    # Nannies start workers with this environment.
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
    """Return options with new certificates: without them, a worker runs the code of any client that reaches it."""
    return {"protocol": "tls://", "security": distributed.Security.temporary()}


TLS_FILES = ("ca_file", *(f"{role}_{kind}" for role in ("client", "scheduler", "worker") for kind in ("cert", "key")))
"""The files of Dask's TLS settings, which nodes can read."""


def _certificates(directory: str) -> dict[str, Any]:
    """Return the options of `_private`, with the certificates in files that only their owner may read."""
    security = _private()["security"]
    files = {}
    for name in (f"tls_{suffix}" for suffix in TLS_FILES):
        files[name] = f"{directory}/{name}.pem"
        with open(os.open(files[name], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(getattr(security, name))
    return {"protocol": "tls://", "security": distributed.Security(require_encryption=True, **files)}


_HOST = re.compile(r"(?:(?P<user>[A-Za-z0-9_][\w.+-]*)@)?(?P<name>[A-Za-z0-9_][\w.-]*)(?::(?P<port>\d{1,5}))?")


def _ssh(spec: Spec, stack: contextlib.ExitStack) -> Any:
    """Return a cluster of workers that Dask starts through asyncssh, which reads ~/.ssh; the scheduler runs here."""
    try:
        from distributed.deploy.ssh import Worker
    except ImportError:
        raise MachineError(f"--cluster ssh:FILE needs asyncssh: {install('asyncssh')}.") from None
    machines = []
    for line in hosts_of(spec.place):
        host, *python = line.removeprefix("ssh://").split()
        match = _HOST.fullmatch(host)
        if match is None or len(python) > 1:
            raise UsageError(
                f"{spec.place}: {line!r} is not a host. Write it like ada@bench.example:22 /opt/bin/python."
            )
        options = {"username": match["user"], "port": match["port"] and int(match["port"])}
        connect = {name: value for name, value in options.items() if value}
        machines.append((match["name"], connect, python[0] if python else "python3"))
    security = _private()["security"]
    hosts = through_ssh.send_certificates(machines, security.tls_worker_cert + security.tls_worker_key)
    stack.callback(through_ssh.remove_certificates, hosts)
    workers = {number: {"cls": Worker, "options": _worker_options(host)} for number, host in enumerate(hosts)}
    private = {"host": hosts[0].here, "protocol": "tls://", "security": security}
    scheduler = {"cls": through_ssh.Scheduler, "options": {"dashboard": False, "dashboard_address": None, **private}}
    return stack.enter_context(
        distributed.SpecCluster(workers, scheduler, name="becalm", silence_logs=logging.CRITICAL, security=security)
    )


def _worker_options(host: through_ssh.WorkerHost) -> dict[str, Any]:
    options = through_ssh.worker(host, environment())
    return {**options, "kwargs": {**options["kwargs"], "resources": {RESOURCE: 1}}}


@contextmanager
def _shared() -> Iterator[str]:
    """Yield a private directory that all nodes see, for certificates and logs, and keep it after an error."""
    directory = tempfile.mkdtemp(prefix="cluster-", dir=private_directory(cache_dir()))
    try:
        yield directory
    except MachineError as error:
        raise MachineError(f"{error} The nodes' logs are in {directory}.") from error
    shutil.rmtree(directory, ignore_errors=True)


def _slurm(spec: Spec, stack: contextlib.ExitStack) -> Any:
    """Return a cluster with one job per node, each of which has the whole node."""
    try:
        from dask_jobqueue import SLURMCluster
    except ImportError:
        raise MachineError(f"--cluster slurm needs dask-jobqueue: {install('dask-jobqueue')}.") from None
    options = spec.options
    directory = stack.enter_context(_shared())
    directives = [
        f"--{name}={options[name]}" for name in ("nodelist", "constraint", "reservation", "qos") if name in options
    ]
    cluster = SLURMCluster(
        cores=1,
        processes=1,
        memory="1GB",
        nanny=False,
        queue=options.get("partition"),
        account=options.get("account"),
        walltime=options.get("walltime", "1:00:00"),
        # The worker replaces the shell of the job script, so that ending the job leaves no child process behind.
        python=f"exec {shlex.quote(sys.executable)}",
        # The whole node with all its processors and memory, without other jobs.
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
    _check_accepted(cluster.job_script())
    cluster.scale(jobs=spec.workers)
    return cluster


def _check_accepted(script: str) -> None:
    """Raise MachineError if Slurm would not accept a job, for which Dask would wait in vain."""
    try:
        answer = subprocess.run(["sbatch", "--test-only"], input=script, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise MachineError(
            "There is no sbatch on this machine: --cluster slurm works where jobs can be submitted."
        ) from None
    if answer.returncode != 0:
        reason = " ".join(line.removeprefix("sbatch: error: ") for line in answer.stderr.splitlines()[:2])
        raise MachineError(f"Slurm does not accept the job for a node: {reason or 'it gives no reason'}")
