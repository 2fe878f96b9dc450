"""Completion by bash, and the modules and programs that it needs."""

import subprocess
import sys

import pytest

import becalm as api
from becalm.cli import candidates
from becalm.cli.completion import script
from becalm.cli.main import becalm as group

LINES = {
    "becalm knobs swapp": "swappiness",
    "becalm run --set transparent_hugepages = m": "madvise",
    "becalm run --host sim : eev": "eevdf",
    "becalm place --export s": "systemd",
}
"""Lines as bash divides them into words, and the word that takes the place of the last one."""


def test_bash_replaces_the_last_word(tmp_path, monkeypatch):
    monkeypatch.setenv("BECALM_STORE", str(tmp_path / "none.db"))
    code = f"becalm() {{ '{sys.executable}' -m becalm \"$@\"; }}\n{script('bash', group)}\n".replace(
        "$1)", f"'{sys.executable}' -m becalm)"
    )
    for line in LINES:
        code += (
            f"COMP_WORDS=({line}); COMP_CWORD={len(line.split()) - 1}; COMPREPLY=()\n"
            '_becalm_completion becalm 2>/dev/null; printf "%s\\n" "${COMPREPLY[*]}"\n'
        )
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == list(LINES.values())


def test_nothing_heavy_is_imported_to_complete_a_word(tmp_path, monkeypatch):
    """One process completes all words: a module that one of them needs is there at the end."""
    monkeypatch.setenv("BECALM_STORE", str(tmp_path / "none.db"))
    lines = (
        "run --set swapp", "apply pyp", "run --host sim:", "place --method s", "compare --stored 1",
        "history --baseline v",
    )  # fmt: skip
    code = (
        "import os, sys\n"
        "os.environ['_BECALM_COMPLETE'] = 'bash_complete'\n"
        "from becalm.cli.main import main\n"
        f"for line in {lines!r}:\n"
        "    os.environ.update(COMP_WORDS=f'becalm {line}', COMP_CWORD=str(len(line.split())))\n"
        "    try:\n        main()\n    except SystemExit:\n        pass\n"
        "print(sorted({'numpy', 'scipy', 'rich', 'jinja2'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *words, heavy = done.stdout.splitlines()
    assert "plain,pyperf" in words
    assert heavy == "[]"


def test_timers_that_are_offered_are_those_of_the_program(store):
    with pytest.raises(api.UsageError) as refused:
        api.clock(timers=("none",))
    assert str(refused.value).partition("there are: ")[2] == ", ".join(candidates._WORDS["--timer"]) + "."
