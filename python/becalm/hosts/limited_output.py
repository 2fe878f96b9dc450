"""Running a command whose output is not trusted, with a limit for it."""

from __future__ import annotations

import os
import selectors
import subprocess
from collections.abc import Mapping
from typing import IO

from becalm import system_clock
from becalm.hosts.transport import CHUNK, TooMuchError

MOST_ERRORS = 1 << 20
"""The stored part of standard error, in bytes; the rest is discarded."""


def limited_output(
    command: list[str],
    data: bytes,
    most: int,
    *,
    env: Mapping[str, str],
    process_group: int | None = None,
    limit_s: float | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command with `data` on its standard input, and return its output, as `subprocess.run` does.

    Raises TooMuchError if it writes more than `most` bytes to standard output, subprocess.TimeoutExpired if it has not
    closed its outputs after `limit_s` seconds, OSError if it cannot be started.
    """
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
        process_group=process_group,
    )  # fmt: skip
    with process:
        try:
            out, err = _exchange(process, data, most, limit_s)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _exchange(process: subprocess.Popen[bytes], data: bytes, most: int, limit_s: float | None) -> tuple[bytes, bytes]:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    buffers: dict[IO[bytes], bytearray] = {process.stdout: bytearray(), process.stderr: bytearray()}
    pending = memoryview(data)
    until = None if limit_s is None else system_clock.monotonic() + limit_s
    with selectors.DefaultSelector() as waiting:
        os.set_blocking(process.stdin.fileno(), False)
        waiting.register(process.stdin, selectors.EVENT_WRITE, process.stdin)
        for stream in buffers:
            waiting.register(stream, selectors.EVENT_READ, stream)
        while waiting.get_map():
            left_s = None if until is None else until - system_clock.monotonic()
            if limit_s is not None and left_s is not None and left_s <= 0:
                raise subprocess.TimeoutExpired(process.args, limit_s)
            for key, _ in waiting.select(left_s):
                stream = key.data
                if stream is process.stdin:
                    pending = _write(process.stdin, pending)
                    ended = not pending
                else:
                    chunk = os.read(key.fd, CHUNK)
                    ended = not chunk
                    limit = MOST_ERRORS if stream is process.stderr else most
                    buffer = buffers[stream]
                    if stream is process.stdout and len(buffer) + len(chunk) > most:
                        raise TooMuchError
                    buffer += chunk[: limit - len(buffer)]
                if ended:
                    waiting.unregister(stream)
                    stream.close()
    return bytes(buffers[process.stdout]), bytes(buffers[process.stderr])


def _write(stream: IO[bytes], data: memoryview) -> memoryview:
    """Write to a stream, and return the rest of the input; empty if the reader has ended."""
    try:
        return data[os.write(stream.fileno(), data) :]
    except BlockingIOError:
        return data
    except BrokenPipeError:
        return data[:0]
