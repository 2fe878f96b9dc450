"""NFS counted by the agent, by a guest's kernel as the client, and by servers that count as well.

NFS 4.1 over the guest's network: nfs-ganesha on this machine, before it a relay that counts calls and loses one. NFS 3
over the guest's own loopback interface: `small_nfs`, since version 3 has other procedures in other places.
"""

import json
import os
from pathlib import Path

import pytest
from tests.measuring import observed
from tests.needs import missing
from tests.system.guest.ganesha import Ganesha, Unavailable
from tests.system.guest.kernels import LIMIT, VERSIONS, kernel_or_skip
from tests.system.guest.nfs_relay import Relay

from becalm import hosts
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Output, Workload

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="programs in the guest run as the user here, and mounting needs root"
)

SMALL = Path(__file__).with_name("small_nfs.py")
CLIENT = Path(__file__).with_name("nfs_client.py")
PLACE = "/tmp/mounted"
BLOCK = 4096
WRITES, READS, STATS, DIRECTORIES = 19, 17, 23, 7
WORK = {"WRITE": WRITES, "READ": READS, "CREATE": DIRECTORIES, "REMOVE": DIRECTORIES}
"""The program's operations of NFS 4.1 that nothing else needs."""


@pytest.fixture
def server():
    """nfs-ganesha, on this machine."""
    try:
        running = Ganesha()
    except Unavailable as error:
        missing(f"no NFS server: {error}")
    yield running
    running.close()


@pytest.fixture
def relay(server):
    """A relay between the guest and the server."""
    running = Relay(server.port)
    yield running
    running.close()


def observed_run(guest, seq, workload):
    """Return the record of load around a run that ends well, and what it printed."""
    (run,), texts, loads = observed(guest, (workload, 0), first=seq)
    assert run.outcome == "ok", texts
    (load,) = loads
    return load, texts.get(seq, ("", ""))[1]


def counters(guest, source):
    return guest.inner.inner._conversation.ask({"do": "read", "sources": [source]})["sources"][source]["counters"]


@pytest.mark.parametrize("version", VERSIONS)
def test_calls_over_the_network_are_counted_as_the_server_counts_them(version, server, relay):
    kernel_or_skip(version)
    python = ["/usr/bin/python3", str(CLIENT)]
    amounts = [str(amount) for amount in (WRITES, READS, STATS, DIRECTORIES)]
    works = [Workload.of([*python, "mount", str(relay.port), PLACE]), Workload.of([*python, "work", PLACE, *amounts])]
    with hosts.open(f"guest:{version}?net=user&modules=nfsv4&{LIMIT}") as guest:
        guest.define(works, [Settings()])
        mounting, _ = observed_run(guest, 0, 0)
        # Every call of the kernel's, as they passed here and as the agent's record has them.
        assert mounting.nfs_calls == relay.calls > 0
        mounted, interface = server.operations(), counters(guest, "netdev")

        working, _ = observed_run(guest, 1, 1)
        served, passed = server.operations(), relay.calls
        for name, count in WORK.items():
            assert served[name] - mounted.get(name, 0) == count, (name, served)
        assert served["GETATTR"] - mounted["GETATTR"] >= STATS
        assert working.nfs_calls == passed - mounting.nfs_calls == served["SEQUENCE"] - mounted["SEQUENCE"]
        assert mounting.nfs_retransmissions == working.nfs_retransmissions == 0
        seen = counters(guest, "nfs")
        for name, count in WORK.items():
            calls, sent = (seen[f"{PLACE}:{name}.{what}"] for what in ("calls", "transmissions"))
            assert calls == sent == count, name
        assert seen[f"{PLACE}:GETATTR.calls"] >= STATS
        assert seen[f"{PLACE}:bytes.read_from_server"] == READS * BLOCK
        assert seen[f"{PLACE}:bytes.written_to_server"] == WRITES * BLOCK
        assert seen["rpc.calls"] == seen["proc4.calls"] == passed
        assert (seen["proc4.reads"], seen["proc4.writes"]) == (READS, WRITES)

        # The blocks came by the guest's interface, and nothing by its loopback interface.
        assert working.net_in_bytes > READS * BLOCK
        assert working.net_out_bytes > WRITES * BLOCK
        assert (working.net_errors, working.loopback_bytes) == (0, 0)
        moved = {name: value - interface[name] for name, value in counters(guest, "netdev").items()}
        assert moved["eth0.received_bytes"] >= working.net_in_bytes
        assert moved["eth0.sent_bytes"] >= working.net_out_bytes

        # A call that is lost with its connection is sent again, once.
        relay.lose_next = True
        losing, _ = observed_run(guest, 2, 1)
        assert (relay.lost, relay.connections) == (1, 2)
        assert losing.nfs_retransmissions == 1
        assert losing.nfs_calls == relay.calls - passed, "one that is sent twice is one call"
        after, again = counters(guest, "nfs"), server.operations()
        assert after["rpc.retransmissions"] == 1
        sent, calls = (
            sum(value for name, value in after.items() if name.startswith(f"{PLACE}:") and name.endswith(what))
            for what in (".transmissions", ".calls")
        )
        assert sent - calls == 1
        assert {name: again[name] - served[name] for name in WORK} == WORK


def test_calls_of_version_3_are_counted_as_the_server_counts_them():
    kernel_or_skip("6.1")
    command = ["/usr/bin/python3", str(SMALL), PLACE, str(READS), str(STATS)]
    with hosts.open(f"guest:6.1?modules=nfsv3&{LIMIT}") as guest:
        guest.define([Workload.of(command, output=Output.KEEP)], [Settings()])
        load, text = observed_run(guest, 0, 0)
        seen = counters(guest, "nfs")
    served = json.loads(text)
    # The program's own operations, as far as it decides on them.
    assert served["READ"] == READS
    assert served["GETATTR"] >= STATS
    assert served["FSINFO"] >= 1
    # The agent's record around the run, and its reading by mount and procedure, against the server.
    assert load.nfs_calls == sum(served.values())
    assert load.nfs_retransmissions == 0
    for name, count in served.items():
        if name != "ACL":
            assert seen[f"{PLACE}:{name}.calls"] == count, (name, seen)
    assert seen[f"{PLACE}:READ.timeouts"] == 0
    assert seen[f"{PLACE}:READ.received_bytes"] >= READS * BLOCK
    assert seen[f"{PLACE}:bytes.read_from_server"] == READS * BLOCK
    assert seen["proc3.reads"] == READS
    assert seen["proc3.calls"] == sum(served.values()) - served["ACL"]
    assert seen["rpc.calls"] == sum(served.values())
