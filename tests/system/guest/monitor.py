"""QEMU's monitor (QMP): a guest that sleeps is woken once it does.

An alarm of the guest's clock would have to be set before, and on a busy machine it may go off before the guest sleeps.
"""

import contextlib
import json
import socket
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.waiting import HANG_LIMIT_S

from becalm.hosts.guest import qemu


class Monitor:
    """The monitor of a guest, on a socket in `directory`; the QEMU of each of its boots listens there."""

    def __init__(self, guest, directory: Path):
        self._guest, self._path = guest.inner, str(directory / "monitor")

    @contextlib.contextmanager
    def available(self):
        """Make each QEMU of this guest that is started inside the block listen."""
        real = qemu.command

        def command(program, options, kernel, *rest):
            words = real(program, options, kernel, *rest)
            wanted = self._guest._wanted
            ours = kernel == self._guest._kernel and replace(options, append=wanted.append) == wanted
            return [*words, "-qmp", f"unix:{self._path},server=on,wait=off"] if ours else words

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(qemu, "command", command)
            yield self

    @contextlib.contextmanager
    def waking(self):
        """Wake the machine, which must be on, each time that it sleeps meanwhile."""
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as connection:
            connection.settimeout(HANG_LIMIT_S)
            connection.connect(self._path)
            messages = connection.makefile("r")
            assert "QMP" in json.loads(messages.readline())
            connection.sendall(b'{"execute": "qmp_capabilities"}\n')
            # Events are sent from this answer on.
            assert json.loads(messages.readline()) == {"return": {}}
            waker = threading.Thread(target=self._wake, args=(messages, connection))
            waker.start()
            try:
                yield
            finally:
                connection.shutdown(socket.SHUT_RDWR)
                waker.join()

    @staticmethod
    def _wake(messages, connection):
        for line in messages:
            if json.loads(line).get("event") == "SUSPEND":
                connection.sendall(b'{"execute": "system_wakeup"}\n')
