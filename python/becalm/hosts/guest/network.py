"""A guest's network: none, or QEMU's own (`net=user`), which needs no rights and reaches what its user can reach.

`of` chooses the emulated device by what the kernel has a driver for, `Network.qemu` is QEMU's part and `Network.files`
what the agent as process 1 reads (crates/becalm-agent/src/interface.rs) and resolv.conf(5). `GuestHost` calls them.
"""

from __future__ import annotations

from dataclasses import dataclass

from becalm.errors import MachineError
from becalm.hosts.guest import kernel

DEVICES = (
    ("virtio-net-pci", ("virtio_pci", "virtio_net")),
    ("e1000e", ("e1000e",)),
    ("e1000", ("e1000",)),
)
"""QEMU's devices and the kernel modules that drive them, the cheapest to emulate first."""
INTERFACE = "eth0"
"""The kernel's own name; in a guest nobody gives it another."""
ADDRESS, MASK, GATEWAY, NAMESERVER = "10.0.2.15", "255.255.255.0", "10.0.2.2", "10.0.2.3"
"""The addresses of QEMU's user network ("Using the user mode network stack" in its manual)."""


@dataclass(frozen=True, slots=True)
class Network:
    """The needs of a guest's network: words for QEMU, `modules` of the kernel, files by their place."""

    qemu: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()


def of(name: str, found: kernel.Kernel) -> Network:
    """Return the network "none" or "user" of a guest with this kernel. Raises MachineError when it has no driver for
    it."""
    if name == "none":
        return Network()
    device, modules = _device(found)
    return Network(
        # Without IPv6, which would configure itself some time after the boot; without the ROM for booting by network.
        ("-netdev", "user,id=net,ipv6=off", "-device", f"{device},netdev=net,romfile="),
        modules,
        (
            ("/etc/becalm/network", f"{INTERFACE} {ADDRESS} {MASK} {GATEWAY}\n"),
            ("/etc/resolv.conf", f"nameserver {NAMESERVER}\n"),
        ),
    )


def _device(found: kernel.Kernel) -> tuple[str, tuple[str, ...]]:
    if found.modules is None:
        # What is built in cannot be seen from here; kernels for virtual machines that are built whole have virtio.
        return DEVICES[0][0], ()
    for device, modules in DEVICES:
        try:
            kernel.modules(found, modules)
        except MachineError:
            continue
        return device, modules
    drivers = ", ".join(modules[-1] for _, modules in DEVICES)
    raise MachineError(
        f"The kernel {found.release} has none of the network drivers {drivers}, so net=user cannot work with it. Leave "
        "net out, or take another kernel: becalm guest prepare 6.1."
    )
