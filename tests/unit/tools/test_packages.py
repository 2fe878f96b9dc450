"""What packages are made of: licences, bill of materials, glibc, the files of Debian. `make packages` makes them."""

import io
import json
import subprocess
import sys
import tarfile
import zipfile

import debian_package
import licences
import packages
import pytest
from tests.places import ROOT


@pytest.fixture(scope="module")
def found():
    return licences.components()


def test_everything_inside_may_be_passed_on(found):
    assert licences.refused(found) == []
    names = {each.name for each in found}
    assert {"becalm-agent", "becalm-core", "serde", "libc", "numpy"} <= names
    assert not names & {"proptest", "pytest"}, "what only tests use is in no package"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("MIT/Apache-2.0", True),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only AND MIT", False),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("(MIT OR Apache-2.0) AND GPL-2.0-only", False),
        ("Apache-2.0 WITH LLVM-exception OR GPL-2.0-only", True),
        ("GPL-2.0-only WITH LLVM-exception", False),
        ("MIT AND (BSD-3-Clause", False),
        ("MIT )", False),
        ("", False),
    ],
)
def test_a_licence_is_allowed_when_one_may_choose_so(expression, expected):
    assert licences.allowed(expression) is expected


def test_the_bill_of_materials_names_everything_once(found):
    bill = json.loads(json.dumps(licences.bill(found, "1.2.3")))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    references = [each["bom-ref"] for each in bill["components"]]
    assert len(references) == len(set(references)) == len(found)
    assert set(bill["dependencies"][0]["dependsOn"]) <= set(references)
    assert all(each["licenses"][0]["expression"] for each in bill["components"])
    assert bill["serialNumber"] == licences.bill(found, "1.2.3")["serialNumber"]
    assert len(licences.report(found).splitlines()) == len(found) + 4


def test_a_new_python_dependency_needs_a_licence(tmp_path):
    file = tmp_path / "pyproject.toml"
    file.write_text('[project]\ndependencies = ["numpy>=1", "heat>=2"]\n')
    with pytest.raises(KeyError, match="heat"):
        list(licences.python_packages(file))


NEEDED = """
 0x0000000000000001 (NEEDED)             Shared library: [libgcc_s.so.1]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x0000000000000001 (NEEDED)             Shared library: [ld-linux-x86-64.so.2]
  0x0010:   Name: GLIBC_2.2.5  Flags: none  Version: 3
  0x0020:   Name: GLIBC_2.34  Flags: none  Version: 2
  0x0030:   Name: GLIBC_2.14  Flags: none  Version: 4
"""


def test_the_oldest_glibc_of_a_program():
    assert packages.glibc_needed(NEEDED, "x") == 34
    assert packages.glibc_needed("There is no dynamic section in this file.", "x") == 0
    with pytest.raises(SystemExit, match=r"x needs libssl\.so\.3, which manylinux does not have"):
        packages.glibc_needed(NEEDED + " (NEEDED) Shared library: [libssl.so.3]", "x")


def test_an_sdist_without_a_crate_is_no_sdist(tmp_path):
    made = tmp_path / "becalm-1.tar.gz"
    with tarfile.open(made, "w:gz") as archive:
        for name in ("Cargo.lock", ".cargo/config.toml"):
            archive.addfile(tarfile.TarInfo(f"becalm-1/{name}"), io.BytesIO(b""))
    with pytest.raises(SystemExit, match=r"lacks the crate .*could not be built without a network"):
        packages.whole(made)


MAKER = debian_package.Maker("Ada L <ada@example.org>", 1_700_000_000)


def test_the_files_of_a_debian_package(found):
    control = debian_package.control("1.2.3", "arm64", MAKER, 9000)
    fields = dict(line.split(": ", 1) for line in control.splitlines() if not line.startswith(" "))
    assert (fields["Package"], fields["Architecture"], fields["Installed-Size"]) == ("becalm", "arm64", "9000")
    needed = {each.split()[0] for each in fields["Depends"].split(", ")}
    assert {f"python3-{each.name}" for each in licences.python_packages()} <= needed, "one for each dependency of pip"
    assert all(len(line) <= 80 for line in control.splitlines()[8:])
    told = debian_package.changelog("1.2.3", MAKER)
    assert told.startswith("becalm (1.2.3) unstable; urgency=medium\n")
    assert told.endswith(" -- Ada L <ada@example.org>  Tue, 14 Nov 2023 22:13:20 +0000\n")
    rights = debian_package.copyright_file(found, {"MIT": (ROOT / "LICENSE-MIT").read_text()})
    assert "\n  serde " in rights
    assert all(line.startswith((" ", "Files", "Copyright", "License", "Format", "Upstream", "Comment")) or not line
               for line in rights.splitlines())  # fmt: skip


def test_what_a_debian_package_installs(tmp_path):
    wheel, place = tmp_path / "becalm-1-py3-none-any.whl", tmp_path / "root"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, mode in (
            ("becalm/becalm-agent", 0o755),
            ("becalm/x.py", 0o644),
            ("becalm-1.dist-info/RECORD", 0o644),
        ):
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, "x")
        archive.writestr("../../escaped", "x")
    debian_package.tree(wheel, place, {"usr/share/doc/becalm/copyright": "c"}, "changes")
    files = {str(each.relative_to(place)): each.stat().st_mode & 0o777 for each in place.rglob("*") if each.is_file()}
    modules = debian_package.MODULES
    assert files[f"{modules}/becalm/becalm-agent"] == 0o755
    assert files[f"{modules}/becalm/x.py"] == 0o644
    assert files["usr/bin/becalm"] == 0o755
    assert not any("RECORD" in name or "escaped" in name for name in files)
    assert not (tmp_path / "escaped").exists()


def test_the_command_says_what_it_can_do():
    done = subprocess.run([sys.executable, ROOT / "tools/packages.py", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "--only" in done.stdout


def test_a_debian_package_has_the_manual_page_and_completions_as_becalm_makes_them():
    made = debian_package.shell_documents(ROOT)
    assert made["usr/share/man/man1/becalm.1.gz"].startswith(".TH")
    assert "compare" in made["usr/share/man/man1/becalm.1.gz"]
    assert made["usr/share/zsh/vendor-completions/_becalm"].startswith("#compdef becalm")
    assert all("_BECALM_COMPLETE" in made[name] for name in made if "completions" in name)
