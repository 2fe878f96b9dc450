"""Give a text to Prometheus: into a file for node_exporter's textfile collector, or over HTTP on this machine.

A file is replaced as a whole, so that a collector never reads half of it. The endpoint listens on 127.0.0.1 alone: who
wants it on a network puts a server of their own in front.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from becalm.errors import MachineError, UsageError
from becalm.files import written
from becalm.report.watch.prometheus import CONTENT_TYPE

PATHS = ("/metrics", "/")
LONGEST_WAIT_S = 10
"""A client that sends no request for so long is let go."""


@contextmanager
def exposed(target: str, said: Callable[[str], None] = lambda sentence: None) -> Iterator[Callable[[str], None]]:
    """Yield a function that takes the newest text. `target`: a file, or ":PORT" (":0": any free one, passed to `said`).

    Raises UsageError for no port, MachineError when the port or the file cannot be had. The file stays in the end.
    """
    if target.startswith(":"):
        yield from _served(_port(target), said)
        return
    path = Path(target)
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"--prometheus: {target!r} cannot be written: its directory does not exist.")

    try:
        path = written.target(path)
    except UsageError as error:
        raise UsageError(f"--prometheus: {error}") from None

    def write(text: str) -> None:
        replace(path, text)

    yield write


def replace(path: Path, text: str) -> None:
    """Put a text in a file's place at once, readable for everybody. Raises MachineError; then the old one is there."""
    try:
        # The collector reads *.prom, which the temporary file is not; after a power cut the next text comes anyway.
        written.replace(path, text, mode=0o644, durable=False)
    except OSError as error:
        raise MachineError(f"The file for Prometheus, {path}, cannot be written: {error.strerror}.") from error


def _port(target: str) -> int:
    text = target[1:]
    if not text.isdecimal() or int(text) > 65535:
        raise UsageError(f"--prometheus {target}: not a valid port. Write :9101, or a file's name.")
    return int(text)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    text = ""

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a client that went away in the middle."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = LONGEST_WAIT_S
    server_version = "becalm"
    sys_version = ""

    def do_GET(self) -> None:
        """Send the newest text; 503 as long as there is none."""
        if self.path.partition("?")[0] not in PATHS:
            self.send_error(404)
            return
        body = self.server.text.encode()
        if not body:
            self.send_error(503, "No interval has passed yet")
            return
        self.send_response(200)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Do not log requests: the terminal belongs to the view."""


def _served(port: int, said: Callable[[str], None]) -> Iterator[Callable[[str], None]]:
    try:
        server = _Server(("127.0.0.1", port), _Handler)
    except OSError as error:
        raise MachineError(
            f"Port {port} of this machine is not available: {error.strerror}. Give another one, or :0 for any free one."
        ) from error
    with server:
        thread = threading.Thread(target=server.serve_forever, name="becalm-prometheus", daemon=True)
        thread.start()
        said(f"Prometheus finds it at http://127.0.0.1:{server.server_address[1]}/metrics")

        def take(text: str) -> None:
            server.text = text

        try:
            yield take
        finally:
            server.shutdown()
            thread.join()
