"""The sentences for those who install becalm where it cannot be compiled."""

import pytest
import rust_compiler
from tests.places import ROOT

WORKS = "echo 'release: 1.99.0'; echo 'host: x86_64-unknown-linux-gnu'"


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A maker of programs, which are the only ones on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def program(**scripts):
        for name, script in scripts.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / name).chmod(0o755)

    return program


def test_a_rust_that_works_has_a_target(path):
    path(cargo="", rustc=WORKS)
    assert rust_compiler.target(ROOT) == "x86_64-unknown-linux-gnu"


@pytest.mark.parametrize(
    ("programs", "sentence"),
    [
        ({}, r"Rust is missing: cargo was not found.* Install Rust 1\.\d+ or newer"),
        ({"cargo": ""}, "Rust is missing: rustc was not found"),
        ({"cargo": "", "rustc": "echo no toolchain >&2; exit 1"}, "Rust does not work here: .* no toolchain"),
        (
            {"cargo": "", "rustc": "echo release: 1.63.0; echo host: x"},
            r"newer is needed, and rustc is 1\.63\. Update it",
        ),
    ],
)
def test_without_a_rust_that_works_a_sentence_names_the_wheel(path, programs, sentence):
    path(**programs)
    with pytest.raises(SystemExit, match=rf"becalm: .*{sentence}.* becalm's wheels have its programs compiled"):
        rust_compiler.target(ROOT)


def test_other_systems_get_a_sentence(path):
    with pytest.raises(SystemExit, match="becalm: It measures programs on Linux, and this is darwin"):
        rust_compiler.target(ROOT, "darwin")
