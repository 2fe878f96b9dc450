"""A virtual machine: QEMU's command line, its start, and what it says when it ends."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from becalm import system_clock
from becalm.errors import MachineError
from becalm.hosts.guest.kernel import Kernel
from becalm.hosts.guest.options import GuestOptions
from becalm.hosts.transport import CHUNK, LONGEST_LINE, Patience, ProcessLink

PROGRAM = "qemu-system-x86_64"
PR_SET_PDEATHSIG = 1
TAIL = 1 << 16
"""Bytes of the console that are looked at for a reason."""
PATIENCE_S = 5.0
END_S = 0.5
"""Seconds that a machine whose output is closed may take to end."""
EMULATED = "tcg,thread=multi"
IN_TURNS = "tcg,thread=single"
"""The same for a machine with more CPUs than this one. A kernel patches itself, and holds its other CPUs up by an int3
meanwhile; an emulated CPU whose thread waits for a processor just then finds it too late, and the kernel panics ("Oops:
int3"). In one thread they take turns, and none is ever that late."""
UNCHECKED = ("no_timer_check", "tsc=reliable")
"""The parameters of an emulated kernel. On a busy machine ticks come too late for its timer check, and it panics;
its check of the time stamp counter fails, and it changes to a slower clock in the middle of a study."""
SHARED = "ivshmem-plain"
SPOOL_BYTES = 4 << 20
"""The memory shared with a guest: some 20,000 runs. Pages that are never written take no room."""
KVM_LIMIT_S = 20.0
"""The time in which a guest with a processor's own virtualisation must answer, s; usual are 2. Inside some virtual
machines /dev/kvm opens, and then nothing ever runs."""

ALIVE = b'{"id":0,"do":"alive"}\n'
"""A question of the transport's own: requests count from 1, so nobody takes the answer."""

REASONS = (
    (re.compile(r"becalm-init: (.+?)\.?$", re.MULTILINE), "{}"),
    (re.compile(r"System is deadlocked on memory"), "the guest has too little memory to boot"),
    (re.compile(r"Initramfs unpacking failed: (.+)"), "the guest has too little memory for its files ({})"),
    (re.compile(r"Out of memory: Killed process \d+ \((\S+)\)"), "the guest ran out of memory, {} was killed"),
    (re.compile(r"Kernel panic - not syncing: (.+?)\s*$", re.MULTILINE), "the guest's kernel panicked: {}"),
)
"""The patterns to search on the console, of which the first match counts, and the sentence for each."""


def program() -> str:
    """Return QEMU's executable. Raises MachineError when there is none, or this is no x86-64 machine."""
    if os.uname().machine != "x86_64":
        raise MachineError(f"A guest runs becalm's agent, which here is for {os.uname().machine}; guests are x86-64.")
    result = shutil.which(PROGRAM)
    if result is None:
        raise MachineError(
            f"A guest needs QEMU: {PROGRAM} was not found. Debian, Ubuntu: apt-get install qemu-system-x86; "
            "Fedora: dnf install qemu-system-x86-core; Arch: pacman -S qemu-system-x86."
        )
    return result


def accelerators(wanted: str) -> tuple[str, ...]:
    """Return the -accel values to try in turn. Raises MachineError when kvm was asked for in vain."""
    kvm = os.access("/dev/kvm", os.R_OK | os.W_OK)
    if wanted == "kvm" and not kvm:
        there = os.path.exists("/dev/kvm")
        why = "you may not open it: join the group kvm" if there else "this machine offers no virtualisation"
        raise MachineError(f"accel=kvm was asked for, but /dev/kvm cannot be used: {why}. Or leave accel out.")
    if wanted == "kvm":
        return ("kvm",)
    return ("kvm", EMULATED) if kvm and wanted == "auto" else (EMULATED,)


def command(
    qemu: str, wanted: GuestOptions, kernel: Kernel, place: Path, accel: str, devices: Sequence[str] = ()
) -> list[str]:
    """Return QEMU's argument list. `place`: the directory with `initramfs` in it, where `console` will be written.
    `devices`: words for its further devices (`network`).

    The kernel's console is the first serial port, into a file; the agent's is the second, QEMU's own input and output.
    """
    unchecked = UNCHECKED if accel == EMULATED else ()
    line = ["console=ttyS0", "quiet", "panic=-1", "rdinit=/init", *unchecked, *wanted.append]
    words = [qemu, "-machine", "q35", "-cpu", "max", "-smp", str(wanted.cpus), "-m", f"{wanted.mem}M"]
    in_turns = accel == EMULATED and wanted.cpus > len(os.sched_getaffinity(0))
    words += ["-accel", IN_TURNS if in_turns else accel]
    words += ["-no-user-config", "-nodefaults", "-display", "none", "-no-reboot"]
    words += ["-kernel", str(kernel.image), "-initrd", str(place / "initramfs"), "-append", " ".join(line)]
    # In an option of QEMU's a comma is written twice.
    console = str(place / "console").replace(",", ",,")
    words += ["-chardev", f"file,id=console,path={console}", "-serial", "chardev:console"]
    words += devices
    return [*words, "-chardev", "stdio,id=agent,signal=off", "-serial", "chardev:agent"]


def shared_memory(spool: int | None) -> list[str]:
    """Return words for memory of the guest that is this file, into which its agent writes finished runs: they are there
    even when QEMU is killed with becalm. Only memory is written, so that no program in the guest is disturbed."""
    if spool is None:
        return []
    file = f"memory-backend-file,id=spool,share=on,size={SPOOL_BYTES},mem-path=/proc/self/fd/{spool}"
    return ["-object", file, "-device", f"{SHARED},memdev=spool"]


@dataclass(frozen=True, slots=True)
class Console:
    """The output of the guest's kernel and of QEMU. It outlives the machine."""

    place: Path

    def text(self) -> str:
        """Return the end of the console's text."""
        try:
            with (self.place / "console").open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
                return file.read().decode(errors="replace").replace("\r", "")
        except OSError:
            return ""

    def complaint(self) -> str:
        """Return the last message of QEMU itself."""
        try:
            lines = (self.place / "qemu").read_text(errors="replace").strip().splitlines()
        except OSError:
            return ""
        # What went wrong is said before what followed from it, such as a failed assertion.
        first = next((line for line in lines if "error" in line), (lines or [""])[-1])
        return first.removeprefix(f"{PROGRAM}: ").removeprefix("error: ").rstrip(".")

    def reason(self) -> str:
        """Return the reason why the machine ended, as far as it can be seen; else the last line of the console."""
        text = self.text()
        for pattern, said in REASONS:
            if match := pattern.search(text):
                return said.format(*match.groups())
        if complaint := self.complaint():
            return f"QEMU says: {complaint}"
        lines = [line for line in text.splitlines() if line.strip()]
        return f"the last line on its console is: {lines[-1].strip()}" if lines else "it said nothing"


class GuestLink(ProcessLink):
    """A link to the agent in a virtual machine; ending it ends the machine.

    `answer_s`: after so long without a line the guest counts as hanging. How long a program takes is nobody's to say,
    so the agent is then asked whether it lives, and hangs when nothing comes for as long again.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], scratch: tempfile.TemporaryDirectory[str], answer_s: float
    ) -> None:
        super().__init__(process, PATIENCE_S)
        self._scratch = scratch
        self._patience = Patience.SOON
        self.answer_s = answer_s
        self.gone = False
        """The machine has ended, or hangs."""
        self.console = Console(Path(scratch.name))

    def send(self, line: bytes, patience: Patience = Patience.SOON) -> None:
        """Write it all; the next lines are waited for with this patience."""
        self._patience = patience
        super().send(line, patience)

    def interrupt(self, line: bytes) -> None:
        """Write it; the patience stays."""
        super().send(line)

    def read(self, most: int = LONGEST_LINE, limit_s: float | None = None) -> bytes:
        """Return the next line; less when the machine has ended, or hangs, which has limits of its own."""
        deadline = None if self._patience is Patience.LONG else system_clock.monotonic() + self.answer_s
        question = ALIVE if self._patience is Patience.PROGRAMS else None
        while (line := self._arrived.line(most)) is None:
            left = None if deadline is None else max(0.0, deadline - system_clock.monotonic())
            ready, _, _ = select.select([self._output], [], [], left)
            if not ready and question is not None:
                self.interrupt(question)
                question, deadline = None, system_clock.monotonic() + self.answer_s
                continue
            chunk = os.read(self._output.fileno(), CHUNK) if ready else b""
            if not chunk:
                return self._arrived.rest()
            self._arrived.add(chunk)
        return line

    def spoke(self, limit_s: float) -> bool:
        """Wait until the agent speaks: whatever is sent before the guest has opened its port is lost."""
        ready, _, _ = select.select([self._output], [], [], limit_s)
        # A machine that ended closes its output, which makes it readable too.
        chunk = os.read(self._output.fileno(), CHUNK) if ready else b""
        self._arrived.add(chunk)
        return bool(chunk)

    def close(self) -> None:
        """Switch the machine off and forget it: nothing in it outlasts it, so there is nothing to wait for."""
        self.end()
        self._scratch.cleanup()

    def end(self) -> None:
        """Switch the machine off."""
        if self.process.poll() is None:
            self.process.terminate()
        super().close()

    def lost(self, host: str) -> MachineError:
        """Return the error for a machine that ended."""
        self.gone = True
        return super().lost(host)

    def died(self) -> str:
        """Return how the machine ended, or that it hangs."""
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            return f"stopped answering for {self.answer_s:g} s"
        return f"ended with its machine ({self.console.reason()})"


def start(
    wanted: GuestOptions,
    kernel: Kernel,
    scratch: tempfile.TemporaryDirectory[str],
    accels: tuple[str, ...],
    devices: Sequence[str] = (),
    spool: int | None = None,
) -> tuple[GuestLink, tuple[str, ...]]:
    """Boot with the first of the accelerators that works; gives the link and those that are left to try next time.

    `scratch` holds the initramfs and goes with the machine. `spool`: a file that its agent writes finished runs into.
    Raises MachineError.
    """
    qemu, place = program(), Path(scratch.name)
    for index, accel in enumerate(accels):
        last = index == len(accels) - 1
        words = command(qemu, wanted, kernel, place, accel, [*devices, *shared_memory(spool)])
        try:
            limit_s = wanted.limit_s if last else min(KVM_LIMIT_S, wanted.limit_s)
            return boot(words, scratch, limit_s, wanted.limit_s, spool), accels[index:]
        except MachineError as error:
            if spool is not None and SHARED in str(error):
                # Not every distribution's QEMU has the device. Without it a killed becalm may lose some runs.
                return start(wanted, kernel, scratch, accels, devices)
            # What the guest itself complains about would be the same without acceleration.
            if last or Console(place).text().strip():
                raise
    raise MachineError("No accelerator was given to try.")


def boot(
    words: list[str],
    scratch: tempfile.TemporaryDirectory[str],
    limit_s: float,
    answer_s: float,
    spool: int | None = None,
) -> GuestLink:
    """Start QEMU and wait until the agent speaks; later it may be silent for `answer_s`. Raises MachineError."""
    # Loaded here: between fork and exec nothing may be.
    prctl = ctypes.CDLL(None).prctl

    def die_with_us() -> None:
        # QEMU does not end when its input does; becalm may be killed.
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    try:
        with (Path(scratch.name) / "qemu").open("wb") as errors:
            process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                process_group=0,
                preexec_fn=die_with_us,
                pass_fds=() if spool is None else (spool,),
            )
    except OSError as error:
        raise MachineError(f"QEMU cannot be started: {words[0]}: {error.strerror}.") from error
    link = GuestLink(process, scratch, answer_s)
    try:
        if not link.spoke(limit_s):
            raise _failure(link, limit_s)
    except BaseException:
        link.end()
        raise
    # QEMU has read it, and it may be large.
    (Path(scratch.name) / "initramfs").unlink()
    return link


def _failure(link: GuestLink, limit_s: float) -> MachineError:
    """Return the error for a machine that did not boot: it has closed its output, or time is over."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        link.process.wait(END_S)
    reason = link.console.reason()
    if link.process.poll() is not None:
        return MachineError(f"The guest did not boot: {reason}. Nothing was measured.")
    return MachineError(
        f"The guest did not boot within {limit_s:g} s; {reason}. Give it more time (limit=300s in the host's name), or "
        "see its kernel's messages with append=loglevel=7."
    )
