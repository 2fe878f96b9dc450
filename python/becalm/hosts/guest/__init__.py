"""The host `guest:`: a virtual machine with a kernel of one's choice, booted in seconds (docs/how-to/guest.md).

Nothing is installed in it: the initramfs contains the agent, the programs of the workloads with their libraries, and
the requested kernel modules. So it is booted when it is first needed, with the programs that are defined then, and
again when other programs are defined. It may have a `network`, a disk and swap (`storage`).
"""

from __future__ import annotations

import gzip
import os
import pwd
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from msgspec.structs import replace

from becalm import system_clock
from becalm.errors import BootError, MachineError, UsageError, WorkloadError
from becalm.hosts.abilities import YES, Abilities, Ability, Can, refused
from becalm.hosts.agent import AgentHost, agent_path
from becalm.hosts.agent_abilities import ABLE, EMULATED
from becalm.hosts.applied_settings import AppliedSettings
from becalm.hosts.boot_entry import BootEntryHost
from becalm.hosts.events import Event, Runs
from becalm.hosts.guest import kernel, needs, network, qemu, storage
from becalm.hosts.guest.initramfs import Cpio, fill
from becalm.hosts.guest.needs import Needs
from becalm.hosts.guest.options import GuestOptions, parse
from becalm.hosts.protocol import Access, MeasureRequest, Parameters
from becalm.hosts.rebooting import RebootingHost
from becalm.hosts.running_load import RunningLoad
from becalm.hosts.scratch import Scratch
from becalm.hosts.wrapper import Wrapper
from becalm.nouns.demand import Demand
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload

ALWAYS = ("true",)
"""The programs that the agent itself starts (`overhead`)."""
SKELETON = ("/proc", "/sys", "/dev", "/root", "/var/lib", "/etc/becalm", "/tmp", "/run")
OWN_FILES = ("/etc/passwd", "/etc/group")
"""The files that are generated for a guest, and not copied from this machine."""
RESERVE_MIB = 96
"""The memory that a distribution's kernel needs, MiB."""
ENDS = Can(
    False,
    "a guest ends with becalm",
    "name the program to run under them: becalm apply … -- PROGRAM",
)
NO_LOADER = Can(
    False,
    "a guest is started without a boot loader",
    "give kernel parameters in its name: guest:…?append=…",
)
PASSWD = "root:x:0:0:root:/root:/bin/sh\n"
GROUP = "root:x:0:\ntty:x:5:\n"


def open_guest(rest: str, access: Access) -> RebootingHost:
    """Prepare a guest. `rest`: the host's name after "guest:". Raises UsageError, MachineError."""
    wanted = parse(rest)
    if access.root is not None:
        raise UsageError("--root is a directory of this machine; a guest has its own. Leave one of them out.")
    qemu.program()
    return RebootingHost(GuestMachine(f"guest:{rest}", wanted, kernel.find(wanted.kernel), access))


