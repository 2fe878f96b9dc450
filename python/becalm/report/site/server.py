"""A site over HTTP, for the browsers of this machine: the files of one directory, and nothing else.

The server listens on 127.0.0.1 and answers only requests that address it by this name: a page elsewhere whose name
resolves to this address (DNS rebinding) can read nothing. During a measurement, pages ask to be reloaded.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from becalm.errors import MachineError
from becalm.report.quiet_http import QuietHandler, QuietServer
from becalm.report.site.pages import POLICY

NAMES = re.compile(
    r"(?:|index\.html|benchmarks\.html|becalm\.(?:css|js)|(?:studies|projects)/[0-9]+(?:-report)?\.(?:html|csv))"
)
"""The names of the files of a site."""

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
}

POLL_S = 0.05
"""The interval at which the server checks whether it is to end, s."""

REFRESH_S = 3
"""The interval at which a page is reloaded during a measurement, s."""


class SiteServer(QuietServer):
    """An HTTP server for a site. `measuring`: whether a study is being measured."""

    measuring = False

    def __init__(self, directory: Path, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.directory = directory

    @property
    def port(self) -> int:
        """The port on which the server listens."""
        return int(self.server_address[1])


class _Handler(QuietHandler):
    server: SiteServer

    def do_GET(self) -> None:
        """Send a file of the site."""
        answer(self)

    def do_HEAD(self) -> None:
        """Send only the head of the answer."""
        answer(self, body=False)


def answer(handler: _Handler, *, body: bool = True) -> None:
    """Answer a request: 403 for another name of this server, 404 for anything but a file of the site."""
    port = handler.server.port
    if handler.headers.get("Host") not in (f"127.0.0.1:{port}", f"localhost:{port}"):
        handler.send_error(403, "This server answers to 127.0.0.1 only")
        return
    name = handler.path.partition("?")[0].removeprefix("/")
    if not NAMES.fullmatch(name):
        handler.send_error(404)
        return
    file = handler.server.directory / (name or "index.html")
    try:
        content = file.read_bytes()
    except OSError:
        handler.send_error(404)
        return
    handler.send_response(200)
    handler.send_header("Content-Type", TYPES[file.suffix])
    handler.send_header("Content-Length", str(len(content)))
    handler.send_header("X-Content-Type-Options", "nosniff")
    handler.send_header("Cache-Control", "no-store")
    if name.partition("/")[0] not in ("projects",) and not name.endswith("-report.html"):
        # Self-contained reports have a policy of their own.
        handler.send_header("Content-Security-Policy", POLICY)
    if handler.server.measuring and file.suffix == ".html":
        handler.send_header("Refresh", str(REFRESH_S))
    handler.end_headers()
    if body:
        handler.wfile.write(content)


@contextmanager
def served(directory: Path, port: int) -> Iterator[SiteServer]:
    """Serve a directory until the context ends. `port`: 0 for any free one. Raises MachineError."""
    try:
        server = SiteServer(directory, port)
    except OSError as error:
        raise MachineError(
            f"Port {port} of this machine is not available: {error.strerror}. Give another one with --port."
        ) from error
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(POLL_S,), name="becalm-site", daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
