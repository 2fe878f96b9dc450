"""The generated parts of the reference say what the tables say, all of it and nothing else."""

import re
from pathlib import Path

import click
import reference

import becalm
from becalm import errors
from becalm.cli.main import VERBS
from becalm.cli.main import becalm as becalm_command
from becalm.hosts import TABLE as HOSTS
from becalm.methods import TABLE as METHODS
from becalm.nouns import tables
from becalm.nouns.objective import TABLE as OBJECTIVES
from becalm.placement import METHODS as PLACEMENTS
from becalm.profiles import SHIPPED, load
from becalm.report.formats import FOREIGN, FORMATS
from becalm.wording.findings import TABLE as FINDINGS

ROOT = Path(__file__).parents[3]
CORE = ROOT / "crates/becalm-core/src"


def described(name):
    return reference.TABLES[name]()


def first_column(text):
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


def test_every_table_is_on_exactly_one_page():
    pages = [path.read_text() for path in (ROOT / "docs").rglob("*.md")]
    pattern = r"^(?:```\{becalm-table\} (\S+)|<!-- becalm-table (\S+) -->)$"
    result = ["".join(names) for page in pages for names in re.findall(pattern, page, re.MULTILINE)]
    assert sorted(result) == sorted(reference.TABLES)


def test_knobs_are_those_of_the_catalogue():
    text = described("knobs")
    sections = text.split("\n### ")[1:]
    names = [re.match(r"`(\w+)`", section)[1] for section in sections]
    rows = "".join((CORE / f"knob/{file}.rs").read_text() for file in ("catalogue", "catalogue/scheduler"))
    named = re.findall(r'Knob \{\s*name: "(\w+)"', rows)
    named += [f"sched_feature_{name}" for name in re.findall(r'feature!\("(\w+)"', rows)]
    assert sorted(names) == sorted(named)
    assert re.findall(r"^\| \[`(\w+)`\]\(#\1\) \|", text, re.MULTILINE) == names, "the overviews"
    for section in sections:
        for fact in ("Values", "Group", "Why it matters", "What it costs", "Source"):
            assert re.search(rf"^- \*\*{fact}\*\*: \S", section, re.MULTILINE), section
    boot = text.split("\n## Settings that need a restart")[1]
    assert boot.count("- **Kernel parameters**: `") == boot.count("\n### ")


def test_columns_are_those_of_the_tables():
    assert sorted(first_column(described("load-columns"))) == sorted(row.name for row in tables.load_columns())
    assert sorted(first_column(described("metrics"))) == sorted(
        row.metric for row in tables.load_columns() if row.metric
    )
    assert first_column(described("run-columns")) == [row.name for row in tables.run_columns()]


def test_kernels_are_those_of_the_table():
    names = first_column(described("kernels"))
    assert set(names) == {row.name for row in tables.built_in_kernels()}
    assert len(names) == sum(1 + len(row.parameters) for row in tables.built_in_kernels())


def test_load_sources_are_those_of_the_table():
    text = described("load-sources")
    assert first_column(text) == re.findall(
        r'^        name: "(.+)"', (CORE / "source/table.rs").read_text(), re.MULTILINE
    )
    assert all(len(re.split(r"(?<!\\)\|", line)) == 8 for line in text.splitlines() if line.startswith("|"))


def test_methods_hosts_and_formats_are_those_of_the_tables():
    assert first_column(described("methods")) == [row.name for row in METHODS]
    assert first_column(described("placements")) == [row.name for row in PLACEMENTS]
    assert first_column(described("hosts")) == [row.kind for row in HOSTS]
    assert first_column(described("formats")) == [row.name for row in (*FORMATS, *FOREIGN)]


def test_commands_have_every_verb_and_every_option():
    text = described("commands")
    sections = {part.partition("\n")[0]: part for part in re.split(r"^#{2,3} ", text, flags=re.MULTILINE)[1:]}
    context = click.Context(becalm_command, info_name="becalm", **becalm_command.context_settings)
    assert set(VERBS) <= {title.removeprefix("becalm ") for title in sections}
    for name in VERBS:
        command = becalm_command.get_command(context, name)
        inner = command.commands if isinstance(command, click.Group) else {}
        for title, item in {name: command, **{f"{name} {other}": value for other, value in inner.items()}}.items():
            written = re.findall(r"^\| `(.+?)` \|", sections[f"becalm {title}"].replace(r"\|", "/"), re.MULTILINE)
            options = [parameter for parameter in item.params if isinstance(parameter, click.Option)]
            assert len(written) == len([option for option in options if not option.hidden])
            for option in options:
                assert option.hidden or any(option.opts[-1] in row.replace(",", "").split() for row in written)


def test_python_has_every_public_name_and_what_it_is_made_of():
    text = described("python")
    names = re.findall(r"^\.\. auto\w+:: (\S+)$", text, re.MULTILINE)
    assert len(set(names)) == len(names)
    assert {f"becalm.{name}" for name in becalm.__all__ if not name.startswith("_")} <= set(names)
    # A field of a public value, and a field of that.
    assert {"becalm.nouns.finding.Interval", "becalm.results.tune.ArmComparison"} <= set(names)


def test_findings_have_their_numbers_and_objectives_their_definitions():
    text = described("findings")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", text, re.MULTILINE))
    assert list(rows) == [row.kind for row in FINDINGS]
    for row in FINDINGS:
        meaning, _, numbers = rows[row.kind].partition(" | ")
        assert meaning == row.meaning
        assert re.findall(r"`(\w+)`", numbers) == list(row.numbers)
    assert first_column(described("objectives")) == [row.name for row in OBJECTIVES]


def test_every_error_is_below_its_exit_code():
    names = re.findall(r"^\| (\d+) \| `(\w+)` \| \S", described("exit-codes"), re.MULTILINE)
    known = {name: error for name, error in vars(errors).items() if isinstance(error, type)}
    assert {name: int(code) for code, name in names} == {name: error.exit_code for name, error in known.items()}


def test_profiles_are_shown_as_set_takes_them():
    text = described("profiles")
    assert first_column(text) == list(SHIPPED)
    for name in SHIPPED:
        for knob, value in load(name).settings.values:
            assert f"`{knob}={value}`" in text
