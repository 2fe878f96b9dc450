"""A guest's network: which device for which kernel, QEMU's words, and what the guest is told."""

from pathlib import Path

import pytest
from tests.support.elves import module

from becalm.errors import MachineError
from becalm.hosts.guest import kernel, network


def with_modules(place, built_in=(), **files):
    (place / "kernel").mkdir()
    for name, depends in files.items():
        (place / f"kernel/{name}.ko").write_bytes(module(name, *depends))
    (place / "modules.builtin").write_text("".join(f"kernel/{name}.ko\n" for name in built_in))
    return kernel.Kernel("6.1", Path("/vmlinuz"), place)


def test_no_network_takes_nothing(tmp_path):
    assert network.of("none", with_modules(tmp_path)) == network.Network()


def test_the_users_network_by_virtio(tmp_path):
    loaded = with_modules(tmp_path, ["virtio_pci"], virtio_net=("failover",), failover=())
    wanted = network.of("user", loaded)
    assert wanted.qemu == ("-netdev", "user,id=net,ipv6=off", "-device", "virtio-net-pci,netdev=net,romfile=")
    assert [name for name, _ in kernel.modules(loaded, wanted.modules)] == ["failover", "virtio_net"]
    assert wanted.files == (
        ("/etc/becalm/network", "eth0 10.0.2.15 255.255.255.0 10.0.2.2\n"),
        ("/etc/resolv.conf", "nameserver 10.0.2.3\n"),
    )


@pytest.mark.parametrize(
    ("built_in", "files", "device"),
    [
        ([], {"e1000e": (), "e1000": (), "virtio_net": ("gone",)}, "e1000e"),
        (["e1000"], {}, "e1000"),
        (["virtio_net", "virtio_pci"], {"e1000": ()}, "virtio-net-pci"),
    ],
)
def test_another_device_where_the_kernel_has_no_driver_for_the_first(tmp_path, built_in, files, device):
    assert network.of("user", with_modules(tmp_path, built_in, **files)).qemu[-1] == f"{device},netdev=net,romfile="


def test_a_kernel_without_modules_has_virtio_built_in_or_nothing():
    wanted = network.of("user", kernel.Kernel("6.1", Path("/vmlinuz"), None))
    assert (wanted.qemu[-1], wanted.modules) == ("virtio-net-pci,netdev=net,romfile=", ())


def test_a_kernel_without_a_driver_is_reported(tmp_path):
    with pytest.raises(MachineError, match="none of the network drivers virtio_net, e1000e, e1000"):
        network.of("user", with_modules(tmp_path))
