"""Workers on machines reached through ssh. Whoever reaches a Dask port can run code, so all ports are protected.

Before the cluster starts, `send_certificates` logs in to each machine, reads the addresses of both ends of the
connection, and writes the cluster's certificate into a private directory there (`WorkerHost`). The scheduler listens
only at the address that all machines connect to, and each worker only at the address at which it was reached. Both
require TLS with that certificate, and neither has an HTTP server. The cluster is refused where the addresses are hidden
by a jump host, or where machines reach this one by different addresses.

Public: WorkerHost, send_certificates, remove_certificates, worker, Scheduler, SshWorker.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import distributed
import msgspec

from becalm.errors import MachineError

CONNECT_S = 30
"""The time that a login to a machine may take, s."""

# Constant scripts, without text from a hosts file or a remote machine. A login shell may print a greeting first.
_SEND = (
    'sh -c \'umask 077 && place=$(mktemp -d) && cat >"$place/cluster.pem" && '
    'printf "\\nbecalm-host %s %s\\n" "$place" "$SSH_CONNECTION"\''
)
_REMOVE = (
    'sh -c \'read -r place && case "$place" in */tmp.*) rm -f -- "$place/cluster.pem" && rmdir -- "$place";; esac\''
)


class WorkerHost(msgspec.Struct, frozen=True):
    """A machine of the cluster.

    - `connect`: options of asyncssh.
    - `directory`: the directory of its certificate.
    - `here`, `there`: the addresses of both ends of the connection; empty if unknown.
    - `seen`: our address as seen there; empty if unknown.
    """

    host: str
    connect: Mapping[str, Any]
    python: str
    directory: str
    here: str
    seen: str
    there: str


class _WithoutHttp:
    def start_http_server(self, *arguments: Any, **options: Any) -> None:
        """Do nothing: an HTTP server would show everybody what runs."""


class Scheduler(_WithoutHttp, distributed.Scheduler):  # type: ignore[misc]
    """A scheduler without an HTTP server."""


class SshWorker(_WithoutHttp, distributed.Worker):  # type: ignore[misc]
    """A worker without an HTTP server; started on the other machine."""


def send_certificates(machines: Sequence[tuple[str, Mapping[str, Any], str]], pem: str) -> list[WorkerHost]:
    """Write the certificate `pem` to each machine, given as host, options of asyncssh, and Python interpreter.

    Raises MachineError if a machine cannot be reached, or for unsuitable addresses, and removes the certificates.
    """
    hosts: list[WorkerHost] = []
    try:
        asyncio.run(_send_all(machines, pem, hosts))
        _check_addresses(hosts)
    except MachineError:
        remove_certificates(hosts)
        raise
    return hosts


def remove_certificates(hosts: Sequence[WorkerHost]) -> None:
    """Remove the certificates from all machines that can be reached; after the cluster they are useless."""

    async def remove(host: WorkerHost) -> None:
        import asyncssh

        with contextlib.suppress(OSError, asyncssh.Error, TimeoutError):
            async with asyncio.timeout(CONNECT_S), asyncssh.connect(host.host, **host.connect) as connection:
                await connection.run(_REMOVE, input=host.directory + "\n")

    async def remove_all() -> None:
        await asyncio.gather(*(remove(host) for host in hosts))

    if hosts:
        asyncio.run(remove_all())


def worker(host: WorkerHost, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the options of `distributed.deploy.ssh.Worker` for a host."""
    tls = dict.fromkeys(("CA_FILE", "WORKER__CERT", "WORKER__KEY"), f"{host.directory}/cluster.pem")
    variables = {
        **environment,
        **{f"DASK_DISTRIBUTED__COMM__TLS__{part}": path for part, path in tls.items()},
        "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True",
    }
    words = ["env", *(f"{name}={value}" for name, value in variables.items()), host.python]
    return {
        "address": host.host,
        "connect_options": dict(host.connect),
        "kwargs": {"nthreads": 1, "memory_limit": 0, "host": host.there, "protocol": "tls://"},
        "worker_class": f"{__name__}.{SshWorker.__name__}",
        "remote_python": shlex.join(words),
    }


async def _send_all(machines: Sequence[tuple[str, Mapping[str, Any], str]], pem: str, hosts: list[WorkerHost]) -> None:
    async def send(host: str, connect: Mapping[str, Any], python: str) -> None:
        hosts.append(await _send(host, connect, python, pem))

    results = await asyncio.gather(*(send(*machine) for machine in machines), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result


async def _send(host: str, connect: Mapping[str, Any], python: str, pem: str) -> WorkerHost:
    import asyncssh

    try:
        async with asyncio.timeout(CONNECT_S), asyncssh.connect(host, **connect) as connection:
            answer = await connection.run(_SEND, input=pem)
            name = connection.get_extra_info("sockname")
    except (OSError, asyncssh.Error, TimeoutError) as error:
        raise MachineError(f"{host} cannot be reached through ssh: {error or type(error).__name__}.") from error
    lines = [line.split() for line in str(answer.stdout).splitlines() if line.startswith("becalm-host ")]
    if len(lines) != 1 or len(lines[0]) < 2:
        errors = str(answer.stderr).strip().splitlines()
        raise MachineError(
            f"{host}: the cluster's certificate cannot be written there: {errors[-1] if errors else 'no reason given'}."
        )
    _, directory, *addresses = lines[0]
    theirs, there = (addresses[0], addresses[2]) if len(addresses) == 4 else ("", "")
    return WorkerHost(host, connect, python, directory, str(name[0]) if name else "", theirs, there)


def _check_addresses(hosts: Sequence[WorkerHost]) -> None:
    """Check that each side can listen at the address that the other one uses. Raises MachineError."""
    for host in hosts:
        if not (host.here and host.there):
            raise MachineError(
                f"The connection to {host.host} does not tell its addresses (a jump host?), so its worker would be "
                "open to anybody, and none is started. --host ssh://… needs no open port."
            )
        if host.here != host.seen:
            raise MachineError(
                f"{host.host} sees this machine as {host.seen}, which calls itself {host.here}: with address "
                "translation between them its worker cannot reach a scheduler that listens at one address only. "
                "--host ssh://… needs no open port."
            )
    if len({host.here for host in hosts}) > 1:
        listed = ", ".join(f"{host.host} by {host.here}" for host in hosts)
        raise MachineError(
            f"The machines reach this one by different addresses ({listed}), and the scheduler listens at one only. "
            "Name machines of one network, or use --host ssh://… for each."
        )
