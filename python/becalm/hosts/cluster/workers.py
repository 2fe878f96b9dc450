"""The workers of an open cluster, by name. `opened` starts or joins a cluster, checks its workers, and ends it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from becalm._version import VERSION
from becalm.errors import MachineError, UsageError, install
from becalm.hosts.cluster import session
from becalm.hosts.cluster.spec import RESOURCE, Spec, parse


class Worker(msgspec.Struct, frozen=True):
    """A worker to measure on. Workers with the same `boot_id` share a machine; `client`: the client of Dask."""

    name: str
    address: str
    boot_id: str
    hostname: str
    environment: Mapping[str, str]
    directory: str
    client: Any

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of a function on the worker, outside of its tasks. Passes on all errors."""
        return self.client.run(function, *arguments, workers=[self.address])[self.address]


_workers: dict[str, Worker] = {}
"""The workers of the open cluster, by the name of their host without "cluster:"."""


def find(name: str) -> Worker:
    """Return a worker of the open cluster. Raises UsageError."""
    if name not in _workers:
        raise UsageError(
            f"No cluster with a machine {name!r} is open. Such names are given by --cluster, for the time of a command."
        )
    return _workers[name]


def machine_of(name: str) -> str | None:
    """Return the machine of a worker, by its boot id if known; None for this machine."""
    worker = find(name)
    return None if worker.boot_id and worker.boot_id == session.boot_id() else worker.boot_id or worker.hostname


@contextmanager
def opened(text: str, warned: Callable[[str], None]) -> Iterator[list[str]]:
    """Start or join the cluster that `text` describes, yield the names of its hosts, and end a started cluster.

    Raises UsageError for an invalid description, MachineError if Dask is missing or no worker comes.
    """
    spec = parse(text)
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise MachineError(f"--cluster needs Dask: {install('distributed', 'cryptography')}.") from None
    from becalm.hosts.cluster.starting import started

    if spec.kind == "address" and not spec.place.startswith("tls://"):
        warned(
            f"The cluster at {spec.place} is not encrypted: whoever reaches its scheduler or its workers can run code "
            "there. Use it in a network that you trust only, or start it with Dask's TLS settings (tls://…)."
        )
    with started(spec) as client:
        try:
            workers = _usable(client, spec, warned)
            _workers.update(workers)
            yield [f"cluster:{name}" for name in workers]
        finally:
            _workers.clear()


def _usable(client: Any, spec: Spec, warned: Callable[[str], None]) -> dict[str, Worker]:
    """Return the usable workers that came in time, by name. Raises MachineError if there are none."""
    expected = max(1, spec.workers)
    with contextlib.suppress(TimeoutError):
        client.wait_for_workers(expected, timeout=spec.wait_s)
    infos: dict[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    if not infos:
        raise MachineError(
            f"No worker came within {spec.wait_s:.0f} s. " + _WHY_NONE.get(spec.kind, "Look at the cluster's own logs.")
        )
    if len(infos) < expected:
        warned(f"Only {len(infos)} of {expected} machines came within {spec.wait_s:.0f} s; the others are left out.")
    usable = {address: info for address, info in infos.items() if info.get("resources", {}).get(RESOURCE) == 1}
    for address in infos.keys() - usable.keys():
        warned(
            f"The worker {infos[address].get('name', address)} is left out: it does not declare one machine. "
            f"Start it with: dask worker … --nthreads 1 --resources {RESOURCE}=1"
        )
    descriptions = client.run(session.describe, workers=list(usable), on_error="return") if usable else {}
    good = {address: description for address, description in descriptions.items() if isinstance(description, Mapping)}
    for address, error in descriptions.items():
        if not isinstance(error, Mapping):
            warned(f"The worker {usable[address].get('name', address)} is left out: {_why(error)}")
    for address, description in list(good.items()):
        if description["version"] != VERSION:
            warned(
                f"The worker on {description['hostname']} is left out: it has becalm {description['version']}, "
                f"this is {VERSION}."
            )
            del good[address]
    if not good:
        raise MachineError("No worker of the cluster can be used; see above.")
    if disturbed := sorted({description["hostname"] for description in good.values() if description["profiled"]}):
        warned(
            f"Dask's own profiler runs on {', '.join(disturbed[:5])} and wakes up every 10 ms. Start workers with "
            "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED=False (docs/how-to/cluster.md)."
        )
    return _by_name(client, good)


_WHY_NONE = {
    "slurm": "`squeue` tells whether the jobs wait for nodes.",
    "ssh": "Check that `ssh HOST python3 -c 'import becalm, distributed'` works for each host of the file.",
    "address": "Start one on each machine: dask worker tcp://HOST:PORT --nthreads 1 --resources machine=1",
}


def _why(error: object) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"{error.name} is not installed there. Install becalm {VERSION} with the extra `cluster`."
    return str(error) or type(error).__name__


def _by_name(client: Any, descriptions: Mapping[str, Mapping[str, Any]]) -> dict[str, Worker]:
    """Return the workers by name: the host name, with a number if it has several workers."""
    hostnames = [description["hostname"] for description in descriptions.values()]
    count: dict[str, int] = {}
    result = {}
    for address, description in sorted(descriptions.items(), key=lambda item: (item[1]["hostname"], item[0])):
        hostname = description["hostname"]
        count[hostname] = count.get(hostname, 0) + 1
        name = hostname if hostnames.count(hostname) == 1 else f"{hostname}-{count[hostname]}"
        result[name] = Worker(
            name,
            address,
            description["boot_id"],
            hostname,
            description["environment"],
            description["directory"],
            client,
        )
    return result
