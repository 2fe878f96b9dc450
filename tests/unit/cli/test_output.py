"""`--json`, `--markdown`, `--quiet`, `--plain` and `--report FILE` mean the same for every verb that has them."""

import json

import click
import jsonschema
import pytest
from click.testing import CliRunner
from tests.support.pages import undrawn  # noqa: F401
from tests.unit.verbs.test_explain import fill

import becalm
from becalm._version import SCHEMA
from becalm.cli.main import VERBS
from becalm.cli.main import becalm as group
from becalm.cli.output import NAMES
from becalm.errors import UsageError
from becalm.load.simulated import Sensitivity
from becalm.report.json_schema import kinds_with_schema
from becalm.store import Store

SIM = ("--host", "sim:drift")
MEASURED = ("--seed", "1")
CALLS = {
    "check": (*SIM, *MEASURED, "--fail-above", "50%", "--budget", "1s", "spin 20ms", "spin 21ms"),
    "run": (*SIM, *MEASURED, "--runs", "6", "spin 20ms"),
    "compare": (*SIM, *MEASURED, "--runs", "6", "spin 20ms", "spin 21ms"),
    "doctor": (*SIM, "--no-measure"),
    "tune": (
        "--host", "sim:laptop-a", "--seed", "3", "--method", "fast", "--no-single-out", "--no-profiles", "--",
        "spin 1s",
    ),
    "survey": (
        "--host", "sim:normal:1", "--host", "sim:normal:2", *MEASURED, "--no-kernels", "--loops", "5", "--runs", "2",
        "spin 20ms",
    ),
    "explain": ("--program", "gzip"),
    "watch": (*SIM, *MEASURED, "--output", "discard", "--", "spin 20ms"),
    "suite": (*SIM, *MEASURED, "--no-rate", "--runs", "1", "suite.toml"),
    "record": (*SIM, *MEASURED, "--project", "p", "--commit", "c", "--runs", "3", "spin 20ms"),
    "history": ("p",),
    "show": ("last",),
    "store": ("check",),
    "knobs": SIM,
    "apply": ("--host", "sim:laptop-a", "--dry-run", "--set", "nice=-5"),
    "export-settings": ("--host", "sim:laptop-a", "--set", "nice=-5"),
    "simulate": ("--", "spin 20ms"),
    "sweetspots": ("simulate", "synthetic:1"),
    "list": (),
    "export": (),
    "delete": ("last", "--yes"),
    "import": ("exported.json",),
}  # fmt: skip
"""A call of each verb that can be made without a machine."""

ELSEWHERE = {
    "apply": "simulated machines have nothing to be set", "reset": "the machine's", "status": "the machine's",
    "load": "loads the machine", "host": "has commands of its own", "guest": "has commands of its own",
    "clock": "times the machine itself",
    "publish": "writes a directory (tests/contract/verbs/test_publish_serve.py)",
    "mcp": "speaks to an agent (tests/contract/verbs/test_mcp.py)",
    "bisect": "builds commits of a repository",
    "corun": "runs programs next to each other (tests/contract/run/test_corun.py)",
    "place": "needs a profile (test_placing.py)",
    "migrate": "moves a process (tests/system/restore/test_migrate.py)",
    "install-service": "prints nothing", "install-sudoers": "prints nothing", "design": "has commands of its own",
}  # fmt: skip
"""Verbs that are tried on real machines (tests/contract)."""


def commands():
    """Yield every command, those of groups too, by its words."""
    for name in VERBS:
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from ((f"{name} {subcommand}", command.commands[subcommand]) for subcommand in command.commands)
        else:
            yield name, command


def options_of(command):
    return {param.name: param for param in command.params if isinstance(param, click.Option) and param.name in NAMES}


REPORTS = [name for name, command in commands() if "report" in options_of(command) and name.split()[0] not in ELSEWHERE]
JSON = [name for name, command in commands() if "as_json" in options_of(command)]
ENGINE = ("simulate", "sweetspots")
"""Verbs of which tests/contract checks the output, because they need the program becalm-sim."""


def in_memory(verbs):
    """Return the verbs that need no program."""
    return [verb for verb in verbs if verb not in ENGINE]


@pytest.fixture(scope="module")
def written():
    """Remember the files that the first test writes and all others read."""
    return {}


