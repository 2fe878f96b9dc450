"""Missing requirements of `make`: a failure on CI, a reason elsewhere. Stand-ins replace the missing compilers."""

import os
import subprocess

import pytest
from tests.places import ROOT

ARM = "aarch64-unknown-linux-gnu"


@pytest.fixture
def make(tmp_path):
    """Run targets of the Makefile with programs of these contents, each a script, and the usual ones of the system."""

    def run(*words, ci=False, **programs):
        for name, body in programs.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
            (tmp_path / name).chmod(0o755)
        path = f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin"
        environment = {"PATH": path, "HOME": str(tmp_path), "LANG": "C.UTF-8", **({"CI": "true"} if ci else {})}
        command = ["make", "-C", str(ROOT), "-o", "debian-packages", "-o", "check-tools", *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    return run


WITHOUT_ARM = {"rustc": "echo /nowhere", "rustup": "exit 1", "cargo": "echo compiled"}


@pytest.mark.parametrize("target", ["check-arm", "compilers"])
def test_without_rusts_library_for_armv8_ci_fails_and_others_are_told(make, tmp_path, target):
    compiled = tmp_path / "switches.bpf.o"
    compiled.touch()
    words = [target, f"BPF={compiled}"]
    for ci in (False, True):
        done = make(*words, ci=ci, **WITHOUT_ARM)
        assert f"rustup target add {ARM}" in done.stderr
        assert (done.returncode != 0) == ci, done.stderr
        assert "compiled" not in done.stdout


def test_a_library_that_is_there_needs_no_rustup(make, tmp_path):
    done = make("check-arm", ci=True, rustc=f"echo {tmp_path}", rustup="exit 1", cargo="echo compiled")
    assert done.returncode == 0, done.stderr
    assert "compiled" in done.stdout


def test_a_compile_error_is_not_a_skip(make, tmp_path):
    """With what has errors in it, `make test` would go on without recording."""
    done = make("check-arm", rustc=f"echo {tmp_path}", cargo="exit 1")
    assert done.returncode != 0


def test_packages_are_not_begun_without_a_compiler_for_each(make):
    done = make("dist", "-o", ".venv-dev/.develop", "BIN=/nowhere", **WITHOUT_ARM)
    assert done.returncode != 0
    assert f"rustup target add {ARM}" in done.stderr
    assert "packages.py" not in done.stdout
