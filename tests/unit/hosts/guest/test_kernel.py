"""Kernels: their headers, the shelf they are kept on, packages, modules."""

import gzip
import lzma
import os
import tarfile

import pytest
from tests.support.elves import module, package, vmlinuz
from tests.support.kernel_package import files, make_package

from becalm.errors import MachineError, UsageError
from becalm.hosts.guest import kernel, kernel_package


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/becalm/kernels"


def test_the_release_is_in_the_header(tmp_path):
    image = tmp_path / "vmlinuz"
    image.write_bytes(vmlinuz("6.12.9+deb12-cloud-amd64"))
    assert kernel.release_of(image) == "6.12.9+deb12-cloud-amd64"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"MZ" + bytes(0x36) + b"ARM\x64" + bytes(4096), "64-bit ARM"),
        (vmlinuz(loading=0), "32-bit kernel"),
        (b"\x7fELF" + bytes(4096), "not a kernel image for x86"),
        (b"", "not a kernel image"),
    ],
)
def test_files_that_are_not_kernels_for_a_guest_are_refused(tmp_path, data, says):
    image = tmp_path / "vmlinuz"
    image.write_bytes(data)
    with pytest.raises(MachineError, match=says):
        kernel.find(str(image))


def test_a_kernel_that_is_not_there(tmp_path):
    with pytest.raises(MachineError, match="cannot be read: No such file"):
        kernel.find(f"{tmp_path}/vmlinuz")


def test_a_package_is_unpacked_and_kept(tmp_path, cache):
    prepared = kernel.prepare(str(make_package(tmp_path, "6.1.0-9-cloud-amd64")))
    assert prepared == kernel.Kernel(
        "6.1.0-9-cloud-amd64", cache / prepared.release / "vmlinuz", cache / prepared.release / "modules"
    )
    assert sorted(path.name for path in (cache / prepared.release).iterdir() if path.is_file()) == ["config", "vmlinuz"]
    assert [path.name for path in cache.iterdir()] == [prepared.release], "nothing is left next to it"
    assert kernel.prepare(str(tmp_path / "k.deb")) == prepared, "a second time replaces it"


BACKWARDS = b"!<arch>\n" + b"control.tar".ljust(48) + b"-60".ljust(10) + b"`\n"
"""A package whose first member ends where it begins."""


@pytest.mark.parametrize(
    "data", [b"", b"!<arch>\n", b"odd" * 99, package({"./boot/vmlinuz-1": vmlinuz()})[:-120], BACKWARDS]
)
def test_a_damaged_package_leaves_nothing(tmp_path, cache, data):
    (tmp_path / "k.deb").write_bytes(data)
    with pytest.raises(MachineError, match="cannot be unpacked"):
        kernel.prepare(f"{tmp_path}/k.deb")
    assert list(cache.iterdir()) == []


def archive(entries):
    """Return a package whose tar has these headers and no contents."""
    tar = b"".join(entry.tobuf(tarfile.GNU_FORMAT) for entry in entries)
    packed = lzma.compress(tar)
    return b"!<arch>\n" + b"data.tar.xz".ljust(48) + str(len(packed)).encode().ljust(10) + b"`\n" + packed


def entry(name, size=0, kind=tarfile.REGTYPE):
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ([entry("./boot/vmlinuz-1", 3 << 30)], "more than 2 GiB"),
        ([entry("./usr/share/doc/x", 3 << 30)], "more than 2 GiB"),
        ([entry(f"./lib/modules/1/{number}") for number in range(11)], "more than 10 files"),
        ([entry("x", 2 << 20, tarfile.XHDTYPE)], "a header of 2,097,152 bytes, of which 1 MiB are read at most"),
        ([entry("x", 3 << 30, tarfile.GNUTYPE_LONGNAME)], "1 MiB are read at most"),
    ],
)
def test_a_package_that_unpacks_to_more_than_a_kernel_has_is_refused(tmp_path, cache, monkeypatch, entries, says):
    monkeypatch.setattr(kernel_package, "MOST_FILES", 10)
    (tmp_path / "k.deb").write_bytes(archive(entries))
    with pytest.raises(MachineError, match=f"cannot be unpacked: it .*{says}"):
        kernel.prepare(f"{tmp_path}/k.deb")
    assert list(cache.iterdir()) == []


def test_pipes_and_devices_are_refused_as_packages_and_kernels(tmp_path):
    os.mkfifo(tmp_path / "k.deb")
    with pytest.raises(MachineError, match="cannot be unpacked: it is a named pipe"):
        kernel.prepare(f"{tmp_path}/k.deb")
    with pytest.raises(MachineError, match="cannot be read: it is a device"):
        kernel.find("/dev/zero")


@pytest.mark.parametrize(("suffix", "pack"), [(".xz", lzma.compress), (".gz", gzip.compress), ("", bytes)])
def test_a_module_without_end_is_refused(tmp_path, monkeypatch, suffix, pack):
    monkeypatch.setattr(kernel, "MOST_OF_MODULE", 1 << 20)
    place = tmp_path / "modules/kernel"
    place.mkdir(parents=True)
    (place / f"big.ko{suffix}").write_bytes(pack(bytes(2 << 20)))
    with pytest.raises(MachineError, match="has more than 1 MiB, which is all that is read"):
        kernel.modules(kernel.Kernel("1", tmp_path, tmp_path / "modules"), ["big"])


