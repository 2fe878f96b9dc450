"""HTTP servers for the browsers and collectors of this machine, which print nothing: the terminal belongs to a view."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LONGEST_WAIT_S = 10
"""The time after which a client that sends no request is disconnected, s."""


class QuietServer(ThreadingHTTPServer):
    """A server whose threads end with the program."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a client that has disconnected."""


class QuietHandler(BaseHTTPRequestHandler):
    """A handler of requests that does not log them, nor names its versions."""

    timeout = LONGEST_WAIT_S
    server_version = "becalm"
    sys_version = ""

    def log_message(self, format: str, *args: object) -> None:
        """Do not log requests."""
