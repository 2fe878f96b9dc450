"""A Debian package with a kernel for tests."""

from tests.support.elves import module, package, vmlinuz


def files(release):
    """Return the files of a package of this release, with their contents."""
    below = f"./lib/modules/{release}"
    return {
        f"./boot/vmlinuz-{release}": vmlinuz(release),
        f"./boot/config-{release}": b"CONFIG_SMP=y\n",
        f"./boot/System.map-{release}": b"large",
        f"{below}/kernel/drivers/block/zram/zram.ko": module("zram", "zsmalloc"),
        f"{below}/kernel/mm/zsmalloc.ko": module("zsmalloc"),
        f"{below}/modules.builtin": b"kernel/drivers/block/loop.ko\n",
        "./usr/share/doc/changelog": b"long",
    }


def make_package(tmp_path, release, name="k.deb"):
    """Write a package and return its path."""
    path = tmp_path / name
    path.write_bytes(package(files(release)))
    return path
