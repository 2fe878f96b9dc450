"""Kernels that are fetched and modules that are unpacked by programs; apt is a script that plays apt."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.elves import module
from tests.support.kernel_package import make_package

from becalm.cli.main import becalm
from becalm.errors import MachineError, UsageError
from becalm.hosts.guest import kernel


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_modules_that_cannot_be_had(tmp_path, monkeypatch):
    with pytest.raises(MachineError, match="were not found next to"):
        kernel.modules(kernel.Kernel("6.1", tmp_path / "vmlinuz", None), ["zram"])
    (tmp_path / "a.ko").write_bytes(module("a", "gone"))
    with pytest.raises(MachineError, match="no module gone, which a depends on"):
        kernel.modules(kernel.Kernel("6.1", tmp_path, tmp_path), ["a"])
    (tmp_path / "b.ko.zst").write_bytes(b"no zstd")
    (tmp_path / "zstd").write_text("#!/bin/sh\necho 'zstd: b.ko.zst: unsupported format' >&2; exit 1\n")
    (tmp_path / "zstd").chmod(0o755)
    for path, says in ((tmp_path, r"b\.ko\.zst cannot be unpacked: zstd: .* unsupported format"), ("", "install it")):
        monkeypatch.setenv("PATH", str(path))
        with pytest.raises(MachineError, match=says):
            kernel.modules(kernel.Kernel("6.1", tmp_path, tmp_path), ["b"])


@pytest.fixture
def apt(tmp_path, monkeypatch):
    """An archive with three packages of 6.1, the newest of which is gone, and one of 6.12."""
    place = tmp_path / "apt"
    place.mkdir()
    monkeypatch.setenv("PATH", f"{place}:/usr/bin:/bin")
    releases = ["6.1.0-9-cloud-amd64", "6.1.0-50-cloud-amd64", "6.1.0-51-cloud-amd64", "6.12.7+deb12-cloud-amd64"]
    for release in [release for release in releases if "-51-" not in release]:
        make_package(place, release, f"linux-image-{release}_1_amd64.deb")
    names = [f"linux-image-{release}" for release in releases]
    names += [f"{names[2]}-dbg", f"{names[2]}-unsigned", "linux-image-6.1-cloud-amd64", "linux-image-6.1.0-52-amd64"]
    listing = "\n".join(names)
    scripts = {
        "apt-cache": f"cat <<END\n{listing}\nEND\n",
        "apt-get": f'echo "$3" >> {place}/log\n[ "$1 $2" = "download -q" ] || exit 9\n'
        f'cp {place}/"$3"_*.deb . 2>/dev/null || {{ echo "E: 404 Not Found" >&2; exit 100; }}\n',
    }
    for name, text in scripts.items():
        (place / name).write_text(f"#!/bin/sh\n{text}")
        (place / name).chmod(0o755)
    return place


def test_the_newest_package_that_can_still_be_had_is_fetched(apt):
    messages = []
    assert kernel.prepare("6.1", messages.append).release == "6.1.0-50-cloud-amd64"
    assert (apt / "log").read_text().split() == ["linux-image-6.1.0-51-cloud-amd64", "linux-image-6.1.0-50-cloud-amd64"]
    assert messages[0] == "Fetching linux-image-6.1.0-51-cloud-amd64."
    assert kernel.find("6.1").release == "6.1.0-50-cloud-amd64"


def test_kernels_that_cannot_be_fetched_are_refused_with_the_reason(apt, monkeypatch):
    with pytest.raises(UsageError, match="apt-get update"):
        kernel.prepare("5.10")
    with pytest.raises(UsageError, match="named by its version"):
        kernel.prepare("6.1; rm")
    for path in apt.glob("*.deb"):
        path.unlink()
    with pytest.raises(MachineError, match="404 Not Found"):
        kernel.prepare("6.12")
    (apt / "apt-cache").unlink()
    monkeypatch.setenv("PATH", str(apt))
    with pytest.raises(MachineError, match="apt-cache was not found"):
        kernel.prepare("6.1")


def test_the_command_prepares_and_lists(apt):
    runner = CliRunner()
    assert runner.invoke(becalm, ["guest", "list"]).stderr.startswith("becalm: There is no stored kernel")
    done = runner.invoke(becalm, ["guest", "prepare", "6.12"])
    assert done.exit_code == 0
    release, image = done.stdout.split()
    assert release == "6.12.7+deb12-cloud-amd64"
    assert Path(image).is_file()
    assert release in runner.invoke(becalm, ["guest", "list"]).stdout
    assert f'"release": "{release}"' in runner.invoke(becalm, ["guest", "list", "--json"]).stdout
    assert os.stat(image).st_size == 4096
