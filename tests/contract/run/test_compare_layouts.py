"""Two programs linked in several orders of their functions, by the compiler of this machine."""

import subprocess
import sys
from pathlib import Path

import pytest

import becalm
from becalm.errors import UsageError, WorkloadError

PARTS = ("one", "two", "three")
FUNCTIONS = "int {name}_more(int x) {{ return x * 3 + ADD; }} int {name}_less(int x) {{ return x ^ ADD; }}\n"
MAIN = "int one_more(int); int three_less(int); int main(void) { return one_more(0) + three_less(4) > 99; }\n"

LINK = """
import random, subprocess, sys
source, seed, target = sys.argv[1:]
objects = [f"{source}/{name}.o" for name in ("main", "one", "two", "three")]
random.Random(int(seed)).shuffle(objects)
subprocess.run(["cc", "-o", f"{target}/prog", *objects], check=True)
"""
"""A linker without an option to shuffle functions is given object files in another order."""

pytestmark = pytest.mark.needs("cc")


@pytest.fixture(name="sources")
def _sources(tmp_path):
    """Two directories with the object files of a program before and after a change, and the script that links them."""
    (tmp_path / "link.py").write_text(LINK)
    for side, add in (("old", 1), ("new", 2)):
        directory = tmp_path / side
        directory.mkdir()
        (directory / "main.c").write_text(MAIN)
        for name in PARTS:
            (directory / f"{name}.c").write_text(FUNCTIONS.format(name=name))
        files = [f"{name}.c" for name in ("main", *PARTS)]
        subprocess.run(["cc", "-O1", f"-DADD={add}", "-c", *files], cwd=directory, check=True)
    return tmp_path


def builds(sources):
    link = f"{sys.executable} {sources}/link.py {sources}"
    return {"old_build": f"{link}/old {{seed}} {{build}}", "new_build": f"{link}/new {{seed}} {{build}}"}


def test_layouts_are_linked_measured_and_shown_again(sources, store):
    comparison = becalm.compare_layouts("{build}/prog", layouts=5, runs=3, **builds(sources))
    assert comparison.rounds == 3
    for side in comparison.sides:
        assert len(side.layouts) + len(side.equal) == 5
        assert len(side.layouts) >= 2
    assert becalm.show(comparison.study).verdict == comparison
    assert comparison.circumstances.commands[0].endswith("/old/1/prog")


def test_the_builds_are_removed_at_the_end(sources, store, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    monkeypatch.setattr("tempfile.tempdir", None)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    comparison = becalm.compare_layouts("{build}/prog", layouts=2, runs=1, first_seed=2, **builds(sources))
    (directory, *_) = Path(comparison.circumstances.commands[0]).relative_to(scratch).parts
    assert directory.startswith("becalm-layouts-"), "they were there"
    assert not [path for path in scratch.iterdir() if path.name.startswith("becalm-layouts-")]


def test_a_build_that_fails_is_shown_with_its_output(sources, store):
    commands = builds(sources) | {"new_build": "cc -o {build}/prog missing{seed}.c"}
    with pytest.raises(WorkloadError, match=r"new cannot be built with seed 1: its build ended with 1: .+missing1\.c"):
        becalm.compare_layouts("{build}/prog", layouts=2, runs=1, **commands)


def test_a_seed_without_effect_is_refused(sources, store):
    files = " ".join(f"{sources}/old/{name}.c" for name in ("main", "one", "three"))
    build = f"cc -DADD=1 -DSEED={{seed}} -o {{build}}/prog {files}"
    with pytest.raises(UsageError, match="All 3 builds of old are the same file"):
        becalm.compare_layouts("{build}/prog", layouts=3, old_build=build, new_build=build)
