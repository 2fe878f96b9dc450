"""becalm_clock.h compiles as C and C++ without a warning, its arithmetic is right, and its example runs."""

import subprocess

import pytest
from tests.places import ROOT

pytestmark = pytest.mark.needs("cc", "g++")

CRATE = ROOT / "crates/becalm-clock"
STRICT = ("-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{CRATE / 'include'}")
LANGUAGES = {"C99": ("cc", "-std=gnu99"), "C++11": ("g++", "-x", "c++", "-std=c++11")}


def compiled(language, source, to):
    subprocess.run([*LANGUAGES[language], *STRICT, source, "-o", to], check=True)
    return to


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_arithmetic_is_that_of_the_crate(language, tmp_path):
    program = compiled(language, CRATE / "tests/header.c", tmp_path / "header")
    assert subprocess.run([program], check=False).returncode == 0


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_example_times_a_region_or_says_that_it_cannot(language, tmp_path):
    program = compiled(language, CRATE / "examples/region.c", tmp_path / "region")
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    if done.returncode == 1:
        assert "no clock of this processor can be used" in done.stderr
        return
    said = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert float(said["hz"]) > 1e6
    assert 0 <= int(said["smallest_cost"]) <= int(said["median_cost"])
    # 500 additions to memory take longer than nothing, on any machine.
    assert 0 < int(said["smallest_ns"]) <= int(said["median_ns"])
