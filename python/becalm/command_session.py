"""Commands that becalm runs in a process session of their own, which ends with becalm, even when becalm is killed.

Public: run_in_session, end_group, NOT_ENDED.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

PATIENCE_S = 5.0
"""The time in which a command ends that was asked to or killed, s."""

NOT_ENDED = "could not be ended: what is left of it belongs to another user"
"""The end of a sentence about a command where `end_group` has returned False."""

WATCH = 'read -r group && { read -r end; kill -s KILL -- "-$group"; }'
"""The script for sh(1) that ends a process group at the end of its input."""


@contextlib.contextmanager
def run_in_session(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a command without input in a session and process group of its own, with the options of subprocess.Popen.

    At the end of the context the group is killed if the command has not been waited for, and in any case after an
    error; what may not be killed, such as a program of root, is left. When becalm is killed, a watching process kills
    the group, unless that happens in the milliseconds before it has got the group's number. Raises OSError when the
    command cannot be started.
    """
    # In a session of its own, it does not get the terminal's signals.
    watcher = subprocess.Popen(
        ["/bin/sh", "-c", WATCH],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert watcher.stdin is not None
    try:
        process = subprocess.Popen(list(command), stdin=subprocess.DEVNULL, start_new_session=True, **options)
        try:
            with contextlib.suppress(BrokenPipeError):
                watcher.stdin.write(b"%d\n" % process.pid)
                watcher.stdin.flush()
            yield process
        except BaseException:
            # The command may have ended, and been waited for, before what it has left running.
            end_group(process)
            raise
        else:
            if process.returncode is None:
                end_group(process)
        finally:
            for pipe in filter(None, (process.stdout, process.stderr)):
                pipe.close()
    finally:
        watcher.kill()
        watcher.wait()
        with contextlib.suppress(BrokenPipeError):
            watcher.stdin.close()


def end_group(process: subprocess.Popen[Any], sign: int = signal.SIGKILL) -> bool:
    """Send a signal to the process group of a command and wait for the command's end, for PATIENCE_S at most.

    Return False if all that is left of the group belongs to another user, so that it may not be sent signals. A process
    of ours that has been killed and not waited for yet hides that.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, sign)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(PATIENCE_S)
    try:
        os.killpg(process.pid, 0)
    except PermissionError:
        return False
    except ProcessLookupError:
        pass
    return True
