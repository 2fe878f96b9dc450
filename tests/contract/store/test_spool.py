"""A socket in the place of a spool."""

import os
import socket

from tests.support.spools import abandon, line, spools
from tests.support.store_examples import FACTS, STUDY, run

from becalm.store import elsewhere, recover


def test_a_socket_is_not_read(store, tmp_path, monkeypatch):
    number = store.begin(STUDY, FACTS)
    abandon(store, number, line(run(0)))
    (path,) = spools(tmp_path)
    path.unlink()
    monkeypatch.chdir(path.parent)
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(path.name)
    before = path.lstat()
    assert (recover(store), elsewhere(store)) == ([], [])
    assert os.path.samestat(path.lstat(), before), "it is nothing of becalm's"
    assert list(store.runs(number)) == []
