"""Stop a process at its n-th system call (ptrace(2)), to kill it exactly there."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.restype = ctypes.c_long
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]

SEIZE, INTERRUPT, SYSCALL, DETACH, GET_SYSCALL_INFO = 0x4206, 0x4207, 24, 17, 0x420E
SYSGOOD, EXITKILL = 1, 1 << 20
ALL = 0x40000000
"""__WALL: children of other people can be waited for by who traces them."""


INFO = struct.Struct("=BxxxIQQ7Q")
"""struct ptrace_syscall_info at the begin of a call: kind, machine, two pointers, number and arguments (Linux 5.3)."""
ENTRY = 1


class Stepped:
    """A traced process. All methods are called in the thread that created this."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.signal = 0
        self.stops = 0
        _ptrace(SEIZE, pid, SYSGOOD | EXITKILL)
        _ptrace(INTERRUPT, pid)
        os.waitpid(pid, ALL)

    def run(self, stops: int | None = None) -> bool:
        """Let it run to a number of begins and ends of system calls, or to its end; return whether it still runs."""
        while stops is None or self.stops < stops:
            _ptrace(SYSCALL, self.pid, self.signal)
            _, status = os.waitpid(self.pid, ALL)
            if not os.WIFSTOPPED(status):
                return False
            number = os.WSTOPSIG(status)
            # 0x80 marks a system call; an event in the high bits is no signal either.
            self.signal = 0 if number == signal.SIGTRAP | 0x80 or status >> 16 else number
            self.stops += number == signal.SIGTRAP | 0x80
        return True

    def run_to(self, call: int) -> tuple[int, ...]:
        """Let it run to the begin of a system call of this number; return the call's arguments."""
        buffer = ctypes.create_string_buffer(INFO.size)
        while self.run(self.stops + 1):
            if LIBC.ptrace(GET_SYSCALL_INFO, self.pid, INFO.size, buffer) <= 0:
                raise OSError(ctypes.get_errno(), "ptrace(PTRACE_GET_SYSCALL_INFO)")
            kind, _, _, _, number, *arguments = INFO.unpack(buffer)
            if (kind, number) == (ENTRY, call):
                return tuple(arguments)
        raise AssertionError("it has ended")

    def let_go(self) -> None:
        """Let it run on without further stops."""
        _ptrace(DETACH, self.pid, self.signal)

    def kill(self) -> None:
        """Kill it where it stands."""
        os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                _, status = os.waitpid(self.pid, ALL)
                if not os.WIFSTOPPED(status):
                    return


def cuts(stops: int, number: int) -> list[int]:
    """Return that many of the stops of an undisturbed run, evenly spread, the first and the last among them."""
    return [(stops - 1) * index // (number - 1) for index in range(number)]


def _ptrace(request: int, pid: int, data: int = 0) -> None:
    if LIBC.ptrace(request, pid, None, data) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
