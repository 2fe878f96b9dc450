"""The command lines in the documents are those that becalm takes."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import re
import shlex

import click
import pytest
from tests.places import ROOT

from becalm.cli.main import VERBS, becalm

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ELLIPSES = {"…", "..."}
"""Words that stand for more of the same; nobody types them."""


FOREIGN = ("swapon", "python", "cargo", "pip")
"""Other people's programs, with options of their own."""

ACTS = {"--install-completion", "--show-completion"}
"""Options that do their work while they are parsed: the first writes into the home directory of whoever tests."""


def lines(text):
    """Yield command lines of a document, and whether each is whole: those of code blocks are, mentions need not be."""
    for block in re.findall(r"^```[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if match := re.match(r"(?:\$ )?(becalm( .*|$))", line):
                yield match[1], True
    for part in re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL).split("`")[1::2]:
        if re.match(r"becalm( |$)", part):
            yield " ".join(part.split()), False


def words(line):
    """Split a command line as a shell would, without comment, redirection and ellipses."""
    line = re.split(r"\s+(?:#|\||&&|;|2?>)\s?", line)[0]
    # Explanations are behind two spaces.
    line = re.split(r"(?<=\S)\s{2,}(?=[a-z])", line)[0]
    return [word for word in shlex.split(line) if word not in ELLIPSES][1:]


def parse(arguments):
    """Parse a command line with click as becalm does, and run nothing. Raises click.ClickException."""
    own = list(itertools.takewhile(lambda word: word.startswith("-"), arguments))
    assert not ACTS & set(own)
    if set(own) & {"--version", "--help"} or not arguments:
        return
    context = click.Context(becalm, info_name="becalm", **becalm.context_settings)
    name, command, after = becalm.resolve_command(context, list(arguments))
    if "--config" in after:
        # The file that a document talks about is not there; that there is such an option is looked at here.
        assert any("--config" in parameter.opts for parameter in command.params)
        at = after.index("--config")
        after = after[:at] + after[at + 2 :]
    with contextlib.suppress(click.exceptions.Exit):
        # --help says all and ends. Files of options are the reader's own: an empty one stands for them.
        after = [
            "/dev/null" if before == "--config" else word for before, word in zip(["", *after], after, strict=False)
        ]
        command.make_context(name, after, parent=context)


def own(document):
    """Return the text of a document without the tables that becalm writes into it (tools/documents.py)."""
    tables = r"<!-- becalm-table [\w-]+ -->.*?<!-- /becalm-table -->"
    return re.sub(tables, "", document.read_text(), flags=re.DOTALL)


FOUND = [(document.name, *line) for document in DOCUMENTS for line in lines(own(document))]


def test_there_are_command_lines_and_of_every_verb():
    used = {words(line)[0] for _, line, _ in FOUND if words(line)}
    assert set(VERBS) <= used
    assert len(FOUND) > 100


@pytest.mark.parametrize(("document", "line", "whole"), FOUND)
def test_command_lines_parse(document, line, whole):
    arguments = words(line)
    if {"VERB", "COMMAND", *ACTS} & set(arguments):
        return
    try:
        parse(arguments)
    except click.ClickException as error:
        # "`becalm import` reads it back" and "`becalm compare --budget`" name a verb and an option.
        lacking = isinstance(error, click.MissingParameter) or (
            isinstance(error, click.BadOptionUsage) and arguments[-1] == error.option_name
        )
        if whole or not lacking:
            pytest.fail(f"{document}: {line}: {error.format_message()}")


@pytest.mark.parametrize(
    "line",
    [
        "becalm tune --no-such-option",
        "becalm nothing",
        "becalm run --budget never -- x",
        "becalm compare --set nice a b",
    ],
)
def test_wrong_command_lines_are_seen(line):
    with pytest.raises(click.ClickException):
        parse(words(line))


def test_options_of_the_tables_exist():
    known = {"--version", "--help", *ACTS}
    for name in VERBS:
        command = becalm.get_command(click.Context(becalm), name)
        known |= {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    for path in (
        "README.md",
        "docs/tutorials/tune.md",
        "docs/how-to/restore.md",
        "docs/how-to/settings.md",
        "docs/reference/exit-codes.md",
    ):
        text = (ROOT / path).read_text()
        text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
        parts = [part for part in text.split("`")[1::2] if not part.startswith(FOREIGN)]
        options = {match for part in parts for match in re.findall(r"(?<![\w-])--[a-z][a-z-]+", part)}
        assert options - known == set(), path


def test_the_tests_that_the_threat_model_names_are_there():
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs/explanation/threat-model.md").read_text()))
    there = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M)
    }
    assert len(named) > 20
    assert named - there == set()


def test_blocks_that_benches_fill_stand_on_lines_of_their_own():
    for document in DOCUMENTS:
        marks = re.findall(r"<!-- (/?)([\w-]+) -->", own(document))
        alone = re.findall(r"^<!-- (/?)([\w-]+) -->$", own(document), re.MULTILINE)
        assert marks == alone, document.name
        assert [name for end, name in marks if not end] == [name for end, name in marks if end], document.name


def test_documents_that_the_code_names_exist():
    for folder, ending in (("python", "py"), ("crates", "rs"), ("tests", "py"), ("bench", "py"), ("tools", "py")):
        for path in (ROOT / folder).rglob(f"*.{ending}"):
            for name in re.findall(r"(?<![\w/.])docs/[\w/-]+\.md", path.read_text()):
                assert (ROOT / name).exists(), f"{path.relative_to(ROOT)} names {name}"


def test_functions_that_the_table_of_statistics_names_exist():
    table = [line for line in (ROOT / "docs/explanation/statistics.md").read_text().splitlines() if line[:1] == "|"]
    named = [match for line in table for match in re.findall(r"`(\w+)\.(\w+|\*)`", line.split("|")[2])]
    assert len(named) > 10
    for module, name in named:
        result = importlib.import_module(f"becalm.stats.{module}")
        assert name == "*" or hasattr(result, name), f"{module}.{name}"


def test_make_targets_of_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_files_that_documents_link_to_exist():
    for document in DOCUMENTS:
        for link in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / link).exists(), f"{document.name} links to {link}"


def test_places_that_the_map_of_contributing_names_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"`((?:python|crates|tests|bench|docs|tools)(?:/[\w./-]+)?)`", text))
    named |= {f"python/becalm/{name}" for name in re.findall(r"`…/(\w+)`", text)}
    assert len(named) > 30
    for name in named:
        assert (ROOT / name).exists(), name
    folders = {path.name for path in (ROOT / "python/becalm").iterdir() if (path / "__init__.py").exists()}
    assert folders == {name.split("/")[2] for name in named if re.fullmatch(r"python/becalm/\w+", name)}
