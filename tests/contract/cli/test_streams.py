"""Standard output of other kinds: encodings that lack letters, and a reader that leaves."""

import os
import subprocess
import sys

import pytest

BECALM = (sys.executable, "-m", "becalm")
SIM = ("--host", "sim:drift", "--seed", "1")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_pictures_are_drawn_in_the_letters_of_the_encoding(home, encoding):
    words = [*BECALM, "compare", *SIM, "--runs", "30", "--no-store", "spin 20ms", "spin 21ms"]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    output = subprocess.run(words, env=environment, capture_output=True, check=True).stdout.decode(encoding)
    assert "\\u" not in output
    assert "-o-" in output, "the interval is drawn in ASCII"


def test_a_locale_without_letters_is_no_reason_for_a_stack_trace(home, becalm):
    becalm("run", *SIM, "--runs", "30", "spin 20ms")
    shown = in_ascii("show")
    assert "spin 20ms takes" in shown
    assert "ms +- " in shown
    assert "\\x" not in shown
    becalm("run", *SIM, "--runs", "3", "--name", "café ± 1", "spin 20ms")
    assert "caf\\xe9 +- 1" in becalm("show", "--plain").stdout
    assert "caf\\xe9 +- 1" in in_ascii("list")


def in_ascii(*words):
    """Return what becalm prints in the locale C."""
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": ""}
    done = subprocess.run([*BECALM, *words], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def test_a_reader_that_leaves_is_no_error(home):
    done = subprocess.run(
        f"{sys.executable} -m becalm run --help | head -1", shell=True, capture_output=True, text=True
    )
    assert done.stderr == ""
