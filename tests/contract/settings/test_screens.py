"""The screens of settings, character by character, at 100 columns: `golden/`.

To make them again after a change: BECALM_GOLDEN=1 pytest tests/contract/settings/test_screens.py, and read the diff.
"""

import os
import re
from pathlib import Path

import pytest

from becalm.cli.main import VERBS
from becalm.cli.main import becalm as group
from becalm.report.settings import FEATURE, folded

GOLDEN = Path(__file__).parent / "golden"

SCREENS = {
    "knobs": [("knobs",)],
    "knob": [("knobs", "governor")],
    "knob-of-a-program": [("knobs", "io_priority")],
    "knob-with-a-range": [("knobs", "slice_ns")],
    "knob-of-the-boot": [("knobs", "rcu_nocbs")],
    "dry-run": [("apply", "llvm-tips", "--dry-run")],
    "apply": [("apply", "pyperf")],
    "status": [("apply", "pyperf"), ("status",)],
    "status-of-nothing": [("status",)],
    "reset": [("apply", "pyperf"), ("reset",)],
    "reset-of-nothing": [("reset",)],
}


def fixed(text):
    """Replace what differs from time to time (dates, durations, the user), and strip blanks at ends of lines."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "2026-01-02 03:04:05", text)
    text = re.sub(r"set by \w+ on", "set by ada on", text)
    text = re.sub(r" of \w+ had left applied", " of ada had left applied", text)
    text = re.sub(r"\d+ of \d+ values", "20 of 30 values", text)
    text = re.sub(r"changed in [\d.]+ \w+\.", "changed in 12.34 ms.", text)
    text = re.sub(r"--root \S+", "--root DIR", text)
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def compare(name, text):
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("BECALM_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("name", SCREENS)
def test_screens(becalm, root, name):
    done = None
    for command in SCREENS[name]:
        done = becalm(*command, "--plain", root=root)
        assert done.returncode == 0, done.stderr
    assert all(len(line) <= 100 for line in done.stdout.splitlines())
    assert "\x1b" not in done.stdout
    compare(name, fixed(done.stdout))


def test_columns_of_the_lists_stand_below_each_other(becalm, root):
    heads = [line for line in becalm("knobs", "--plain", root=root).stdout.splitlines() if line.startswith("name ")]
    assert len(heads) == 3, "the laptop has no features to list"
    assert len({line.index("why") for line in heads}) == 1


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_names_and_values_are_never_cut_and_words_are_whole(becalm, root, monkeypatch, columns):
    from becalm.verbs.settings import knobs

    monkeypatch.setenv("COLUMNS", str(columns))
    shown = becalm("knobs", "--plain", root=root).stdout
    words = set(shown.split())
    for row in knobs(root=str(root)):
        name = row.name.removeprefix(FEATURE)
        assert {name, f"{name},", f"{name}:"} & words
        assert row.tuned_value is None or row.tuned_value in words
        if columns >= 80 and row.supported:
            assert set(row.rationale.split()) <= words


def test_missing_knobs_are_marked_in_the_list(becalm, root):
    (Path(root) / "sys/devices/system/cpu/smt/control").write_text("notsupported\n")
    try:
        (line,) = [x for x in becalm("knobs", "--plain", root=root).stdout.splitlines() if x.startswith("smt ")]
        assert "not here: " in line
        assert "not here: " in becalm("knobs", "smt", "--plain", root=root).stdout
    finally:
        (Path(root) / "sys/devices/system/cpu/smt/control").write_text("on\n")


def test_the_core_that_a_search_gives_a_program_is_the_one_without_interrupts_that_stay(becalm, root):
    def tried():
        (line,) = [x for x in becalm("knobs", "isolation", "--plain", root=root).stdout.splitlines() if "tried by" in x]
        return line.split()[-1]

    counts, arrival = root / "proc/interrupts", root / "proc/irq/130/effective_affinity_list"
    before = {path: path.read_text() for path in (counts, arrival)}
    assert tried() == "last-core"
    try:
        counts.write_text(before[counts].replace("130: 7", "130: 7000"))
        arrival.write_text("7\n")
        assert tried() == "first-core"
    finally:
        for path, text in before.items():
            path.write_text(text)


def test_places_that_are_alike_are_one_line():
    def place(cpu):
        return f"/sys/devices/system/cpu/cpu{cpu}/online"

    rows = [("a", place(n), ("1", "0")) for n in (7, 1, 2, 3)] + [
        ("a", place(5), ("0", "1")),
        ("b", place(1), ("1", "0")),
    ]
    assert folded(rows) == [
        ("a", place("1-3,7"), ("1", "0")),
        ("a", place("5"), ("0", "1")),
        ("b", place("1"), ("1", "0")),
    ]
    assert folded([("i", f"/proc/irq/{n}/smp_affinity", ("f", "1")) for n in (0, 9, 10)]) == [
        ("i", "/proc/irq/0,9-10/smp_affinity", ("f", "1"))
    ]
    same = [("c", "/proc/sys/vm/swappiness", ("60", "1")), ("c", "/swap file", ("on", "off"))]
    assert folded(same) == same


def test_brackets_are_shown_and_not_taken_for_colours():
    from rich.console import Console

    from becalm.nouns.excluded import Excluded
    from becalm.report import settings as report
    from becalm.results.settings import ApplyResult, Change

    changes = (Change("swap", "/a [bold] file", "[on]", "[/off]", True),)
    console = Console(width=100, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(report.applied(ApplyResult("[red]", changes, (Excluded("thp", "only [always]"),), ("[i] remark",))))
    shown = console.export_text()
    for words in ("[red]", "/a [bold] file", "[on]", "[/off]", "only [always]", "[i] remark"):
        assert words in shown


# --- help -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["tune", "knobs", "apply", "reset", "status", "install-service"])
def test_every_option_has_help(verb):
    import click

    for param in group.get_command(None, verb).params:
        if isinstance(param, click.Option):
            assert param.help, f"{verb} {param.opts}"
            assert param.help[0].isupper()


def examples(verb):
    """Return the lines of a verb's help that begin with becalm."""
    lines = (group.get_command(None, verb).help or "").splitlines()
    return [line.strip() for line in lines if line.strip().startswith("becalm ")]


