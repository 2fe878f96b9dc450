"""Spools as killed becalms leave them."""

import fcntl
import json
import os

from becalm.store import Spool


def line(*rows):
    """Return the line by which an agent reports runs."""
    return (json.dumps({"id": 1, "event": "runs", "rows": [list(row) for row in rows]}) + "\n").encode()


def spools(tmp_path):
    """Return the paths of all spools."""
    return list((tmp_path / "XDG_STATE_HOME/becalm/spool").glob("*"))


def abandon(store, number, data):
    """Leave a spool as a kill does: written, assigned, unlocked, not removed."""
    spool = Spool.create(store)
    spool.assign(number)
    os.write(spool.fileno(), data)
    fcntl.flock(spool.fileno(), fcntl.LOCK_UN)
    os.close(spool.fileno())


PLACE = {"host": "ssh://bench", "pid": 7}
