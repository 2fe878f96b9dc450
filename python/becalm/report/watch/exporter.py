"""Text passed to Prometheus: in a file for node_exporter's textfile collector, or over HTTP on this machine.

A file is replaced as a whole, so that a collector never reads half of it. The endpoint listens only on 127.0.0.1; to
expose it on a network, put another server in front of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from becalm.errors import MachineError, UsageError
from becalm.files import written
from becalm.report.quiet_http import QuietHandler, QuietServer
from becalm.report.watch.prometheus import CONTENT_TYPE

PATHS = ("/metrics", "/")


@contextmanager
def exposed(target: str, report: Callable[[str], None] = lambda sentence: None) -> Iterator[Callable[[str], None]]:
    """Yield a function that takes the newest text. `target`: a file, or ":PORT" (":0": any free one).

    `report`: takes a sentence with the port. Raises UsageError for an invalid port, MachineError when the port or the
    file is not available. The file stays at the end.
    """
    if target.startswith(":"):
        yield from _served(_port(target), report)
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
    """Replace a file's content at once, readable for everybody. Raises MachineError; the old file then remains."""
    try:
        # The collector reads only *.prom, not the temporary file; after a power failure the next text replaces it.
        written.replace(path, text, mode=0o644, durable=False)
    except OSError as error:
        raise MachineError(f"The file for Prometheus, {path}, cannot be written: {error.strerror}.") from error


def _port(target: str) -> int:
    text = target[1:]
    if not text.isdecimal() or int(text) > 65535:
        raise UsageError(f"--prometheus {target}: not a valid port. Write :9101, or a file's name.")
    return int(text)


class _Server(QuietServer):
    text = ""


class _Handler(QuietHandler):
    server: _Server

    def do_GET(self) -> None:
        """Send the newest text; 503 before there is one."""
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


def _served(port: int, report: Callable[[str], None]) -> Iterator[Callable[[str], None]]:
    try:
        server = _Server(("127.0.0.1", port), _Handler)
    except OSError as error:
        raise MachineError(
            f"Port {port} of this machine is not available: {error.strerror}. Give another one, or :0 for any free one."
        ) from error
    with server:
        thread = threading.Thread(target=server.serve_forever, name="becalm-prometheus", daemon=True)
        thread.start()
        report(f"Prometheus finds it at http://127.0.0.1:{server.server_address[1]}/metrics")

        def take(text: str) -> None:
            server.text = text

        try:
            yield take
        finally:
            server.shutdown()
            thread.join()
