"""The end of a command whose output comes from elsewhere: no more of it is kept than was allowed."""

from __future__ import annotations

import os
import selectors
import subprocess
from collections.abc import Mapping
from typing import IO

from becalm.hosts.transport import CHUNK, TooMuchError

MOST_SAID = 1 << 20
"""Bytes of standard error that are kept; what follows is read and dropped."""


def captured(
    command: list[str], data: bytes, most: int, *, env: Mapping[str, str], process_group: int | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command with `data` on its standard input to its end, and keep what it writes, as `subprocess.run` does.

    Raises TooMuchError when it writes more than `most` bytes to standard output, and OSError when it cannot be started.
    """
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
        process_group=process_group,
    )  # fmt: skip
    with process:
        try:
            out, err = _exchange(process, data, most)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _exchange(process: subprocess.Popen[bytes], data: bytes, most: int) -> tuple[bytes, bytes]:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    kept: dict[IO[bytes], bytearray] = {process.stdout: bytearray(), process.stderr: bytearray()}
    left = memoryview(data)
    with selectors.DefaultSelector() as waiting:
        os.set_blocking(process.stdin.fileno(), False)
        waiting.register(process.stdin, selectors.EVENT_WRITE, process.stdin)
        for stream in kept:
            waiting.register(stream, selectors.EVENT_READ, stream)
        while waiting.get_map():
            for key, _ in waiting.select():
                stream = key.data
                if stream is process.stdin:
                    left = _written(process.stdin, left)
                    ended = not left
                else:
                    chunk = os.read(key.fd, CHUNK)
                    ended = not chunk
                    room = MOST_SAID if stream is process.stderr else most
                    taken = kept[stream]
                    if stream is process.stdout and len(taken) + len(chunk) > most:
                        raise TooMuchError
                    taken += chunk[: room - len(taken)]
                if ended:
                    waiting.unregister(stream)
                    stream.close()
    return bytes(kept[process.stdout]), bytes(kept[process.stderr])


def _written(stream: IO[bytes], left: memoryview) -> memoryview:
    """Return what is left of the input; nothing when nobody reads any more."""
    try:
        return left[os.write(stream.fileno(), left) :]
    except BlockingIOError:
        return left
    except BrokenPipeError:
        return left[:0]
