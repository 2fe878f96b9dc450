"""Stores that another user may only read, and one on a server that is not there."""

import contextlib
import os
import sqlite3
import subprocess
import sys

import pytest
from tests.support.store_examples import FACTS, STUDY, run

from becalm.errors import StoreError
from becalm.load.record import Load
from becalm.store import Store

LIMITED = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
"""Starts a program of root's that cannot write what is read-only."""

IMPORTS = """
from becalm.store import Store
from becalm.errors import StoreError
"""


def run_script(script):
    """Run a script as a user who may not write read-only files."""
    environment = {"HOME": "/nonexistent", "PATH": os.environ["PATH"], "PYTHONPATH": ":".join(sys.path)}
    command = [*(LIMITED if os.geteuid() == 0 else ()), sys.executable, "-c", IMPORTS + script]
    subprocess.run(command, check=True, env=environment)


@contextlib.contextmanager
def read_only(folder):
    """Make a folder and its files read-only meanwhile."""
    for path in (*folder.iterdir(), folder):
        path.chmod(0o555 if path == folder else 0o444)
    try:
        yield
    finally:
        folder.chmod(0o700)


def test_a_store_that_may_only_be_read_can_be_read(tmp_path):
    path = tmp_path / "ro" / "runs.db"
    with Store.open(str(path)) as store:
        number = store.begin(STUDY, FACTS)
        store.append(number, [run(0)])
        store.append_loads(number, [Load(0, 0, 5, 10)])
    script = f"""
with Store.open({str(path)!r}) as store:
    assert len(list(store.runs({number}))) == 1
    (load,) = store.loads({number})
    assert load[:4] == (0, 0, 5, 10) and load[-1] is None, load
    try:
        store.conclude({number}, {{}})
    except StoreError as error:
        assert "may only be read" in str(error), error
    else:
        raise SystemExit("it could be written")
"""
    with read_only(path.parent):
        run_script(script)


def test_a_store_in_use_that_may_only_be_read_is_read_with_its_log(tmp_path):
    """The rows that its owner has just written are still in the log next to it."""
    path = tmp_path / "ro" / "runs.db"
    script = f"""
with Store.open({str(path)!r}) as store:
    assert len(list(store.runs(1))) == 1
"""
    with Store.open(str(path)) as store:
        number = store.begin(STUDY, FACTS)
        # A reader that stays keeps the log from being put into the file.
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM run").fetchone()
        store.append(number, [run(0)])
        assert path.with_name("runs.db-wal").stat().st_size > 0
        with read_only(path.parent):
            run_script(script)
        reader.close()


def test_a_server_that_is_not_there_is_named_in_a_sentence():
    with pytest.raises(StoreError, match="cannot be reached"):
        Store.open("postgresql:///x?host=/no/such/socket")
