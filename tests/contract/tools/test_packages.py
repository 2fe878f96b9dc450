"""The components of packages, as cargo and becalm report them."""

import json
import subprocess
import sys

import debian_package
import licences
import pytest
from tests.places import ROOT


@pytest.fixture(scope="module")
def components():
    return licences.components()


def test_everything_inside_may_be_passed_on(components):
    assert licences.refused(components) == []
    names = {component.name for component in components}
    assert {"becalm-agent", "becalm-core", "serde", "libc", "numpy"} <= names
    assert not names & {"proptest", "pytest"}, "what only tests use is in no package"


def test_the_bill_of_materials_names_everything_once(components):
    bill = json.loads(json.dumps(licences.bill(components, "1.2.3")))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    references = [component["bom-ref"] for component in bill["components"]]
    assert len(references) == len(set(references)) == len(components)
    assert set(bill["dependencies"][0]["dependsOn"]) <= set(references)
    assert all(component["licenses"][0]["expression"] for component in bill["components"])
    assert bill["serialNumber"] == licences.bill(components, "1.2.3")["serialNumber"]
    assert len(licences.report(components).splitlines()) == len(components) + 4


MAKER = debian_package.Maker("Ada L <ada@example.org>", 1_700_000_000)


def test_the_files_of_a_debian_package(components):
    control = debian_package.control("1.2.3", "arm64", MAKER, 9000)
    fields = dict(line.split(": ", 1) for line in control.splitlines() if not line.startswith(" "))
    assert (fields["Package"], fields["Architecture"], fields["Installed-Size"]) == ("becalm", "arm64", "9000")
    needed = {word.split()[0] for word in fields["Depends"].split(", ")}
    assert {f"python3-{package.name}" for package in licences.python_packages()} <= needed, (
        "one for each dependency of pip"
    )
    assert all(len(line) <= 80 for line in control.splitlines()[8:])
    text = debian_package.changelog("1.2.3", MAKER)
    assert text.startswith("becalm (1.2.3) unstable; urgency=medium\n")
    assert text.endswith(" -- Ada L <ada@example.org>  Tue, 14 Nov 2023 22:13:20 +0000\n")
    rights = debian_package.copyright_file(components, {"MIT": (ROOT / "LICENSE-MIT").read_text()})
    assert "\n  serde " in rights
    assert all(line.startswith((" ", "Files", "Copyright", "License", "Format", "Upstream", "Comment")) or not line
               for line in rights.splitlines())  # fmt: skip


def test_the_command_says_what_it_can_do():
    done = subprocess.run([sys.executable, ROOT / "tools/packages.py", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "--only" in done.stdout


def test_a_debian_package_has_the_manual_page_and_completions_as_becalm_makes_them():
    documents = debian_package.shell_documents(ROOT / "python")
    assert documents["usr/share/man/man1/becalm.1.gz"].startswith(".TH")
    assert "compare" in documents["usr/share/man/man1/becalm.1.gz"]
    assert documents["usr/share/zsh/vendor-completions/_becalm"].startswith("#compdef becalm")
    assert all("_BECALM_COMPLETE" in documents[name] for name in documents if "completions" in name)
