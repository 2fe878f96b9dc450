"""No option that writes a file replaces one that becalm did not write, and each such option is known here."""

from __future__ import annotations

import click
import pytest

from becalm.cli.main import becalm as group

FILES = ("FILE", "DIR", "FOLDER", "PATH")
READ = {
    *("--root", "--store", "--python", "--directory", "--input", "--config", "--against", "--t-diff", "--more-old"),
    *("--more-new", "--baseline", "--profile", "--file", "--old-build", "--new-build", "--path", "--try", "--disk"),
    *("--from", "--programs", "--ssh-config", "--repository", "--repo", "--weights", "--reference"),
}
"""Options that name a file or directory to read, or where something runs."""

WRITTEN = {
    ("check", "--comment"): "check --comment {} true true",
    ("check", "--annotations"): "check --annotate gitlab --annotations {} true true",
    ("clock", "--ticks"): "clock --quick --ticks {}",
    ("export", "--to"): "export --to {}",
    ("export", "--series"): "export --series {}.csv",
    ("corun", "--save"): "corun --save {} true false",
    ("simulate", "--trace"): "simulate --trace {} -- hackbench -g 1",
    ("simulate", "--save"): "simulate --measure local --save {}.toml -- true",
    ("sweetspots", "--save"): "sweetspots simulate --save {} matrixmult:50,5",
    ("sweetspots", "--csv"): "sweetspots simulate --csv {} matrixmult:50,5",
    ("sweetspots", "--parquet"): "sweetspots simulate --parquet {} matrixmult:50,5",
    ("sweetspots", "--trace"): "sweetspots simulate --trace {} matrixmult:50,5",
    ("sweetspots", "--log"): "sweetspots simulate --log {} matrixmult:50,5",
    ("tune", "--save"): "tune --save {}.toml -- true",
    ("watch", "--prometheus"): "watch --count 1 --prometheus {}",
}
"""A command line for each option that writes a file, which it refuses before anything is done."""

DIRECTORIES = {("clock", "--headers"), ("export-settings", "--to"), ("place train", "--save")}
"""Options that write several files into a directory."""


def commands(command: click.Command, path: tuple[str, ...] = ()):
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (verb := command.get_command(context, name)) is not None:
                yield from commands(verb, (*path, name))
    else:
        yield " ".join(path), command


def options():
    for path, command in commands(group):
        for param in command.params:
            if isinstance(param, click.Option) and any(word in str(param.metavar) for word in FILES):
                yield path, param.opts[0]


def test_every_option_with_a_file_is_known_to_read_or_to_write_it():
    known = {*WRITTEN, *DIRECTORIES}
    unknown = {(path, name) for path, name in options() if name not in READ and name != "--report"}
    assert unknown - known == set()


def test_every_command_that_writes_takes_overwrite():
    writing = {*(path for path, _ in WRITTEN), *(path for path, name in options() if name == "--report")}
    for path, command in commands(group):
        if path in writing:
            assert "--overwrite" in {name for param in command.params for name in param.opts}, path


@pytest.mark.parametrize("case", WRITTEN, ids=" ".join)
def test_every_option_that_writes_a_file_refuses_what_it_did_not_write(home, becalm, tmp_path, case):
    line = WRITTEN[case]
    ending = line.partition("{}")[2].split(" ")[0]
    for content, sentence in (("mine", "becalm did not write it"), ("SQLite format 3\0", "is a store")):
        taken = tmp_path / f"taken{ending}"
        taken.write_text(content)
        ended = becalm(*line.format(tmp_path / "taken").split())
        assert ended.returncode == 2, ended.stderr
        assert sentence in ended.stderr
        assert taken.read_text() == content
    ended = becalm(*line.split()[:1], "--overwrite", *line.format(tmp_path / "taken").split()[1:])
    assert "is a store" in ended.stderr


REPORTS = (
    "run -- true",
    "compare true false",
    "survey true",
    "doctor",
    "clock --quick",
    "tune -- true",
    "watch -- true",
)


@pytest.mark.parametrize("line", REPORTS)
def test_a_report_is_refused_before_anything_is_measured(home, becalm, tmp_path, line):
    page = tmp_path / "page.html"
    page.write_text("mine")
    verb, *rest = line.split()
    ended = becalm(verb, "--report", str(page), *rest)
    assert (ended.returncode, page.read_text()) == (2, "mine")
    assert "becalm did not write it" in ended.stderr


def test_a_report_replaces_one_of_its_own_and_with_overwrite_any(home, becalm, tmp_path):
    page = tmp_path / "page.html"
    for _ in range(2):
        ended = becalm("run", "--host", "sim:normal", "--runs", "5", "--report", str(page), "spin 1s")
        assert ended.returncode == 0, ended.stderr
    page.write_text("mine")
    ended = becalm("run", "--host", "sim:normal", "--runs", "5", "--report", str(page), "--overwrite", "spin 1s")
    assert ended.returncode == 0, ended.stderr
    assert page.read_text().startswith("<!DOCTYPE html>")
