"""The table of directions in pyproject.toml, held against a small package with the folders of this one."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.places import ROOT

LINT = Path(sys.executable).with_name("lint-imports")


@pytest.fixture
def package(tmp_path):
    """Every folder and module at the root of becalm, all of them empty."""
    for path in (ROOT / "python/becalm").iterdir():
        if path.suffix == ".py" or (path / "__init__.py").exists():
            place = tmp_path / "becalm" / path.name / ("__init__.py" if path.is_dir() else "")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("")
    # What is excepted today has no place here.
    table = re.sub(r"^ignore_imports = \[.*?^\]", "", (ROOT / "pyproject.toml").read_text(), flags=re.M | re.S)
    (tmp_path / "pyproject.toml").write_text(table)
    return tmp_path / "becalm"


def said(package):
    done = subprocess.run(
        [LINT, "--no-cache"],
        cwd=package.parent,
        env={**os.environ, "PYTHONPATH": str(package.parent), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_every_folder_is_named(package):
    code, text = said(package)
    assert code == 0, text


def test_a_folder_that_is_not_named_fails(package):
    (package / "nowhere").mkdir()
    (package / "nowhere/__init__.py").write_text("")
    code, text = said(package)
    assert code == 1
    assert "nowhere" in text


@pytest.mark.parametrize(
    ("where", "what"),
    [
        ("analysis", "def late():\n    from becalm.report import x\n"),
        ("stats", "import becalm.nouns\n"),
        ("store", "from becalm import hosts\n"),
        ("nouns", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from becalm.wording import x\n"),
        ("study", "import becalm.verbs\n"),
        ("wording", "from becalm import tuning\n"),
        ("tuning", "import becalm\nfrom becalm import verbs\n"),
    ],
)
def test_an_import_upwards_fails_wherever_it_stands(package, where, what):
    (package / where / "__init__.py").write_text(what)
    code, text = said(package)
    assert code == 1
    assert f"becalm.{where} ->" in text


def test_a_circle_between_two_modules_of_a_folder_fails(package):
    (package / "load/one.py").write_text("from becalm.load import two\n")
    (package / "load/two.py").write_text("def late():\n    import becalm.load.one\n")
    code, text = said(package)
    assert code == 1
    assert "cycles" in text
