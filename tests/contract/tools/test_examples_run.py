"""The examples of the README, and the first of each how-to guide, run here with stand-ins for what they name."""

import os
import shutil

import pytest
from click.testing import CliRunner
from tests.support.examples import documents as texts
from tests.support.examples import examples_of

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import BecalmError

VALGRIND = "needs valgrind; tests/system/verbs/test_exact_counts.py"
REPOSITORY = "needs a repository; tests/system/study"
ELSEWHERE = {
    "becalm tune --sudo -- prog arguments": "changes settings of this machine; tests/system/settings",
    "becalm tune --minimize time --factor slice_ns=0.1..100ms:log -- prog": "needs Linux 6.12; tests/system/guest",
    "becalm place --explain": "measures all programs for minutes; tests/contract/cli/test_place.py",
    "becalm sweetspots -- prog": "needs counters; tests/contract/run/test_sweetspots_live.py",
    "becalm migrate 1234 1": "needs a process; tests/contract/verbs/test_migrate_account.py",
    "becalm migrate 1234 1 --at-sweetspot": "needs a process; tests/contract/verbs/test_migrate_account.py",
    "becalm clock --quick": "takes 20 s; tests/contract/clock",
    "becalm run --host ssh://ada@bench -- prog": "needs another machine; tests/system/ssh",
    "becalm record suite:benchmarks.toml": REPOSITORY,
    "becalm record --runs 10 'gzip -c /usr/bin/perl'": REPOSITORY,
    "becalm record --commits v1.2..HEAD --build make ./prog": REPOSITORY,
    "becalm bisect v1.2 HEAD -- build make -- run ./prog input": REPOSITORY,
    "becalm bisect v1.2 HEAD -- build make -j4 -- run ./parse input": REPOSITORY,
    "becalm publish --serve": "serves until Ctrl-C; tests/contract/verbs/test_publish_serve.py",
    "becalm mcp --allow measure": "serves until its client leaves; tests/contract/verbs/test_mcp.py",
    "becalm compare --where './old x' './new x'": VALGRIND,
    "becalm compare --metric instructions --where old/prog new/prog": VALGRIND,
    "becalm check --metric instructions './old x' './new x'": VALGRIND,
    "becalm check --metric instructions --fail-above 1% 'gzip -5 -c /bin/ls' 'gzip -6 -c /bin/ls'": VALGRIND,
    "becalm compare --budget 40s 'old/prog 1000' 'new/prog 1000'": "needs two builds; tests/contract/verbs",
    "becalm compare --layouts 10 --old-build 'make -C old SEED={seed} OUT={build}' --new-build …": "needs two builds",
    "becalm guest prepare 6.1": "fetches a kernel; tests/system/guest",
    "becalm load --cpu 2.5 --for 10s": "loads this machine for 10 s; tests/contract/load",
    "becalm install-sudoers --print --copy ada": "needs the user ada; tests/contract/cli",
}
"""Examples that are not run here: why, and where the same is tested."""

HARMLESS = (
    *("run", "compare", "check", "corun", "watch", "explain", "list", "show", "export", "delete", "publish", "history"),
    *("record", "suite", "doctor", "design", "simulate", "place", "sweetspots", "status", "clock", "host", "store"),
    *("import", "knobs", "export-settings", "reset"),
)
"""Verbs that change nothing on this machine, unless they are told to with --sudo."""
BUDGETED = ("run", "compare", "check", "corun")
"""Verbs that get a small time budget."""


def all_examples():
    """Return the examples of the README and the first block of each how-to guide."""
    rows = []
    for document, text in texts():
        if document == "README.md":
            rows += [example for example in examples_of(document, text) if not example.bare]
        elif document.startswith("docs/how-to/"):
            rows += next(([example] for example in examples_of(document, text) if example.block), [])
    return rows


EXAMPLES = [example for example in all_examples() if example.text not in ELSEWHERE]


def test_no_exception_is_out_of_date():
    assert not ELSEWHERE.keys() - {example.text for example in all_examples()}


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """A directory with the programs and files that examples name: and a store with studies and a history."""
    path = tmp_path_factory.mktemp("examples")
    for name in ("prog", "old", "new", "bench"):
        shutil.copy("/bin/true", path / name)
    (path / "FILE").write_text("text\n" * 1000)
    filled = ["time=80..90min,temp=170..180C,yield", "80,170,76.5", "80,180,77.0", "90,170,78.0", "90,180,79.5"]
    (path / "runs.csv").write_text("\n".join([*filled, "85,175,79.9", "85,175,80.3", "85,175,80.0", ""]))
    for name in ("benchmarks.toml", "programs.toml"):
        (path / name).write_text('[[program]]\nname = "prog"\ncommand = "./prog"\nreference = "1ms"\n')
    for _ in range(12):
        becalm.run("true", runs=2, warmup=0, store=str(path / "runs.db"))
    words = ["record", "--store", str(path / "runs.db"), "--project", "prog", "--commit", "1", "--runs", "3", "true"]
    CliRunner().invoke(group, words, catch_exceptions=False)
    return path


@pytest.fixture
def place(directory, monkeypatch):
    """The directory as the working directory and the home of an example."""
    monkeypatch.chdir(directory)
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")
    for name in ("HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(directory / "home"))
    monkeypatch.setenv("BECALM_STORE", str(directory / "runs.db"))


def words_here(example):
    """Return the words of an example with few runs, and with `true` for a placeholder such as `A …`."""
    words = ["true" if "…" in word else word for word in example.words]
    for option, value in (("--budget", "100ms"), ("--runs", "3")):
        if option in words:
            words[words.index(option) + 1] = value
    if words[0] in BUDGETED and not {"--runs", "--budget", "--host"} & set(words):
        words[1:1] = ["--budget", "100ms"]
    return words + (["--yes"] if words[0] == "delete" else [])


@pytest.mark.xdist_group("examples")
@pytest.mark.parametrize("example", EXAMPLES, ids=[example.name for example in EXAMPLES])
def test_an_example_runs(example, place):
    """Run it until it ends with an answer, yes (0), no (1) or undecided (5), and not with an error."""
    words = words_here(example)
    simulated = any(word.startswith("sim:") for word in words)
    assert "--sudo" not in words
    assert words[0] in HARMLESS or simulated, "it may change this machine: list it in ELSEWHERE"
    try:
        done = CliRunner().invoke(group, words, standalone_mode=False)
    except BecalmError as error:
        pytest.fail(str(error))
    assert done.exception is None or getattr(done.exception, "code", None) in (1, 5), (words, done)
