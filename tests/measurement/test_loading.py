"""The amount of load that is made on request."""

from tests.contract.load.test_loading import disk  # noqa: F401

from becalm.verbs.load import make_load


def test_the_requested_load_is_made_and_counted(disk):  # noqa: F811
    load = make_load(cpu=0.25, network="1M", syscalls=1, disk=str(disk), rate="1M", duration="1s")
    assert (load.reason, load.failure) == ("time", None)
    kinds = [share.kind for share in load.shares]
    assert kinds == ["cpu", "disk", "network", "network", "syscalls"]
    print({kind: load.done(kind) for kind in kinds}, load.cpu_ns("cpu"))
    # Never more than was asked for: a share of one processor, rates. One piece more is possible at the edges.
    assert 0 < load.cpu_ns("cpu") <= 0.25 * load.wall_ns + 20e6
    for kind in ("disk", "network"):
        assert 0 < load.done(kind) <= 2**20 * (load.wall_ns / 1e9 + 0.1)
    assert load.done("syscalls") > 0
