"""The wheel that `pip install .` gives: the Python package with the static agent inside it."""

import email
import os
import re
import subprocess
import sys
import zipfile

import pytest
from tests.places import ROOT

# It is built in the source tree, and once.
pytestmark = pytest.mark.xdist_group("wheel")

BPF = ROOT / "target/bpf"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return the wheel, with an agent that has what the one in the tree has: it is not compiled a second time."""
    environment = {**os.environ, **({"BECALM_BPF_OBJECTS": str(BPF)} if (BPF / "waits.bpf.o").exists() else {})}
    directory = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(directory), str(ROOT)]
    subprocess.run(command, check=True, env=environment)
    (path,) = directory.glob("becalm-*.whl")
    return path


def test_the_wheel_holds_the_agent_as_a_program(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        agent = archive.getinfo("becalm/becalm-agent")
        assert agent.external_attr >> 16 & 0o111, "pip makes executable what the wheel marks so"
        data = archive.read(agent)
        names = archive.namelist()
    assert data.startswith(b"\x7fELF")
    extracted = tmp_path / "becalm-agent"
    extracted.write_bytes(data)
    ldd = subprocess.run(["ldd", str(extracted)], capture_output=True, text=True)
    assert "statically linked" in ldd.stdout or "not a dynamic executable" in ldd.stderr
    assert {"becalm/py.typed", "becalm/tables.json", "becalm/origin.json"} <= set(names)
    assert not any(name.startswith(("tests/", "bench/")) for name in names)


def test_the_installed_package_measures(wheel, tmp_path):
    target = tmp_path / "installed"
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target), str(wheel)]
    subprocess.run(install, check=True)
    assert os.access(target / "becalm/becalm-agent", os.X_OK)
    environment = {**os.environ, "PYTHONPATH": str(target), "XDG_STATE_HOME": str(tmp_path)}
    script = "import becalm; print(becalm.__file__); print(becalm.run('true', runs=3, store=False).summaries[0].runs)"
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True, cwd=tmp_path
    )
    where, runs = done.stdout.split()
    assert where.startswith(str(target))
    assert runs == "3"


def test_the_description_is_for_readers_outside_of_the_repository(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [member for member in archive.namelist() if member.endswith("dist-info/METADATA")]
        about = email.message_from_bytes(archive.read(name))
        licences = [member for member in archive.namelist() if "dist-info/licenses/LICENSE" in member]
    assert about["License-Expression"] == "Apache-2.0 OR MIT"
    assert len(licences) == 2
    assert about["Description-Content-Type"] == "text/markdown"
    assert about["Keywords"]
    assert "Operating System :: POSIX :: Linux" in about.get_all("Classifier")
    text = about.get_payload()
    assert text.startswith("# becalm")
    assert not re.findall(r"\]\((?!https?://|#)", text)


def test_the_command_is_installed(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [member for member in archive.namelist() if member.endswith("entry_points.txt")]
        assert "becalm = becalm.__main__:main" in archive.read(name).decode()