class GuestMachine(Wrapper[AgentHost]):
    """A virtual machine that is booted when needed, and reached through the agent, the only child of its process 1."""

    def __init__(self, name: str, wanted: GuestOptions, image: kernel.Kernel, access: Access) -> None:
        self._name, self._wanted, self._kernel, self._access = name, wanted, image, access
        self._link: qemu.GuestLink | None = None
        self._agent: AgentHost | None = None
        self._conversations = 0
        self._parameters: Parameters = ()
        self._accel = qemu.accelerators(wanted.accel)
        self._tried = ""
        self._account = _account(access.user)
        self._needs = needs.of_files(wanted.files) | Needs(directories=frozenset([os.getcwd()]))
        self._needs |= needs.of_workloads([Workload.of(program) for program in ALWAYS])
        self._network = network.of(wanted.net, image)
        self._storage = storage.of(wanted, image)
        self._own = Needs(
            frozenset([*OWN_FILES, *(place for place, _ in self._network.files)]),
            directories=frozenset([*SKELETON, self._account.pw_dir, *self._storage.directories]),
        )
        self._modules = kernel.modules(image, [*self._network.modules, *self._storage.modules, *wanted.modules])

    @property
    def inner(self) -> AgentHost:
        """The agent in the machine, which is booted for it."""
        if self._agent is None:
            self._on()
        assert self._agent is not None
        return self._agent

    @property
    def name(self) -> str:
        """The name by which the host was opened."""
        return self._name

    @property
    def parameters(self) -> Parameters:
        """The kernel parameters of the current or next boot, without those in the host's name."""
        return self._parameters

    def conversation(self) -> int:
        """Return the number of the conversation with the agent, after starting one if there is none."""
        _ = self.inner
        return self._conversations

    def abilities(self) -> Abilities:
        """Return the abilities: the agent in a guest is always root.

        Whether its processor is emulated is known after the boot: /dev/kvm may exist and not work.
        """
        real = EMULATED if self._accel[0] == qemu.EMULATED else YES
        if self._agent is not None and not self._agent.abilities()[Ability.REAL_TIME]:
            real = EMULATED
        return {
            **ABLE,
            Ability.REBOOT: YES,
            Ability.KEEP: ENDS,
            Ability.BOOT_ENTRY: NO_LOADER,
            Ability.REAL_TIME: real,
        }

    def define(
        self, workloads: Sequence[Workload], settings: Sequence[Settings | None], *, dangerous: bool = False
    ) -> list[str]:
        """Define as on every host; a guest that lacks files of the programs is booted again with them."""
        wanted = (
            needs.of_workloads([workload for workload in workloads if workload.alongside or not workload.kernel])
            - self._own
        )
        if not wanted <= self._needs:
            self._off()
            self._needs |= wanted
        return super().define(workloads, settings, dangerous=dangerous)

    def effects(self, settings: Settings, *, dangerous: bool = False) -> list[Mapping[str, Any]]:
        """Return the effects of settings of the boot here."""
        return self.inner.effects(settings, dangerous=dangerous)

    def keep(self, settings: Settings, *, dangerous: bool = False) -> AppliedSettings:
        """Refuse to keep settings, as a guest ends with becalm."""
        raise refused(self.name, self.abilities(), Ability.KEEP)

    def boot_entry(self) -> BootEntryHost:
        """Refuse: a guest has no boot loader."""
        raise refused(self.name, self.abilities(), Ability.BOOT_ENTRY)

    def started_before(self, parameters: Parameters) -> None:
        """Do nothing, as each start of an emulated machine is tried twice anyway."""

    def settle(self) -> None:
        """Settle as on every host; a guest that is off has nothing to restore."""
        if self._agent is not None:
            self._agent.settle()

    def reboot(self, parameters: Parameters) -> None:
        """Boot with these parameters after those in the host's name."""
        self._off()
        self._parameters = parameters
        try:
            self._on()
        except MachineError as error:
            self._parameters = ()
            if not parameters:
                raise
            raise BootError(f"The guest does not start with {' '.join(parameters)}: {error}") from error

    def measure(self, request: MeasureRequest) -> Iterator[Event]:
        """Measure as on every host. Raises WorkloadError for a run that the guest's kernel killed for lack of memory.

        Raises BootError for a guest that ends or hangs on a boot with parameters of settings.
        """
        killed = False
        try:
            for event in super().measure(request):
                if isinstance(event, Runs):
                    killed = killed or any(run.outcome == "failed" and run.status == -9 for run in event.rows)
                yield event
        except MachineError as error:
            if self._link is None or not self._link.gone or not self._parameters:
                raise
            parameters, self._parameters = self._parameters, ()
            self._off()
            raise BootError(f"The guest does not keep running with {' '.join(parameters)}: {error}") from error
        text = self._link.console.text() if killed and self._link else ""
        if match := re.search(r"Out of memory: Killed process.*", text):
            raise WorkloadError(
                f"The guest ran out of memory ({self._wanted.mem} MiB): {match[0].strip()}. "
                f"Give it more: mem={2 * self._wanted.mem}M in the host's name."
            )

    @contextmanager
    def loading(self, demand: Demand) -> Iterator[RunningLoad]:
        """Make load as on every host; if it cannot be made, the error names what this guest would need for it."""
        swaps = (demand.memory_bytes or 0) > (demand.limit_bytes or 0)
        advice = storage.lacking(self.name, self._wanted, disk=demand.disk_directory is not None, swap=swaps)
        with ExitStack() as stack:
            try:
                load = stack.enter_context(super().loading(demand))
            except MachineError as error:
                raise MachineError(f"{error} {advice}".strip()) from error
            yield load

    def stop(self) -> None:
        """End what is under way."""
        if self._agent is not None:
            self._agent.stop()

    def close(self) -> None:
        """Switch the machine off."""
        self._off()

    def _off(self) -> None:
        if self._link is not None:
            self._link.close()
        self._link = self._agent = None

    def _on(self) -> None:
        began = system_clock.monotonic()
        try:
            self._start()
        except MachineError:
            if self._tried != qemu.EMULATED or system_clock.monotonic() - began >= self._wanted.limit_s:
                raise
            # An emulated machine can panic by chance when its host is busy, so it is tried twice.
            self._start()

    def _start(self) -> None:
        self._link = self._machine()
        try:
            self._agent = AgentHost(self.name, self._link, self._access)
        except BaseException:
            self._off()
            raise
        self._conversations += 1

    def _try(self, accel: str) -> None:
        self._tried = accel

    def _machine(self) -> qemu.GuestLink:
        scratch = Scratch("guest")
        place = Path(scratch.name)
        try:
            with gzip.open(place / "initramfs", "wb", compresslevel=1) as file:
                size = self._write(cast(BinaryIO, file))
            # The root file system gets half of the memory (tmpfs(5), size).
            least = 2 * (size >> 20) + RESERVE_MIB
            if self._wanted.mem < least:
                raise UsageError(
                    f"The programs and files of this guest take {size >> 20} MiB, and half of its memory is for them: "
                    f"it needs mem={least}M, not {self._wanted.mem}M."
                )
            wanted = replace(self._wanted, append=(*self._wanted.append, *self._parameters))
            devices = [*self._network.qemu, *self._storage.create(place)]
            link, self._accel = qemu.start(
                wanted, self._kernel, scratch, self._accel, devices, self._access.spool, self._try
            )
            self._storage.unlink(place)
            return link
        except BaseException:
            scratch.cleanup()
            raise

    def _write(self, file: BinaryIO) -> int:
        """Write the initramfs, and return its size in memory, in bytes."""
        cpio = Cpio(file)
        directories = [*SKELETON, self._account.pw_dir, *self._needs.directories]
        fill(cpio, self._needs.files, self._needs.trees, directories)
        cpio.device("/dev/console", 0o600, 5, 1)
        cpio.file("/init", agent_path())
        user = self._account
        arguments, passwd, group = "", PASSWD, GROUP
        if user.pw_uid != 0:
            arguments = f"--user\n{user.pw_uid}\n"
            passwd += f"{user.pw_name}:x:{user.pw_uid}:{user.pw_gid}::{user.pw_dir}:{user.pw_shell or '/bin/sh'}\n"
            group += f"{user.pw_name}:x:{user.pw_gid}:\n"
        lines = "".join(f"/etc/becalm/{name}.ko\n" for name, _ in self._modules)
        texts = {**dict(zip(OWN_FILES, (passwd, group), strict=True)), "/etc/becalm/serve": arguments}
        for place, text in (
            *texts.items(),
            ("/etc/becalm/modules", lines),
            *self._network.files,
            *self._storage.files,
        ):
            cpio.data(place, text.encode())
        for name, data in self._modules:
            cpio.data(f"/etc/becalm/{name}.ko", data)
        cpio.end()
        return cpio.size


def _account(name: str | None) -> pwd.struct_passwd:
    """Return the account under which workloads run: the named one, or that of becalm's user, also through sudo."""
    try:
        if name is None:
            return pwd.getpwuid(int(os.environ.get("SUDO_UID", "")) if _is_sudo() else os.getuid())
        return pwd.getpwuid(int(name)) if name.isdigit() else pwd.getpwnam(name)
    except KeyError:
        if name is None:
            uid = os.getuid()
            return pwd.struct_passwd((f"user{uid}", "x", uid, os.getgid(), "", "/", "/bin/sh"))
        raise MachineError(f"There is no user {name!r} on this machine, so a guest cannot have it either.") from None


def _is_sudo() -> bool:
    return os.getuid() == 0 and os.environ.get("SUDO_UID", "").isdigit()
