"""A virtual machine: QEMU's command line, its start, and the reason for its end."""

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
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from becalm import system_clock
from becalm.errors import MachineError
from becalm.hosts.guest.kernel import Kernel
from becalm.hosts.guest.options import GuestOptions
from becalm.hosts.transport import CHUNK, LONGEST_LINE, Patience, ProcessLink

PROGRAM = "qemu-system-x86_64"
PR_SET_PDEATHSIG = 1
TAIL = 1 << 16
"""The part of the console that is searched for a reason, in bytes."""
PATIENCE_S = 5.0
END_S = 0.5
"""The time in which a machine whose output is closed must end, s."""
EMULATED = "tcg,thread=multi"
IN_TURNS = "tcg,thread=single"
"""The accelerator for a guest with more CPUs than this machine. A kernel that patches itself stops its other CPUs by an
int3 meanwhile; an emulated CPU whose thread waits for a processor at that moment executes it too late, and the kernel
panics ("Oops: int3"). In one thread the CPUs take turns, and none is that late."""
UNCHECKED = ("no_timer_check", "tsc=reliable")
"""The parameters of an emulated kernel. On a busy machine, late ticks would fail its timer check, and it would panic;
its check of the time stamp counter would fail, and it would change to a slower clock in the middle of a study."""
SHARED = "ivshmem-plain"
SPOOL_BYTES = 4 << 20
"""The memory shared with a guest, for some 20,000 runs, in bytes. Pages that are never written use no memory."""
KVM_LIMIT_S = 20.0
"""The time in which a guest under KVM must answer, s; usually it takes 2 s. In some virtual machines /dev/kvm can be
opened, but no guest ever runs."""

ALIVE = b'{"id":0,"do":"alive"}\n'
"""A request of the link itself: other requests are numbered from 1, so its answer is ignored."""

REASONS = (
    (re.compile(r"becalm-init: (.+?)\.?$", re.MULTILINE), "{}"),
    (re.compile(r"System is deadlocked on memory"), "the guest has too little memory to boot"),
    (re.compile(r"Initramfs unpacking failed: (.+)"), "the guest has too little memory for its files ({})"),
    (re.compile(r"Out of memory: Killed process \d+ \((\S+)\)"), "the guest ran out of memory, {} was killed"),
    (re.compile(r"Kernel panic - not syncing: (.+?)\s*$", re.MULTILINE), "the guest's kernel panicked: {}"),
)
"""Patterns in the console's text with the sentence for each; the first match counts."""


def program() -> str:
    """Return QEMU's executable. Raises MachineError if it is missing, or this is not an x86-64 machine."""
    if os.uname().machine != "x86_64":
        raise MachineError(f"A guest runs becalm's agent, which here is for {os.uname().machine}; guests are x86-64.")
    result = shutil.which(PROGRAM)
    if result is None:
        raise MachineError(
            f"A guest needs QEMU: {PROGRAM} was not found. Debian, Ubuntu: apt-get install qemu-system-x86; "
            "Fedora: dnf install qemu-system-x86-core; Arch: pacman -S qemu-system-x86."
        )
    return result


def accelerators(accel: str) -> tuple[str, ...]:
    """Return the -accel values to try in turn. Raises MachineError if kvm was requested and cannot be used."""
    kvm = os.access("/dev/kvm", os.R_OK | os.W_OK)
    if accel == "kvm" and not kvm:
        exists = os.path.exists("/dev/kvm")
        why = "you may not open it: join the group kvm" if exists else "this machine offers no virtualisation"
        raise MachineError(f"accel=kvm was requested, but /dev/kvm cannot be used: {why}. Or leave accel out.")
    if accel == "kvm":
        return ("kvm",)
    return ("kvm", EMULATED) if kvm and accel == "auto" else (EMULATED,)


def command(
    qemu: str, options: GuestOptions, kernel: Kernel, place: Path, accel: str, devices: Sequence[str] = ()
) -> list[str]:
    """Return QEMU's argument list. `place`: the directory of the `initramfs`, where `console` will be written.
    `devices`: options for further devices (`network`).

    The kernel's console is the first serial port, written to a file; the agent uses the second, which is QEMU's
    standard input and output.
    """
    unchecked = UNCHECKED if accel == EMULATED else ()
    line = ["console=ttyS0", "quiet", "panic=-1", "rdinit=/init", *unchecked, *options.append]
    words = [qemu, "-machine", "q35", "-cpu", "max", "-smp", str(options.cpus), "-m", f"{options.mem}M"]
    in_turns = accel == EMULATED and options.cpus > len(os.sched_getaffinity(0))
    words += ["-accel", IN_TURNS if in_turns else accel]
    words += ["-no-user-config", "-nodefaults", "-display", "none", "-no-reboot"]
    words += ["-kernel", str(kernel.image), "-initrd", str(place / "initramfs"), "-append", " ".join(line)]
    # QEMU's options have two commas for one.
    console = str(place / "console").replace(",", ",,")
    words += ["-chardev", f"file,id=console,path={console}", "-serial", "chardev:console"]
    words += devices
    return [*words, "-chardev", "stdio,id=agent,signal=off", "-serial", "chardev:agent"]


