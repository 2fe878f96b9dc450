"""NFS counted for real: a guest's kernel is the client of a user-space server that counts as well."""

import json
import os
import shutil
from pathlib import Path

import pytest

from becalm import hosts
from becalm.errors import UsageError
from becalm.hosts.guest import kernel, qemu
from becalm.nouns import Output, Settings, Step, Workload

pytestmark = [
    pytest.mark.guest,
    pytest.mark.machine,
    pytest.mark.skipif(os.geteuid() != 0, reason="programs in the guest run as the user here, and mounting needs root"),
]

SERVER = Path(__file__).with_name("small_nfs.py")
READS, STATS = 17, 23


def test_calls_are_counted_as_the_server_counts_them():
    if shutil.which(qemu.PROGRAM) is None:
        pytest.skip(f"{qemu.PROGRAM} is not installed: apt-get install qemu-system-x86")
    try:
        kernel.find("6.1")
    except UsageError:
        pytest.skip("the kernel 6.1 is not kept: becalm guest prepare 6.1")
    loads, texts = [], {}
    command = ["/usr/bin/python3", str(SERVER), "/tmp/mounted", str(READS), str(STATS)]
    with hosts.open("guest:6.1?cpus=2&modules=nfsv3") as guest:
        guest.define([Workload.of(command, output=Output.KEEP)], [Settings()])
        taken = guest.measure(
            0,
            (Step(0, 0, 0, 0),),
            on_text=lambda seq, err, out: texts.update({seq: (err, out)}),
            on_load=lambda found, series: loads.extend(found),
        )
        (run,) = [row for rows in taken for row in rows]
        assert run.outcome == "ok", texts
        read = guest._ask({"do": "read", "sources": ["nfs"]})["sources"]["nfs"]
    served = json.loads(texts[0][1])
    # What the program asked for, as far as it is in its own hand.
    assert served["READ"] == READS
    assert served["GETATTR"] >= STATS
    assert served["FSINFO"] >= 1
    # The agent's record around the run, and its reading by mount and procedure, against the server.
    assert loads[0].nfs_calls == sum(served.values())
    assert loads[0].nfs_retransmissions == 0
    counters = read["counters"]
    for name, count in served.items():
        if name != "ACL":
            assert counters[f"/tmp/mounted:{name}.calls"] == count, (name, counters)
    assert counters["/tmp/mounted:READ.timeouts"] == 0
    assert counters["/tmp/mounted:READ.received_bytes"] >= READS * 4096
    assert counters["/tmp/mounted:bytes.read_from_server"] == READS * 4096
    assert counters["proc3.reads"] == READS
    assert counters["proc3.calls"] == sum(served.values()) - served["ACL"]
    assert counters["rpc.calls"] == sum(served.values())
