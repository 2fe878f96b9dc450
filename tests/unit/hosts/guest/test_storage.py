"""A guest's disk and swap: which modules, QEMU's words, what the guest is told, and what a guest without them says."""

import contextlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.unit.hosts.guest.test_network import with_modules

from becalm.errors import MachineError
from becalm.hosts.guest import GuestMachine, kernel, storage
from becalm.hosts.guest.options import parse
from becalm.nouns.demand import Demand

WHOLE = kernel.Kernel("6.1", Path("/vmlinuz"), None)


def test_neither_takes_anything(tmp_path):
    disk = storage.of(parse("6.1"), with_modules(tmp_path))
    assert disk == storage.Storage()
    assert disk.create(tmp_path) == []
    disk.unlink(tmp_path)


def test_modules_of_both_with_what_modprobe_would_bring(tmp_path):
    disk = with_modules(
        tmp_path, ["virtio_pci", "ext4"], virtio_blk=(), zram=("zsmalloc",), zsmalloc=(), lzo_rle=(), crc32c_generic=()
    )
    wanted = storage.of(parse("6.1?disk=1G&swap=512M"), disk)
    names = [name for name, _ in kernel.modules(disk, wanted.modules)]
    assert names == ["crc32c_generic", "virtio_blk", "lzo_rle", "zsmalloc", "zram"]
    assert wanted.files == (("/etc/becalm/disk", "/var/tmp\n"), ("/etc/becalm/swap", "536870912\n"))


def test_a_kernel_without_modules_has_them_built_in_or_nothing():
    assert storage.of(parse("6.1?disk=1G&swap=512M"), WHOLE).modules == ()


@pytest.mark.parametrize(
    ("devices", "says"),
    [
        ("disk=1G", "disk=… needs a kernel with a virtio block device .* has no module virtio_pci"),
        (
            "swap=512M",
            r"swap=… needs a kernel with compressed memory .*CONFIG_ZRAM.* has no module zram\. Leave swap out",
        ),
    ],
)
def test_a_kernel_without_a_driver_is_reported(tmp_path, devices, says):
    with pytest.raises(MachineError, match=says):
        storage.of(parse(f"6.1?{devices}"), with_modules(tmp_path))


def test_a_disk_that_cannot_be_made_is_reported(tmp_path, monkeypatch):
    disk = storage.Storage(disk=128)
    with pytest.raises(MachineError, match=r"cannot be made in .*nowhere: No such file"):
        disk.create(tmp_path / "nowhere")
    namespace = SimpleNamespace(returncode=1, stdout="", stderr="mke2fs: no room\n")
    monkeypatch.setattr(storage.subprocess, "run", lambda *words, **options: namespace)
    monkeypatch.setattr(storage, "_maker", lambda: "mke2fs")
    with pytest.raises(MachineError, match="mke2fs: mke2fs: no room"):
        disk.create(tmp_path)


def test_no_mke2fs_is_reported(monkeypatch):
    monkeypatch.setattr(storage.shutil, "which", lambda *words, **options: None)
    with pytest.raises(MachineError, match=r"needs mke2fs, which was not found.*e2fsprogs"):
        storage.of(parse("6.1?disk=1G"), WHOLE)


OVER = Demand(memory_bytes=2 << 20, limit_bytes=1 << 20)


@pytest.mark.parametrize(
    ("name", "demand", "says"),
    [
        (
            "6.1",
            Demand(disk_directory="/x"),
            r"^No\. .* at /var/tmp, where its name asks for one: guest:6\.1\?disk=1G$",
        ),
        ("6.1?swap=64M", Demand(disk_directory="/x"), r"guest:6\.1\?swap=64M&disk=1G$"),
        ("6.1?disk=1G", Demand(disk_directory="/x"), r"^No\.$"),
        ("6.1?mem=256M", OVER, r"^No\. .*has swap where its name asks for it: guest:6\.1\?mem=256M&swap=128M$"),
        ("6.1?swap=64M", OVER, r"^No\.$"),
        ("6.1", Demand(memory_bytes=1 << 20, limit_bytes=1 << 20), r"^No\.$"),
        ("6.1", Demand(cpu=1.0), r"^No\.$"),
    ],
)
def test_load_that_a_guest_cannot_make_says_what_its_name_would_need(name, demand, says):
    @contextlib.contextmanager
    def refused(host, demand):
        raise MachineError("No.")
        yield

    class Guest(GuestMachine):
        inner = None

        def __init__(self):
            self._name, self._wanted = f"guest:{name}", parse(name)

    class Inner:
        loading = refused

    Guest.inner = Inner()
    with pytest.raises(MachineError, match=says), Guest().loading(demand):
        pass
