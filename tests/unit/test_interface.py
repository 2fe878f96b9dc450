"""The command line calls the public functions and nothing else, and they can do whatever it can."""

import ast
import inspect

import click
import pytest
from tests.places import ROOT

import becalm
from becalm.cli.main import VERBS
from becalm.cli.main import becalm as group
from becalm.report import has_report
from becalm.report.forms import as_html, as_markdown, on_terminal
from becalm.verbs import KINDS, TABLE, function

COMMANDS = sorted((ROOT / "python/becalm/cli").glob("*.py"))
ALLOWED = (
    *("becalm.cli", "becalm.report", "becalm.wording"),
    *("becalm.units", "becalm.errors", "becalm._version"),
)
"""The packages that it may import by name: itself, drawing and wording, and words for what is typed."""

TABLES = {"becalm.verbs": {"TABLE", "HEADINGS"}}
"""The table that lists the verbs, and the headings of the help."""


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.stem)
def test_the_command_line_imports_public_names_alone(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            wrong = [name.name for name in node.names if name.name.startswith("becalm.")]
            assert not wrong, wrong
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("becalm"):
            named = {name.name for name in node.names}
            module = node.module or ""
            assert module.startswith(ALLOWED) or named <= TABLES.get(module, set()), f"{module}: {named}"


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.stem)
def test_the_command_line_uses_only_public_names(path):
    used = {
        node.attr
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "becalm"
    }
    # `becalm` is the group of commands in main.
    assert used - {"main"} <= set(becalm.__all__)


DISPLAY = {"as_json", "markdown", "quiet", "plain", "report", "overwrite", "sort", "time_unit"}
ASIDE = {
    "tune": {"config", "save", "fast", "programs", "dry_run", "table"},
    "clock": {"compare", "headers"},
    "compare": {"commands", "regions", "against", "stored"},
    "check": {"comment", "annotate", "annotations", "file"},
    "suite": {"file"},
    "watch": {"pid", "interval", "count", "prometheus"},
    "explain": {"html", "designed"},
    "corun": {"programs"},
}
"""The parameters that only concern typing: files of options, profiles to save, other spellings, other functions of the
verb."""

FUNCTIONS = {
    "run": (becalm.run,),
    "check": (becalm.check,),
    "compare": (becalm.compare, becalm.compare_regions, becalm.compare_stored, becalm.compare_layouts),
    "tune": (becalm.tune, becalm.tune_table),
    "survey": (becalm.survey,),
    "corun": (becalm.corun,),
    "suite": (becalm.suite,),
    "watch": (becalm.watch,),
    "explain": (becalm.explain, becalm.load_experiment),
    "load": (becalm.make_load,),
    "clock": (becalm.clock,),
}


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_every_option_of_a_command_is_a_keyword_of_its_function(verb):
    command = group.get_command(click.Context(group), verb)
    keywords = {name for function in FUNCTIONS[verb] for name in inspect.signature(function).parameters}
    options = {param.name for param in command.params if isinstance(param, click.Option)}
    # --no-store is store=False, and so on.
    negated = {option for option in options if option.startswith("no_")}
    meant = {"single_out" if name == "no_single_out" else name.removeprefix("no_") for name in negated}
    meant = {{"rate": "rates", "profiles": "compare_profiles"}.get(name, name) for name in meant}
    left = options - negated - DISPLAY - ASIDE.get(verb, set())
    assert left | meant <= keywords


def test_every_verb_has_a_command_and_functions_that_are_public():
    for verb in TABLE:
        for name in verb.homes:
            assert name in becalm.__all__
            assert inspect.getdoc(getattr(becalm, name)), name
        if verb.name:
            assert group.get_command(click.Context(group), verb.name) is not None
            assert VERBS[verb.name].what.endswith(".")


def test_public_functions_have_types():
    for name in becalm.__all__:
        verb = getattr(becalm, name)
        if not inspect.isfunction(verb):
            continue
        for parameter in inspect.signature(verb).parameters.values():
            assert parameter.annotation is not parameter.empty, f"{name}: {parameter.name}"
        assert inspect.signature(verb).return_annotation is not inspect.Signature.empty, name


JSON = "dict[str, Any]"
"""The type that `json` can write; its fields are documented (docs/reference/json.md)."""


def test_public_functions_take_and_give_values_whose_type_says_what_they_are():
    """`Any` stands in no parameter of a verb, in no option of one, and among results in JSON alone."""
    for name in {name for verb in TABLE for name in verb.homes}:
        signature = inspect.signature(getattr(becalm, name))
        for parameter in signature.parameters.values():
            assert "Any" not in str(parameter.annotation), f"{name}: {parameter.name}"
        assert "Any" not in str(signature.return_annotation).replace(JSON, ""), name


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_study_is_concluded_and_read_back(name):
    kind = KINDS[name]
    for path in filter(None, (kind.conclude, kind.read, kind.pool)):
        assert callable(function(path)), path


MEASURED = {
    "run": lambda: becalm.run("spin 20ms", host="sim:drift", runs=20, seed=1),
    "compare": lambda: becalm.compare(["spin 20ms", "spin 21ms"], host="sim:drift", runs=20, seed=1),
    "several": lambda: becalm.compare(["spin 20ms", "spin 21ms"], hosts=["sim:calm:1", "sim:calm:2"], runs=20, seed=1),
    "tune": lambda: becalm.tune(
        ["spin 1s"], host="sim:laptop-a", seed=3, budget="10min", method="fast", confirm_loops=2
    ),
    "survey": lambda: becalm.survey([f"sim:normal:{n}" for n in range(6)], "spin 20ms", kernels=(), loops=5, runs=2),
}


@pytest.mark.parametrize("name", MEASURED)
def test_every_report_is_drawn_in_every_form(name, store):
    verdict = MEASURED[name]()
    assert has_report(verdict)
    console = becalm_console()
    with console.capture() as capture:
        console.print(on_terminal(verdict, plain=True, columns=100))
    first = verdict.sentence.split()[0]
    assert first in capture.get()
    assert first in as_markdown(verdict).replace("\\", "")
    page = as_html(verdict)
    assert page.startswith("<!DOCTYPE html>")
    assert first in page
    assert becalm.to_json(verdict)["becalm"]


def becalm_console():
    from becalm.report.terminal import console

    return console(plain=True)


def test_verbs_that_do_not_measure_programs_take_an_open_host():
    from becalm.hosts import open as open_host

    with open_host("sim:laptop-a") as host:
        assert {knob.name for knob in becalm.knobs(host)} == {knob.name for knob in becalm.knobs("sim:laptop-a")}
        assert becalm.doctor(host, measure=False).host == host.name
        assert host.facts(), "it is open still"
