"""The front's side of a worker, with a link that is played."""

import pytest

from becalm.hosts import Access
from becalm.hosts.cluster import transport


def test_an_interrupt_while_a_worker_is_awaited_gives_it_back(monkeypatch):
    log = []

    class Link:
        def __init__(self, *_):
            log.append("asked for")

        def wait(self):
            raise KeyboardInterrupt

        def close(self):
            log.append("closed")

    monkeypatch.setattr(transport, "find", lambda name: name)
    monkeypatch.setattr(transport, "WorkerLink", Link)
    with pytest.raises(KeyboardInterrupt):
        transport.open_worker("one", Access())
    assert log == ["asked for", "closed"]
