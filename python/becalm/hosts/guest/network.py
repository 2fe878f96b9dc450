"""The network of a guest: none, or QEMU's user network (`net=user`), which needs no rights and reaches what its user
can.

`of` chooses an emulated device for which the kernel has a driver. `Network.qemu` has the options for QEMU, and
`Network.files` the files that the agent as process 1 reads (crates/becalm-agent/src/interface.rs), and resolv.conf(5).
"""

from __future__ import annotations

import msgspec

from becalm.errors import MachineError
from becalm.hosts.guest import kernel

DEVICES = (
    ("virtio-net-pci", ("virtio_pci", "virtio_net")),
    ("e1000e", ("e1000e",)),
    ("e1000", ("e1000",)),
)
"""QEMU's devices and the kernel modules that drive them, the cheapest to emulate first."""
INTERFACE = "eth0"
"""The name that the kernel gives the interface; nothing in a guest renames it."""
ADDRESS, MASK, GATEWAY, NAMESERVER = "10.0.2.15", "255.255.255.0", "10.0.2.2", "10.0.2.3"
"""The addresses of QEMU's user network ("Using the user mode network stack" in its manual)."""


class Network(msgspec.Struct, frozen=True):
    """The needs of a network: options for `qemu`, `modules` of the kernel, `files` as pairs of path and text."""

    qemu: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()


def of(name: str, image: kernel.Kernel) -> Network:
    """Return the network "none" or "user" for a kernel. Raises MachineError if it has no driver."""
    if name == "none":
        return Network()
    device, modules = _device(image)
    return Network(
        # Without IPv6, which would be configured some time after the boot, and without the ROM for network boot.
        ("-netdev", "user,id=net,ipv6=off", "-device", f"{device},netdev=net,romfile="),
        modules,
        (
            ("/etc/becalm/network", f"{INTERFACE} {ADDRESS} {MASK} {GATEWAY}\n"),
            ("/etc/resolv.conf", f"nameserver {NAMESERVER}\n"),
        ),
    )


def _device(image: kernel.Kernel) -> tuple[str, tuple[str, ...]]:
    if image.modules is None:
        # Built-in drivers cannot be seen from here; kernels without modules for virtual machines have virtio.
        return DEVICES[0][0], ()
    for device, modules in DEVICES:
        try:
            kernel.modules(image, modules)
        except MachineError:
            continue
        return device, modules
    drivers = ", ".join(modules[-1] for _, modules in DEVICES)
    raise MachineError(
        f"The kernel {image.release} has none of the network drivers {drivers}, so net=user cannot work with it. Leave "
        "net out, or take another kernel: becalm guest prepare 6.1."
    )
