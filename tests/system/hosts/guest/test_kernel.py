"""Modules of a kernel that are packed by zstd(1)."""

import subprocess

from tests.needs import need
from tests.support.elves import module

from becalm.hosts.guest import kernel


def test_modules_packed_by_zstd_are_unpacked(tmp_path):
    zstd = need("zstd")
    place = tmp_path / "modules/kernel"
    place.mkdir(parents=True)
    for name, data in (("virtio-rng", module("virtio_rng", "rng-core")), ("rng-core", module("rng_core"))):
        packed = subprocess.run([zstd, "-cq"], input=data, capture_output=True, check=True).stdout
        (place / f"{name}.ko.zst").write_bytes(packed)
    modules = kernel.modules(kernel.Kernel("1", tmp_path, tmp_path / "modules"), ["virtio_rng"])
    assert modules == [("rng_core", module("rng_core")), ("virtio_rng", module("virtio_rng", "rng-core"))]