@pytest.fixture
def here(written, store, no_repository, tmp_path, monkeypatch):
    """A directory with a file for `suite` and one for `import`, and a study for verbs that show one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite.toml").write_text('[[program]]\nname = "a"\ncommand = "spin 20ms"\nreference = "30ms"\n')
    if not written:
        with Store.open(store) as opened:
            fill(opened, "gzip -9 big", Sensitivity(spinners=1), "vm", 0)
        output_of("record", *CALLS["record"])
        output_of("run", *CALLS["run"])
        (tmp_path / "exported.json").write_text(output_of("export"))
        written |= {name: (tmp_path / name).read_bytes() for name in ("runs.db", "exported.json")}
    for name, data in written.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


def output_of(*words):
    """Return the standard output of a command."""
    done = CliRunner().invoke(group, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(*words):
    """Return the sentence with which it is refused, before anything was measured."""
    with pytest.raises(UsageError) as error:
        CliRunner().invoke(group, words, catch_exceptions=False)
    assert len(becalm.list_studies().studies) == 3
    return str(error.value)


def test_verbs_that_show_something_have_all_five_and_others_json():
    """Nobody has two of three: a verb with a report has all of them."""
    for name, command in commands():
        names = set(options_of(command))
        assert names in (set(NAMES), {"as_json", "plain"}, {"as_json"}, set()), name
    assert set(REPORTS) >= {"run", "compare", "doctor", "tune", "survey", "explain", "watch", "suite", "show"}


def test_an_option_is_the_same_option_everywhere():
    first = {}
    for name, command in commands():
        for option in options_of(command).values():
            signature = (option.opts, option.help, option.metavar, option.is_flag, option.default)
            assert first.setdefault(option.name, signature) == signature, name


def test_every_verb_is_tried_here_or_on_a_machine():
    assert set(CALLS) | set(ELSEWHERE) == set(VERBS)


@pytest.mark.parametrize("verb", in_memory(name for name in JSON if name in CALLS and name not in ELSEWHERE))
def test_json_is_one_object_that_names_its_kind(verb, here):
    check_json(verb)


def check_json(verb):
    value = json.loads(output_of(verb, *with_option(verb, "--json")))
    assert value["schema"] == SCHEMA
    assert value["becalm"]
    assert value["kind"]
    if value["kind"] in kinds_with_schema():
        jsonschema.validate(value, becalm.json_schema(value["kind"]))


@pytest.mark.parametrize("verb", in_memory(REPORTS))
def test_markdown_is_printed_and_reported_alike(verb, here):
    check_markdown(verb, here)


def check_markdown(verb, here):
    printed = output_of(verb, *with_option(verb, "--markdown"))
    assert printed.startswith(("**", "# ", "## ", "|", "<!-- becalm check -->\n### "))
    again = output_of(verb, *with_option(verb, "--markdown", "--report", "a.md"))
    assert (here / "a.md").read_text() == again, "next to what is printed, and the same"


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("verb", in_memory(REPORTS))
def test_a_report_has_the_form_of_its_name(verb, here):
    check_reports(verb, here)


def check_reports(verb, here):
    quietly = output_of(verb, *with_option(verb, "--quiet"))
    for ending in (".html", ".json", ".md"):
        shown = output_of(verb, *with_option(verb, "--quiet", "--report", f"r{ending}"))
        assert len(shown.splitlines()) == len(quietly.splitlines()), "a report changes nothing of what is printed"
    assert (here / "r.html").read_text().lower().startswith("<!doctype html>")
    value = json.loads((here / "r.json").read_text())
    printed = json.loads(output_of(verb, *with_option(verb, "--json")))
    assert value["kind"] == printed["kind"]
    assert set(value) <= set(printed), "what is printed may have the runs, too"


@pytest.mark.parametrize("verb", REPORTS)
def test_a_report_that_cannot_be_written_is_refused_before_anything_is_done(verb, here):
    assert "r.txt" in refused(verb, *with_option(verb, "--report", "r.txt"))
    assert "nowhere" in refused(verb, *with_option(verb, "--report", "nowhere/r.md"))


@pytest.mark.parametrize("verb", REPORTS)
def test_two_forms_at_once_are_refused(verb, here):
    for two in (("--json", "--markdown"), ("--json", "--quiet"), ("--markdown", "--quiet")):
        assert f"{two[0]} and {two[1]} contradict each other" in refused(verb, *with_option(verb, *two))


def with_option(verb, *more):
    """Return the words of a call with options before a program."""
    return (*more, *CALLS[verb])
