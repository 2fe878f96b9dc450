"""What a shell offers of knobs, as click asks for it and as bash takes it."""

import re
import subprocess
import sys

import pytest

from becalm.cli.completion import knobs, script, settings
from becalm.cli.main import becalm
from becalm.nouns import tables
from becalm.nouns.knob import catalogue


def values(found):
    return [item.value for item in found]


def test_names_come_from_the_catalogue_and_say_why_they_matter():
    assert values(knobs("")) == [row.name for row in catalogue()]
    assert values(knobs("swap")) == ["swap", "swappiness"]
    assert knobs("swappiness")[0].help == next(row for row in catalogue() if row.name == "swappiness").rationale


def test_after_the_sign_come_the_values_that_have_names():
    assert values(settings("swap")) == ["swap=", "swappiness="]
    assert values(settings("aslr=o")) == ["aslr=on", "aslr=off"]
    assert "policy=fifo:50" in values(settings("policy="))
    (special,) = settings("slice_ns=0")
    assert special.help == "the kernel's default"
    assert settings("nothing=") == []


def bash(*words):
    """What bash offers when the last word is being typed; signs of equality and colons end words there, as in bash."""
    parts = [part for word in words for part in re.sub("([=:])", r"\n\1\n", word).split("\n")]
    parts = [*(part for part in parts[:-1] if part), parts[-1]]
    line = " ".join(f"'{part}'" for part in parts)
    code = (
        f"becalm() {{ '{sys.executable}' -m becalm \"$@\"; }}\n{script('bash', becalm)}\n"
        f"COMP_WORDS=({line}); COMP_CWORD={len(parts) - 1}; _becalm_completion becalm 2>/dev/null\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    code = code.replace("$1)", f"'{sys.executable}' -m becalm)")
    return subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("becalm", "knobs", "swapp"), ["swappiness"]),
        (("becalm", "run", "--set", "swapp"), ["swappiness="]),
        (("becalm", "run", "--set", "transparent_hugepages=m"), ["madvise"]),
        (("becalm", "apply", "--set", "isolation="), ["first-core", "last-core"]),
        (("becalm", "tune", "--only", "io_"), ["io_priority"]),
        (("becalm", "tune", "--factor", "slice"), ["slice_ns"]),
        (("becalm", "run", "kern"), [f"kernel:{row.name}" for row in tables.built_in_kernels()]),
        (("becalm", "run", "kernel:"), [row.name for row in tables.built_in_kernels()]),
        (("becalm", "compare", "kernel:chase", "kernel:tri"), ["triad"]),
        (("becalm", "run", ""), []),
    ],
)
def test_bash_replaces_the_last_word_only(words, expected):
    assert bash(*words) == expected


def test_a_name_is_followed_by_no_blank_in_bash():
    assert "compopt -o nospace" in script("bash", becalm)
