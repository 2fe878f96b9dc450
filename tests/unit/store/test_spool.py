"""Finished runs survive those who measured them."""

import fcntl
import json
import os

from test_store import FACTS, STUDY, run

from becalm.store import Spool, recover
from becalm.store.spool import read


def line(*rows):
    return (json.dumps({"id": 1, "event": "runs", "rows": [list(row) for row in rows]}) + "\n").encode()


def spools(tmp_path):
    return list((tmp_path / "state/becalm/spool").glob("*"))


def test_a_spool_goes_with_its_study(store, tmp_path):
    number = store.begin(STUDY, FACTS)
    with Spool.create(store) as spool:
        spool.assign(number)
        (path,) = spools(tmp_path)
        assert path.stat().st_mode & 0o777 == 0o600
        assert recover(store) == [], "a spool in use is left alone"
    assert spools(tmp_path) == []


def abandon(store, number, data):
    """As a kill leaves it: written, assigned, unlocked, not removed."""
    spool = Spool.create(store)
    spool.assign(number)
    os.write(spool.fileno(), data)
    fcntl.flock(spool.fileno(), fcntl.LOCK_UN)
    os.close(spool.fileno())


def test_what_a_kill_left_is_recovered_once(store, tmp_path):
    number = store.begin(STUDY, FACTS)
    store.append(number, [run(0)])
    abandon(store, number, line(run(0)) + line(run(1)) + line(run(2))[:-9])
    (found,) = recover(store)
    assert (found.study_id, found.runs) == (number, 1)
    assert list(store.runs(number)) == [run(0), run(1)]
    assert recover(store) == []
    assert spools(tmp_path) == []


def test_rubbish_is_no_run(store, tmp_path):
    number = store.begin(STUDY, FACTS)
    for data in (b"", b"\x00" * 100, b"[]\n", b'{"rows": [[1]]}\n', b'{"rows": 3}\n', b"\xff\xfe\n"):
        abandon(store, number, data)
        assert recover(store) == []
    abandon(store, 4711, line(run(0)))
    assert recover(store) == [], "a study that the store does not have"
    assert spools(tmp_path) == []


def test_an_error_while_measuring_brings_the_spool_in(store, tmp_path):
    number = store.begin(STUDY, FACTS)
    try:
        with Spool.create(store) as spool:
            spool.assign(number)
            os.write(spool.fileno(), line(run(0)))
            raise RuntimeError
    except RuntimeError:
        pass
    assert list(store.runs(number)) == [run(0)]
    assert spools(tmp_path) == []


def test_reading_stops_at_the_first_torn_line(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(line(run(0), run(1)) + b"{" + line(run(2)))
    assert [each.seq for each in read(path)] == [0, 1]
