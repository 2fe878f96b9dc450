"""A relay before an NFS server that counts the calls that pass, and loses one together with its connection if told."""

import contextlib
import socket
import struct
import threading

CALL = 0
"""msg_type of RFC 5531; the other, 1, is a reply, here to a callback of the server's."""
LAST = 0x80000000
"""The bit of a fragment's mark for the last one of its record (section 11)."""


class Relay:
    """A relay that listens on `port` of the loopback interface. `calls`: those that were passed on, `lost`: those that
    were not.

    `lose_next`: the next call is not passed on, and the connection that it came by ends.
    """

    def __init__(self, server_port):
        self.calls = self.lost = self.connections = 0
        self.lose_next = False
        self._server_port = server_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        """Listen no more. Connections end with those who made them."""
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                server = socket.create_connection(("127.0.0.1", self._server_port))
                for work in (self._calls, self._replies):
                    threading.Thread(target=work, args=(client, server), daemon=True).start()

    def _calls(self, client, server):
        with contextlib.suppress(OSError), client.makefile("rb") as stream:
            while record := _record(stream):
                if struct.unpack_from(">I", record, 8)[0] == CALL:
                    if self.lose_next:
                        self.lose_next, self.lost = False, self.lost + 1
                        break
                    self.calls += 1
                server.sendall(record)
        _end(client, server)

    def _replies(self, client, server):
        with contextlib.suppress(OSError):
            while data := server.recv(1 << 16):
                client.sendall(data)
        _end(client, server)


def _record(stream):
    """Return a record with its mark; nothing at the end. A kernel sends each as one fragment."""
    mark = stream.read(4)
    if len(mark) < 4:
        return b""
    (length,) = struct.unpack(">I", mark)
    assert length & LAST
    return mark + stream.read(length & ~LAST)


def _end(*ends):
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
