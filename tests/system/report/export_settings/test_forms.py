"""Files of exported settings, as procps and systemd read them."""

import subprocess

from tests.needs import need
from tests.unit.report.export_settings.test_forms import GOVERNOR, ORIGIN, PLACES, content

from becalm.report.export_settings.forms import files
from becalm.results.export_settings import Where


def test_sysctl_takes_its_file(tmp_path):
    path = tmp_path / "90-becalm-12.conf"
    path.write_text(content("sysctl"))
    took = subprocess.run([need("sysctl"), "--dry-run", f"--load={path}"], capture_output=True, text=True, check=False)
    assert took.returncode == 0, took.stderr
    assert took.stdout.split("\n")[:2] == ["vm.swappiness = 10", "kernel.numa_balancing = 0"]


def test_systemd_tmpfiles_writes_what_its_file_says(tmp_path):
    root = tmp_path / "root"
    for place in PLACES:
        if place.where is Where.FILE:
            target = root / place.path[1:]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("")
    path = tmp_path / "becalm-12.conf"
    path.write_text(content("tmpfiles"))
    command = [need("systemd-tmpfiles"), "--create", f"--root={root}", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (root / "sys/kernel/mm/transparent_hugepage/enabled").read_text() == "never"
    assert (root / GOVERNOR.format(11)[1:]).read_text() == "performance"


def test_systemd_verifies_its_units(tmp_path):
    result = files(ORIGIN, PLACES, "systemd")
    units = []
    for row in result:
        path = tmp_path / row.path.removeprefix("/etc/systemd/system/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(row.content)
        units += [path] if path.suffix == ".service" else []
    program = tmp_path / "PROGRAM.service"
    program.write_text("[Service]\nExecStart=/bin/true\n")
    for unit in (*units, program):
        command = [need("systemd-analyze"), "verify", str(unit)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        ours = [line for line in done.stderr.splitlines() if str(tmp_path) in line or unit.name in line]
        assert ours == []
