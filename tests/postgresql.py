"""A real PostgreSQL server that tests start and stop themselves, with an empty database for whoever asks."""

import contextlib
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.needs import need, need_module

_numbers = itertools.count()


@contextlib.contextmanager
def serving():
    """Start a private server on a Unix socket; return the part of a URL that says where it is."""
    binaries = Path(need("initdb", "pg_ctl")).parent
    need_module("psycopg")
    # The server refuses to run as root, and a socket's path may have 107 bytes at most.
    directory = Path(tempfile.mkdtemp(prefix="becalm-pg-"))
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


def database(server):
    """Create a new database; return its URL."""
    import psycopg

    name = f"becalm{next(_numbers)}"
    with psycopg.connect(server.replace("&", " ") + " dbname=postgres", autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name}")
    return f"postgresql:///{name}?{server}"