@pytest.mark.parametrize(
    "release",
    ["../victim", "..", ".", "6.1/../../victim", "{victim}", "6.1\x1b[2J", "-rf", "6.1\n", ".fetch-x", "x" * 9],
)
def test_a_kernel_that_calls_itself_a_path_is_refused_and_nothing_is_removed(tmp_path, cache, release):
    """The release is whatever the image says of itself."""
    victim = cache.parent / "victim"
    (victim / "deep").mkdir(parents=True)
    (victim / "deep/file").write_text("precious")
    files = {"./boot/vmlinuz-1": vmlinuz(release.replace("{victim}", str(victim)))}
    (tmp_path / "k.deb").write_bytes(package(files))
    with pytest.raises(UsageError, match="which is not a release"):
        kernel.prepare(f"{tmp_path}/k.deb")
    assert (victim / "deep/file").read_text() == "precious"
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("how", ["link", "other"])
def test_other_files_in_the_place_of_a_kernel_are_not_removed(tmp_path, cache, how):
    place, victim = cache / "6.1.0-9-cloud-amd64", tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text("precious")
    (victim / ("vmlinuz" if how == "link" else "other")).touch()
    cache.mkdir(parents=True, exist_ok=True)
    place.symlink_to(victim) if how == "link" else victim.rename(place)
    with pytest.raises(UsageError, match="Nothing was changed"):
        kernel.prepare(str(make_package(tmp_path, "6.1.0-9-cloud-amd64")))
    assert (place / "file").read_text() == "precious"


def test_a_package_without_a_kernel(tmp_path):
    (tmp_path / "k.deb").write_bytes(package({"./usr/share/doc/changelog": b"x"}))
    with pytest.raises(UsageError, match="holds no kernel image"):
        kernel.prepare(f"{tmp_path}/k.deb")


def test_a_version_is_the_newest_of_that_version(tmp_path):
    for number, release in enumerate(("6.1.0-9-cloud-amd64", "6.1.0-50-cloud-amd64", "6.12.7+deb12-cloud-amd64")):
        kernel.prepare(str(make_package(tmp_path, release, f"{number}.deb")))
    assert kernel.find("6.1").release == "6.1.0-50-cloud-amd64"
    assert kernel.find("6.1.0-9").release == "6.1.0-9-cloud-amd64"
    assert kernel.find("6.12").release == kernel.find("6").release == "6.12.7+deb12-cloud-amd64"
    with pytest.raises(UsageError, match=r"becalm guest prepare 5\.10.*Prepared: 6\.12\.7"):
        kernel.find("5.10")


def test_a_kernel_by_its_path_finds_its_modules(tmp_path):
    for name, data in files("6.1.0-9-cloud-amd64").items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    image = kernel.find(f"{tmp_path}/boot/vmlinuz-6.1.0-9-cloud-amd64")
    assert image.modules == tmp_path / "lib/modules/6.1.0-9-cloud-amd64"
    assert [name for name, _ in kernel.modules(image, ["zram"])] == ["zsmalloc", "zram"]


def test_modules_come_with_what_they_need_in_order_and_once(tmp_path):
    prepared = kernel.prepare(str(make_package(tmp_path, "6.1.0-9-cloud-amd64")))
    listed = kernel.modules(prepared, ["zram", "zsmalloc", "loop"])
    assert listed == [("zsmalloc", module("zsmalloc")), ("zram", module("zram", "zsmalloc"))], "loop is built in"
    with pytest.raises(MachineError, match="has no module nosuch"):
        kernel.modules(prepared, ["nosuch"])


@pytest.mark.parametrize(("suffix", "pack"), [(".xz", lzma.compress), (".gz", gzip.compress)])
def test_packed_modules_are_unpacked_and_dashes_are_underscores(tmp_path, suffix, pack):
    place = tmp_path / "modules/kernel"
    place.mkdir(parents=True)
    (place / f"virtio-rng.ko{suffix}").write_bytes(pack(module("virtio_rng", "rng-core")))
    (place / f"rng-core.ko{suffix}").write_bytes(pack(module("rng_core")))
    names = kernel.modules(kernel.Kernel("1", tmp_path, tmp_path / "modules"), ["virtio_rng"])
    assert names == [("rng_core", module("rng_core")), ("virtio_rng", module("virtio_rng", "rng-core"))]


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.ko", module("a", "b"), "depend on each other without end: a"),
        ("a.ko", b"no module", r"a\.ko cannot be used: it is not an ELF file"),
        ("a.ko", module("a")[:70], r"a\.ko cannot be used"),
        ("a.ko.xz", lzma.compress(module("a"))[:-9], r"a\.ko\.xz cannot be unpacked"),
        ("a.ko.gz", gzip.compress(module("a"), mtime=0)[:20], r"a\.ko\.gz cannot be unpacked"),
    ],
)
def test_modules_that_somebody_has_edited(tmp_path, name, data, says):
    (tmp_path / name).write_bytes(data)
    (tmp_path / "b.ko").write_bytes(module("b", "a"))
    with pytest.raises(MachineError, match=says):
        kernel.modules(kernel.Kernel("6.1", tmp_path, tmp_path), ["a"])
