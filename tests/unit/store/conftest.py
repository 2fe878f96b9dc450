"""The same store tests over SQLite and over a real PostgreSQL server that they start and stop themselves."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from tests.needs import need, need_module

from becalm.store import Store


@pytest.fixture(scope="session")
def postgresql():
    """URL of a private server on a Unix socket, with an empty database of its own for each caller."""
    binaries = Path(need("initdb", "pg_ctl")).parent
    need_module("psycopg")
    # The server refuses to run as root, and a socket's path may have 107 bytes at most.
    directory = Path(tempfile.mkdtemp(prefix="becalm-pg-", dir="/tmp"))
    prefix = []
    if os.geteuid() == 0:
        try:
            account = pwd.getpwnam("postgres")
        except KeyError:
            account = pwd.getpwnam("nobody")
        os.chown(directory, account.pw_uid, account.pw_gid)
        prefix = ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
    data = directory / "data"

    def run(*command):
        subprocess.run([*prefix, *map(str, command)], check=True, capture_output=True, cwd=directory)

    try:
        run(binaries / "initdb", "-D", data, "-U", "becalm", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-c listen_addresses= -c unix_socket_directories={directory} -c fsync=off"
        run(binaries / "pg_ctl", "-D", data, "-w", "-o", options, "-l", directory / "log", "start")
        try:
            yield f"host={directory}&user=becalm"
        finally:
            run(binaries / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(directory)


_made = iter(range(10_000))


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def location(request, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    if request.param == "sqlite":
        return str(tmp_path / "runs.db")
    import psycopg

    server = request.getfixturevalue("postgresql")
    name = f"becalm{next(_made)}"
    with psycopg.connect(server.replace("&", " ") + " dbname=postgres", autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name}")
    return f"postgresql:///{name}?{server}"


@pytest.fixture
def store(location):
    with Store.open(location) as opened:
        yield opened
