"""The wheels that `make wheelhouse` collects: their platforms and pip's words."""

import platform
from pathlib import Path

import pytest
import wheelhouse


def test_a_machine_installs_wheels_for_its_glibc_and_older():
    tags = wheelhouse.platforms("x86_64", 18)
    assert tags[:3] == ["manylinux_2_18_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"]
    assert tags[-1] == "manylinux1_x86_64"
    assert "manylinux_2_19_x86_64" not in tags


def test_a_machine_with_musl_installs_no_wheels_for_glibc():
    assert wheelhouse.platforms("aarch64", None) == ["musllinux_1_2_aarch64", "musllinux_1_1_aarch64"]


def test_pip_is_asked_for_another_machine():
    args = wheelhouse.parse(["--python", "3.13", "--musl", "--machine", "aarch64", "--extra", "parquet", "mcp"])
    words = wheelhouse.command(Path("becalm.whl"), Path("house"), args)
    assert words[-1] == "becalm.whl[parquet,mcp]"
    assert words[words.index("--python-version") + 1] == "3.13"
    assert [word for word in words if "linux" in word] == ["musllinux_1_2_aarch64", "musllinux_1_1_aarch64"]
    assert "--only-binary" in words


def test_the_default_is_this_machine(monkeypatch):
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.31"))
    monkeypatch.setattr(wheelhouse.packages, "here", lambda: "aarch64")
    words = wheelhouse.command(Path("becalm.whl"), Path("house"), wheelhouse.parse([]))
    assert "manylinux_2_31_aarch64" in words
    assert "manylinux_2_32_aarch64" not in words


def test_without_a_wheel_that_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(wheelhouse.packages, "DIST", tmp_path)
    monkeypatch.setattr(wheelhouse.sys, "argv", ["wheelhouse.py"])
    with pytest.raises(SystemExit, match=r"dist/ has no wheel of becalm for .*: make dist"):
        wheelhouse.main()
