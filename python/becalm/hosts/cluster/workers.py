"""The workers of an open cluster, by name. `opened` starts or joins a cluster, looks at its workers, and ends it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from becalm._version import VERSION
from becalm.errors import MachineError, UsageError, install
from becalm.hosts.cluster import session
from becalm.hosts.cluster.spec import RESOURCE, Spec, parse


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker that can be measured on. `boot_id` tells workers of one machine; `client` is Dask's."""

    name: str
    address: str
    boot_id: str
    hostname: str
    environment: Mapping[str, str]
    directory: str
    client: Any

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of a function on that worker, outside of its tasks. Raises what the function or Dask
        raises."""
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
    """Return the machine of a worker: the boot where it is known; None for this machine."""
    worker = find(name)
    return None if worker.boot_id and worker.boot_id == session.boot_id() else worker.boot_id or worker.hostname


@contextmanager
def opened(text: str, warned: Callable[[str], None]) -> Iterator[list[str]]:
    """Start or join the cluster that `text` describes; gives the names of its workers' hosts. Ends what it started.

    Raises UsageError for a description that makes no sense, MachineError when Dask is not there or no worker comes.
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
            found = _found(client, spec, warned)
            _workers.update(found)
            yield [f"cluster:{name}" for name in found]
        finally:
            _workers.clear()


def _found(client: Any, spec: Spec, warned: Callable[[str], None]) -> dict[str, Worker]:
    """Return the workers that came in time, by name. Raises MachineError when none is usable."""
    wanted = max(1, spec.workers)
    with contextlib.suppress(TimeoutError):
        client.wait_for_workers(wanted, timeout=spec.wait_s)
    known: dict[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    if not known:
        raise MachineError(
            f"No worker came within {spec.wait_s:.0f} s. " + _WHY_NONE.get(spec.kind, "Look at the cluster's own logs.")
        )
    if len(known) < wanted:
        warned(f"Only {len(known)} of {wanted} machines came within {spec.wait_s:.0f} s; the others are left out.")
    usable = {address: each for address, each in known.items() if each.get("resources", {}).get(RESOURCE) == 1}
    for address in known.keys() - usable.keys():
        warned(
            f"The worker {known[address].get('name', address)} is left out: it does not say that it is one machine. "
            f"Start it with: dask worker … --nthreads 1 --resources {RESOURCE}=1"
        )
    said = client.run(session.describe, workers=list(usable), on_error="return") if usable else {}
    good = {address: each for address, each in said.items() if isinstance(each, Mapping)}
    for address, error in said.items():
        if not isinstance(error, Mapping):
            warned(f"The worker {usable[address].get('name', address)} is left out: {_why(error)}")
    for address, each in list(good.items()):
        if each["version"] != VERSION:
            warned(f"The worker on {each['hostname']} is left out: it has becalm {each['version']}, this is {VERSION}.")
            del good[address]
    if not good:
        raise MachineError("No worker of the cluster can be used; see above.")
    if disturbed := sorted({each["hostname"] for each in good.values() if each["profiled"]}):
        warned(
            f"Dask's own profiler runs on {', '.join(disturbed[:5])} and wakes up every 10 ms. Start workers with "
            "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED=False (docs/how-to/cluster.md)."
        )
    return _named(client, good)


_WHY_NONE = {
    "slurm": "`squeue` tells whether the jobs wait for nodes.",
    "ssh": "Check that `ssh HOST python3 -c 'import becalm, distributed'` works for each host of the file.",
    "address": "Start one on each machine: dask worker tcp://HOST:PORT --nthreads 1 --resources machine=1",
}


def _why(error: object) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"{error.name} is not installed there. Install becalm {VERSION} with the extra `cluster`."
    return str(error) or type(error).__name__


def _named(client: Any, said: Mapping[str, Mapping[str, Any]]) -> dict[str, Worker]:
    """Return the workers by name: the machine's, with a number where it has several workers."""
    hostnames = [each["hostname"] for each in said.values()]
    count: dict[str, int] = {}
    result = {}
    for address, each in sorted(said.items(), key=lambda item: (item[1]["hostname"], item[0])):
        hostname = each["hostname"]
        count[hostname] = count.get(hostname, 0) + 1
        name = hostname if hostnames.count(hostname) == 1 else f"{hostname}-{count[hostname]}"
        result[name] = Worker(name, address, each["boot_id"], hostname, each["environment"], each["directory"], client)
    return result
