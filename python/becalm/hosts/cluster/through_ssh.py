"""Workers on machines that we log in to: who reaches a Dask port may run code, so it is closed to everybody else.

Before the cluster starts, `carried` logs in to each machine, asks by which addresses both sides see each other, and
leaves the cluster's certificate in a private directory there (`Seat`). The scheduler then listens at the one address
that all machines came from, each worker at the one that we reached it by, both with TLS in which each side shows that
certificate, and neither has an HTTP server. Where that cannot be had (a jump host hides the addresses; machines that
reach us by different ones) it is refused.

Public: Seat, carried, removed, worker, Scheduler, SshWorker.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import distributed

from becalm.errors import MachineError

CONNECT_S = 30
"""The time that a login to a machine may take, s."""

# Constant scripts: nothing of a hosts file or of a remote machine becomes part of them. A login shell may greet first.
_CARRY = (
    'sh -c \'umask 077 && place=$(mktemp -d) && cat >"$place/cluster.pem" && '
    'printf "\\nbecalm-seat %s %s\\n" "$place" "$SSH_CONNECTION"\''
)
_REMOVE = (
    'sh -c \'read -r place && case "$place" in */tmp.*) rm -f -- "$place/cluster.pem" && rmdir -- "$place";; esac\''
)


@dataclass(frozen=True, slots=True)
class Seat:
    """A machine of the cluster. `connect`: what asyncssh takes; `directory`: of the certificate there; `here`, `there`:
    the addresses of both ends of the connection, `seen`: ours as it is seen there; empty where unknown.
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
        """Do nothing, as an HTTP server would show everybody what runs."""


class Scheduler(_WithoutHttp, distributed.Scheduler):  # type: ignore[misc]
    """A scheduler without an HTTP server."""


class SshWorker(_WithoutHttp, distributed.Worker):  # type: ignore[misc]
    """A worker without an HTTP server; started on the other machine."""


def carried(machines: Sequence[tuple[str, Mapping[str, Any], str]], pem: str) -> list[Seat]:
    """Connect to each machine (host, options of asyncssh, Python there) and leave the certificate there.

    Raises MachineError, having removed what was left so far, when one cannot be reached or the addresses do not fit.
    """
    seats: list[Seat] = []
    try:
        asyncio.run(_all(machines, pem, seats))
        _checked(seats)
    except MachineError:
        removed(seats)
        raise
    return seats


def removed(seats: Sequence[Seat]) -> None:
    """Remove the certificates again. Of a machine that is gone, its own is left: it opens nothing any more."""

    async def remove(seat: Seat) -> None:
        import asyncssh

        with contextlib.suppress(OSError, asyncssh.Error, TimeoutError):
            async with asyncio.timeout(CONNECT_S), asyncssh.connect(seat.host, **seat.connect) as connection:
                await connection.run(_REMOVE, input=seat.directory + "\n")

    async def every() -> None:
        await asyncio.gather(*(remove(seat) for seat in seats))

    if seats:
        asyncio.run(every())


def worker(seat: Seat, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the options of `distributed.deploy.ssh.Worker` with which Dask starts the worker there."""
    tls = dict.fromkeys(("CA_FILE", "WORKER__CERT", "WORKER__KEY"), f"{seat.directory}/cluster.pem")
    given = {
        **environment,
        **{f"DASK_DISTRIBUTED__COMM__TLS__{part}": path for part, path in tls.items()},
        "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True",
    }
    words = ["env", *(f"{name}={value}" for name, value in given.items()), seat.python]
    return {
        "address": seat.host,
        "connect_options": dict(seat.connect),
        "kwargs": {"nthreads": 1, "memory_limit": 0, "host": seat.there, "protocol": "tls://"},
        "worker_class": f"{__name__}.{SshWorker.__name__}",
        "remote_python": shlex.join(words),
    }


async def _all(machines: Sequence[tuple[str, Mapping[str, Any], str]], pem: str, seats: list[Seat]) -> None:
    async def one(host: str, connect: Mapping[str, Any], python: str) -> None:
        seats.append(await _carry(host, connect, python, pem))

    done = await asyncio.gather(*(one(*machine) for machine in machines), return_exceptions=True)
    for each in done:
        if isinstance(each, BaseException):
            raise each


async def _carry(host: str, connect: Mapping[str, Any], python: str, pem: str) -> Seat:
    import asyncssh

    try:
        async with asyncio.timeout(CONNECT_S), asyncssh.connect(host, **connect) as connection:
            done = await connection.run(_CARRY, input=pem)
            name = connection.get_extra_info("sockname")
    except (OSError, asyncssh.Error, TimeoutError) as error:
        raise MachineError(f"{host} cannot be reached through ssh: {error or type(error).__name__}.") from error
    lines = [line.split() for line in str(done.stdout).splitlines() if line.startswith("becalm-seat ")]
    if len(lines) != 1 or len(lines[0]) < 2:
        said = str(done.stderr).strip().splitlines()
        raise MachineError(
            f"{host}: the cluster's certificate cannot be carried there: {said[-1] if said else 'no reason is given'}."
        )
    _, directory, *addresses = lines[0]
    theirs, there = (addresses[0], addresses[2]) if len(addresses) == 4 else ("", "")
    return Seat(host, connect, python, directory, str(name[0]) if name else "", theirs, there)


def _checked(seats: Sequence[Seat]) -> None:
    """Check that each side can be bound to the address that the other one uses. Raises MachineError."""
    for seat in seats:
        if not (seat.here and seat.there):
            raise MachineError(
                f"The connection to {seat.host} does not tell its addresses (a jump host?), so its worker would be "
                "open to anybody, and none is started. --host ssh://… needs no open port."
            )
        if seat.here != seat.seen:
            raise MachineError(
                f"{seat.host} sees this machine as {seat.seen}, which calls itself {seat.here}: with address "
                "translation between them its worker cannot reach a scheduler that listens at one address only. "
                "--host ssh://… needs no open port."
            )
    if len({seat.here for seat in seats}) > 1:
        listed = ", ".join(f"{seat.host} by {seat.here}" for seat in seats)
        raise MachineError(
            f"The machines reach this one by different addresses ({listed}), and the scheduler listens at one only. "
            "Name machines of one network, or use --host ssh://… for each."
        )