def test_the_verbs_of_settings_have_examples():
    for verb in ("tune", "knobs", "apply"):
        assert len(examples(verb)) >= 2, verb
    assert {"tune", "knobs", "apply", "reset", "status"} <= set(VERBS)


def without_starts(lines):
    """Return the lines that do not restart a machine; tests/contract/boot and tests/system/guest have the others."""
    return [line for line in lines if "--boot" not in line]


@pytest.mark.parametrize("line", without_starts([*examples("knobs"), *examples("apply")]))
def test_examples_of_help_run(becalm, root, line):
    words = line.replace("--sudo ", "").replace("./bench", "true").split()[1:]
    done = becalm(*words, root=root)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("line", [line for line in examples("tune") if "--metric" not in line])
def test_examples_of_tune_run(becalm, home, line, tmp_path, monkeypatch):
    """But for those of metrics: a simulated machine prints nothing (tests/contract/run/test_metrics.py)."""
    import shlex

    from becalm.verbs.tune import tune

    monkeypatch.chdir(tmp_path)
    for program in ("bench", "other"):
        (tmp_path / program).write_text("#!/bin/sh\n:\n")
        (tmp_path / program).chmod(0o755)
    (tmp_path / "bench.py").write_text(
        "import pyperf\nrunner = pyperf.Runner()\nrunner.bench_func('f', lambda: None)\n"
    )
    # A simulated machine runs nothing, so nothing there tells the time of a loop.
    line = line.replace("pyperf:bench.py", "./other")
    if "--try 12" in line:
        line = line.replace("--try 12", "--try 1")
        assert tune(["p"], host="sim:b:3", budget="4h", seed=5, dangerous=True, without="irq_affinity").settings
        line = line.replace("tune ", "tune --dangerous ")
    line = line.replace("ssh://a", "sim:laptop-a:2").replace("ssh://b", "sim:laptop-a:3")
    words = shlex.split(line.replace("--sudo ", "").replace("--budget 10min ", "").replace("FILE", "bench.py"))[1:]
    # A search for speed varies the scheduler, which is that of CFS on the simulated machine that has one.
    machine = "sim:scheduler:1" if "--minimize" in words else "sim:laptop-a:1"
    words = ["sched_latency_ns=1..1000ms:log" if word.startswith("slice_ns=") else word for word in words]
    # With a table nothing is measured.
    measured = ["--host", machine, "--seed", "3", "--budget", "10min"] if "--from" not in words else []
    rows = [f"{level},{unit},{level + unit}" for level in (1, 2) for unit in range(5)]
    (tmp_path / "runs.csv").write_text("\n".join(["level,machine,requests", *rows]))
    done = becalm(words[0], *measured, "--quiet", *words[1:])
    assert done.returncode == 0, done.stderr