def shared_memory(spool: int | None) -> list[str]:
    """Return options for memory of the guest that maps a file, into which its agent writes finished runs: they survive
    even if QEMU is killed with becalm. Writing memory does not disturb programs in the guest."""
    if spool is None:
        return []
    file = f"memory-backend-file,id=spool,share=on,size={SPOOL_BYTES},mem-path=/proc/self/fd/{spool}"
    return ["-object", file, "-device", f"{SHARED},memdev=spool"]


class Console(msgspec.Struct, frozen=True):
    """The output of the guest's kernel and of QEMU, which outlives the machine."""

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
        """Return QEMU's own message: the first error, else the last line."""
        try:
            lines = (self.place / "qemu").read_text(errors="replace").strip().splitlines()
        except OSError:
            return ""
        # The cause comes before its consequences, such as a failed assertion.
        first = next((line for line in lines if "error" in line), (lines or [""])[-1])
        return first.removeprefix(f"{PROGRAM}: ").removeprefix("error: ").rstrip(".")

    def reason(self) -> str:
        """Return the reason why the machine ended, else the last line of its console."""
        text = self.text()
        for pattern, sentence in REASONS:
            if match := pattern.search(text):
                return sentence.format(*match.groups())
        if complaint := self.complaint():
            return f"QEMU reports: {complaint}"
        lines = [line for line in text.splitlines() if line.strip()]
        return f"the last line on its console is: {lines[-1].strip()}" if lines else "its console is empty"


class GuestLink(ProcessLink):
    """A link to the agent in a virtual machine; ending it ends the machine.

    `answer_s`: the silence after which the guest counts as hanging, s. While programs run, which may take any time, the
    agent is first asked whether it is alive, and hangs if nothing comes for that time again.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], scratch: tempfile.TemporaryDirectory[str], answer_s: float
    ) -> None:
        super().__init__(process, PATIENCE_S)
        self._scratch = scratch
        self._patience = Patience.SOON
        self.answer_s = answer_s
        self.gone = False
        """Whether the machine has ended, or hangs."""
        self.console = Console(Path(scratch.name))

    def send(self, line: bytes, patience: Patience = Patience.SOON) -> None:
        """Write a whole line, and wait for the next lines with this patience."""
        self._patience = patience
        super().send(line, patience)

    def interrupt(self, line: bytes) -> None:
        """Write a line without a change of the patience."""
        super().send(line)

    def read(self, most: int = LONGEST_LINE, limit_s: float | None = None) -> bytes:
        """Return the next line; less if the machine has ended, or hangs by the limits of this link."""
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

    def wait_for_output(self, limit_s: float) -> bool:
        """Wait for the first output of the agent; return whether there is any. Lines sent before that would be lost."""
        ready, _, _ = select.select([self._output], [], [], limit_s)
        # The output of a machine that has ended is readable, too, and empty.
        chunk = os.read(self._output.fileno(), CHUNK) if ready else b""
        self._arrived.add(chunk)
        return bool(chunk)

    def close(self) -> None:
        """Switch the machine off, without waiting for the agent: nothing in it outlasts it."""
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
    options: GuestOptions,
    kernel: Kernel,
    scratch: tempfile.TemporaryDirectory[str],
    accels: tuple[str, ...],
    devices: Sequence[str] = (),
    spool: int | None = None,
    trying: Callable[[str], None] = lambda accel: None,
) -> tuple[GuestLink, tuple[str, ...]]:
    """Boot with the first accelerator that works; return the link, and the accelerators to try next time.

    `scratch`: the directory of the initramfs, removed with the machine. `spool`: a file into which its agent writes
    finished runs. `trying`: called with the name of each accelerator before it is tried. Raises MachineError.
    """
    qemu, place = program(), Path(scratch.name)
    for index, accel in enumerate(accels):
        last = index == len(accels) - 1
        trying(accel)
        words = command(qemu, options, kernel, place, accel, [*devices, *shared_memory(spool)])
        try:
            limit_s = options.limit_s if last else min(KVM_LIMIT_S, options.limit_s)
            return boot(words, scratch, limit_s, options.limit_s, spool), accels[index:]
        except MachineError as error:
            if spool is not None and SHARED in str(error):
                # Some distributions' QEMU lacks the device. Without it a killed becalm may lose some runs.
                return start(options, kernel, scratch, accels, devices, trying=trying)
            # A problem that the guest reports would be the same without acceleration.
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
    """Start QEMU and wait for output of the agent. `answer_s`: as of GuestLink. Raises MachineError."""
    # Loaded here, because nothing may be loaded between fork and exec.
    prctl, becalm = ctypes.CDLL(None).prctl, os.getpid()

    def die_with_us() -> None:
        # QEMU does not end with its input, and becalm may be killed, also before this.
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != becalm:
            os._exit(1)

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
        if not link.wait_for_output(limit_s):
            raise _failure(link, limit_s)
    except BaseException:
        link.end()
        raise
    # QEMU has read the initramfs, which may be large.
    (Path(scratch.name) / "initramfs").unlink()
    return link


def _failure(link: GuestLink, limit_s: float) -> MachineError:
    """Return the error for a machine that did not boot: it has ended, or time is over."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        link.process.wait(END_S)
    reason = link.console.reason()
    if link.process.poll() is not None:
        return MachineError(f"The guest did not boot: {reason}. Nothing was measured.")
    return MachineError(
        f"The guest did not boot within {limit_s:g} s; {reason}. Give it more time (limit=300s in the host's name), or "
        "see its kernel's messages with append=loglevel=7."
    )
