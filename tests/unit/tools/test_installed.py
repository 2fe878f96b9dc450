"""The trials of `make installed` on minimal machines, without one: its table, its words, its outcomes."""

import installed
import minimal
import pytest
from fresh import SYSTEMS as FRESH

STEPS = [
    pytest.param(step, id=f"{trial.system}-{trial.file}-{step.what}")
    for trial in installed.TRIES
    for step in (*trial.install, *installed.WORKS, *trial.remove)
]


def test_each_kind_of_package_is_tried_and_each_system_can_be_made():
    whats = {trial.what for trial in installed.TRIES}
    assert whats == {"the wheel", "the wheelhouse", "the Debian package", "the sdist"}
    assert {trial.system for trial in installed.TRIES} <= set(minimal.SYSTEMS)
    assert "fedora-43" not in FRESH, "`make` installs by apt"


def test_the_sdist_is_compiled_without_a_network():
    (sdist,) = (trial for trial in installed.TRIES if trial.what == "the sdist")
    assert [step.network for step in sdist.install] == [False] * len(sdist.install)
    assert "--no-index" in sdist.install[0].command


def test_a_wheelhouse_is_installed_without_a_network():
    trials = [trial for trial in installed.TRIES if trial.wheelhouse]
    assert {trial.system for trial in trials} == {"ubuntu-22.04", "ubuntu-24.04"}
    for trial in trials:
        assert not any(step.network for step in trial.install)
        assert "--no-index --find-links /packages" in trial.install[0].command


def test_the_package_of_this_machine_is_tried(tmp_path, monkeypatch):
    monkeypatch.setattr(installed, "here", lambda: "aarch64")
    for name in ("becalm_1_amd64.deb", "becalm_1_arm64.deb", "becalm-1-py3-none-manylinux_2_34_aarch64.whl"):
        (tmp_path / name).touch()
    names = {
        trial.what: installed.package(trial, tmp_path).name for trial in installed.TRIES if trial.what != "the sdist"
    }
    assert names["the Debian package"] == "becalm_1_arm64.deb"
    assert names["the wheel"] == "becalm-1-py3-none-manylinux_2_34_aarch64.whl"
    (sdist,) = (trial for trial in installed.TRIES if trial.what == "the sdist")
    with pytest.raises(minimal.Absent, match=r"nothing like becalm-\*\.tar\.gz for this machine: make dist"):
        installed.package(sdist, tmp_path)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """No machine is made: what would be run is kept, and ends as `codes` says (0 when it says nothing)."""
    ran, codes = [], {}

    def run(tree, command, variables, **options):
        script = (tree / "tmp/step").read_text().strip()
        ran.append((script, command, options))
        return codes.get(script, 0), "said"

    def prepare(tree, trial, package):
        (tree / "tmp").mkdir(parents=True)

    monkeypatch.setattr(installed.minimal, "run", run)
    monkeypatch.setattr(installed, "prepare", prepare)
    monkeypatch.setattr(installed, "package", lambda trial: tmp_path / trial.file)
    monkeypatch.setattr(installed.os, "geteuid", lambda: 0)
    return ran, codes


def test_all_is_well_when_every_step_is(machine, capsys):
    ran, _ = machine
    assert installed.main(["debian-13"]) == 0
    assert len(ran) == sum(
        len(trial.install) + len(installed.WORKS) + len(trial.remove)
        for trial in installed.TRIES
        if trial.system == "debian-13"
    )
    output = capsys.readouterr().out
    assert output.count("installed, worked and was gone again") == 2
    for script, command, _ in ran:
        root = next(step.values[0].root for step in STEPS if step.values[0].command == script)
        assert ("setpriv --reuid 1000" in command) is not root


def test_a_step_that_fails_is_named_with_what_it_said_and_ends_it(machine, capsys):
    ran, codes = machine
    bad = installed.WORKS[2]
    codes[bad.command] = 4
    assert installed.main(["debian-12"]) == 1
    output = capsys.readouterr().out
    assert f"failed {bad.what}" in output
    assert f"{bad.command}\nended with 4:\nsaid" in output
    assert ran[-1][0] == bad.command, "nothing more is tried"


def test_a_system_that_cannot_be_made_is_skipped_and_one_that_was_named_is_a_failure(machine, monkeypatch, capsys):
    def absent(tree, trial, package):
        raise minimal.Absent("Its mirrors cannot be had here: no name.")

    monkeypatch.setattr(installed, "prepare", absent)
    assert installed.main([]) == 0
    assert capsys.readouterr().out.count("skipped. Its mirrors cannot be had here: no name.") == len(installed.TRIES)
    assert installed.main(["fedora-43"]) == 1


def test_without_what_makes_a_machine_that_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(minimal.shutil, "which", lambda name: None)
    with pytest.raises(minimal.Absent, match=r"mmdebstrap is missing.*apt-get install mmdebstrap"):
        minimal.make(minimal.SYSTEMS["debian-13"], tmp_path / "tree", ["apt"])


def test_fedora_without_its_mirrors_is_absent_with_the_reason(tmp_path, monkeypatch):
    def refused(url, timeout):
        raise minimal.urllib.error.URLError("Name or service not known")

    monkeypatch.setattr(minimal.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(minimal.urllib.request, "urlopen", refused)
    with pytest.raises(minimal.Absent, match=r"Fedora's list of mirrors cannot be had here: .*: Name or service"):
        minimal.make(minimal.SYSTEMS["fedora-43"], tmp_path / "tree", ["bash"])


def test_fedora_is_made_by_dnf_of_nothing_but_its_own_list_of_mirrors(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(minimal.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(minimal.urllib.request, "urlopen", lambda url, timeout: open("/dev/null"))  # noqa: SIM115
    monkeypatch.setattr(minimal.subprocess, "run", lambda words, check: ran.append(words))
    tree = tmp_path / "tree"
    (tree / "etc").mkdir(parents=True)
    minimal.make(minimal.SYSTEMS["fedora-43"], tree, ["bash", "python3"])
    ((*words,),) = ran
    assert words[0] == "dnf"
    assert words[-2:] == ["bash", "python3"]
    assert f"--setopt=reposdir={tmp_path / 'repositories'}" in words
    text = (tmp_path / "repositories/fedora.repo").read_text()
    assert "metalink=https://mirrors.fedoraproject.org/metalink?repo=fedora-43&arch=$basearch" in text


def test_a_directory_of_trees_is_gone_afterwards_unless_it_is_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(minimal.tempfile, "mkdtemp", lambda prefix, dir: str(_made(tmp_path / prefix)))
    with minimal.scratch("x") as place:
        assert place.stat().st_mode & 0o777 == 0o755
    assert not place.exists()
    with minimal.scratch("x", keep=True) as place:
        pass
    assert place.exists()
    assert f"Kept: {place}" in capsys.readouterr().out


def _made(path):
    path.mkdir()
    return path