# --- the command line of tune ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Which program?"),
        (["--quiet", "--json", "x"], "contradict"),
        (["--sudo", "--user", "x", "x"], "contradict"),
        (["--seed", "-1", "x"], "at least 0, not -1"),
        (["--method", "gredy", "x"], "Did you mean 'greedy'"),
        (["--budget", "soon", "x"], "'soon' is not a duration"),
        (["--report", "x.pdf", "x"], ".html, .md and .json"),
        (["--report", "/no/such/x.md", "x"], "no directory /no/such"),
        (["--save", "llvm-tips", "x"], "cannot name a profile"),
        (["--save", "/no/such/x.toml", "x"], "no directory /no/such"),
        (["--resume", "5"], "no study 5"),
        (["--resume", "5", "--", "x"], "Leave out the program"),
        (["--resume", "5", "--budget", "1h"], "Leave out --budget"),
        (["--resume", "5", "--method", "race"], "Leave out --method"),
        (["--only", "aslrr", "--host", "sim:b", "x"], "Did you mean 'aslr'"),
        (["--try", "nothing-like-it", "--host", "sim:b", "x"], "no profile"),
    ],
)
def test_tune_refuses_invalid_settings_before_anything_is_measured(becalm, home, arguments, says):
    done = becalm("tune", *arguments)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr
    assert done.stdout == ""
    assert "empty" in becalm("list").stdout


@pytest.mark.parametrize(
    ("words", "name"),
    [(("spin 20ms",), "spin 20ms"), (("spin", "20ms"), "spin 20ms"), (("--", "spin", "20ms"), "spin 20ms")],
)
def test_one_word_is_a_command_line_as_for_run(becalm, home, words, name):
    import json

    done = becalm("tune", "--host", "sim:calm", "--budget", "5s", "--json", *words)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["programs"] == [name]


def test_a_shell_reads_a_line_of_the_shell(becalm, home, tmp_path):
    log = tmp_path / "log"
    line = f"echo one >> {log} && true"
    done = becalm(
        "tune", "--shell", "--only", "aslr", "--budget", "none", "--most-runs", "20", "--confirm-loops", "2",
        "--no-profiles", "--quiet", line,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert set(log.read_text().split()) == {"one"}


def test_tune_prints_a_report_json_or_a_sentence(becalm, home):
    import json

    usual = ("tune", "--host", "sim:b:3", "--seed", "5", "--budget", "4h", "--dangerous", "--without", "irq_affinity")
    document = json.loads(becalm(*usual, "--json", "p").stdout)
    assert document["kind"] == "tune"
    quiet = becalm(*usual, "--quiet", "p")
    assert quiet.stderr == ""
    assert quiet.stdout.splitlines() == document["sentence"].splitlines()
    full = becalm(*usual, "--plain", "--report", home / "r.html", "--save", "mine", "p")
    for words in ("Before and after", "Now type", document["sentence"].splitlines()[0][:40]):
        assert words in full.stdout
    assert "Looking: " in full.stderr
    assert "Searching: " in full.stderr
    assert "Report: " in full.stderr
    assert "Profile: " in full.stderr
    assert "<html" in (home / "r.html").read_text()
    assert becalm("apply", "mine", "--dry-run", "--dangerous").returncode in (0, 3)
    assert becalm("show", "--plain").stdout == full.stdout
