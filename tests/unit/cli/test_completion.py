"""The words that becalm offers a shell; tests/contract and tests/system ask the shells themselves."""

import re
from types import SimpleNamespace

import click
import pytest

import becalm as api
from becalm.cli import candidates
from becalm.cli.candidates import knobs, settings
from becalm.cli.completion import Offered, offer, script
from becalm.cli.main import becalm as group
from becalm.hosts.simulated.machine import names
from becalm.hosts.simulated.scheduler import patterns
from becalm.nouns import tables
from becalm.nouns.knob import catalogue
from becalm.placement import METHODS
from becalm.placement.model import published
from becalm.report.place_export import FORMS
from becalm.results.place_costs import PlacementObjective


def values(result):
    return [item.value for item in result]


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


@pytest.fixture
def offered(becalm, any_bash, monkeypatch):
    """Return a function of the words of a line, which gives what becalm offers bash for the last one."""

    def offer(*words):
        # Signs of equality and colons are words of their own, as in bash (COMP_WORDBREAKS).
        parts = [part for word in words for part in re.sub("([=:])", r"\n\1\n", word).split("\n")]
        parts = [*(part for part in parts[:-1] if part), parts[-1]]
        monkeypatch.setenv("COMP_WORDS", " ".join(parts))
        monkeypatch.setenv("COMP_CWORD", str(len(parts) - 1))
        monkeypatch.setenv("_BECALM_COMPLETE", "bash_complete")
        replies = (line.partition(",") for line in becalm().stdout.splitlines())
        return [value for kind, _, value in replies if kind == "plain"]

    return offer


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("becalm", "comp"), ["compare"]),
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
        (("becalm", "run", "--host", "sim:e"), ["eevdf", "e"]),
        (("becalm", "simulate", "--host", ""), ["sim:cfs", "sim:eevdf"]),
        (("becalm", "simulate", "--", "sp"), ["spin", "spinners:"]),
        (("becalm", "simulate", "--", "spin", ""), []),
        (("becalm", "clock", "--timer", "barr"), ["barrier"]),
        (("becalm", "place", "--method", "s"), ["swap", "svm"]),
        (("becalm", "place", "--export", "s"), ["systemd"]),
        (("becalm", "place", "--objective", ""), ["degradation", "slowdown"]),
        (("becalm", "place", "simulate", "--method", "op"), ["optimal"]),
        (("becalm", "place", "simulate", "gcc", "li"), ["libquantum"]),
        (("becalm", "place", "simulate", "--programs", "own.toml", "li"), []),
        (("becalm", "migrate", "auto", "--llc", "o"), ["other"]),
        (("becalm", "apply", "pyp"), ["pyperf"]),
        (("becalm", "knobs", "--host", "lo"), ["local"]),
        (("becalm", "tune", "--method", "ra"), [row.name for row in api.search_methods() if row.name.startswith("ra")]),
        (("becalm", "export-settings", "llvm"), ["llvm-tips"]),
    ],
)
def test_bash_replaces_the_last_word_only(offered, words, expected):
    assert offered(*words) == expected


def test_a_name_is_followed_by_no_blank_in_bash(any_bash):
    assert "compopt -o nospace" in script("bash", group)


def leaves(command, name=""):
    if isinstance(command, click.Group):
        context = click.Context(command)
        for subcommand in command.list_commands(context):
            yield from leaves(command.get_command(context, subcommand), subcommand)
    else:
        yield name, command


NO_CANDIDATES = {
    "", "CODES", "N", "SHARE", "DURATION", "SIZE", "TEXT", "CMD", "LIST", "NAME", "WORD", "URL", "TIME", "K=V", "CPUS",
    "SPEC", "RULE", "SOURCE", "A B", "OLD=NEW", "NAME=VALUE", "NAME=VALUES", "NAME=PID", "all|NAME", "MODEL",
    "POWER", "NAME=GOAL", "NAME=RANGE", "KIND", "E=ABCD", "TIMES|DURATION", "NAME=NUMBER,…", "N|NAME", "RANGE",
    "COLUMN",
}  # fmt: skip
"""The metavars of values that cannot be listed; those of one option that can are found by its name."""


def test_every_option_that_takes_what_can_be_listed_offers_it():
    lacking = [
        f"{verb} {param.opts[0]} {param.metavar}"
        for verb, command in leaves(group)
        for param in command.params
        if isinstance(param, click.Option) and not param.is_flag and not isinstance(param.type, click.Choice)
        if param.metavar and param.metavar.partition("[")[0] not in NO_CANDIDATES
        if candidates.of(verb, param) is None
    ]
    assert lacking == []


def test_every_argument_offers_something_but_what_only_the_person_knows():
    designs = ("factorial", "plackett-burman", "box-behnken", "central")
    free = {("add", "name"), ("add", "url"), ("migrate", "pid"), ("migrate", "cpu"), ("prepare", "kernel")}
    free |= {("install-sudoers", "who")}
    free |= {(design, "factors") for design in designs}
    lacking = {
        (verb, param.name)
        for verb, command in leaves(group)
        for param in command.params
        if isinstance(param, click.Argument) and candidates.of(verb, param) is None
    }
    assert lacking == free


def test_words_that_are_offered_are_those_of_their_tables():
    assert list(candidates.PLACEMENTS) == [row.name for row in METHODS]
    assert api.options(api.PlaceOptions)["objective"].choices == tuple(PlacementObjective)
    assert list(candidates.PUBLISHED) == [program.name for program in published().programs]
    assert list(candidates._WORDS["--export"]) == list(FORMS)
    assert list(candidates.SIMULATED) == ["hackbench", "spin", *(f"{row.name}:" for row in patterns.TABLE)]
    machines = [path.stem for path in candidates.MACHINES.glob("*.toml")]
    assert sorted(machines) == names()
    assert [value for value in values(candidates.hosts("sim:")) if value[4:] in machines] != []


@pytest.fixture
def sessions(home, no_repository):
    """Record two sessions of a project and one of another."""
    for project, commit, baseline in (("parser", "1", None), ("parser", "2", "v1"), ("other", "3", "v2")):
        api.record(
            ["spin 20ms", "spin 30ms"], project=project, commit=commit, branch=f"of-{project}", tags=["nightly"],
            machine="ci", name_baseline=baseline, host="sim:drift", seed=1, runs=2,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("becalm", "history", ""), ["other", "parser"]),
        (("becalm", "history", "--baseline", "v"), ["v2", "v1"]),
        (("becalm", "record", "--project", "parser", "--branch", ""), ["of-parser"]),
        (("becalm", "history", "--branch", "of-p"), ["of-parser"]),
        (("becalm", "history", "--tag", ""), ["nightly"]),
        (("becalm", "record", "--machine", ""), ["ci"]),
        (("becalm", "show", ""), ["last", "3", "2", "1"]),
        (("becalm", "show", "la"), ["last"]),
        (("becalm", "compare", "--stored", "2"), ["2"]),
    ],
)
def test_names_of_what_was_recorded_are_offered(sessions, offered, words, expected):
    assert offered(*words) == expected


def test_benchmarks_are_offered_on_both_sides_of_the_sign(sessions):
    assert values(candidates.renamed("")) == ["spin 20ms=", "spin 30ms="]
    assert values(candidates.renamed("spin 20ms=s")) == ["spin 20ms=spin 30ms"]


def test_a_store_that_does_not_exist_is_not_created(home, offered):
    assert offered("becalm", "show", "") == []
    assert list(home.iterdir()) == []


def test_commands_inside_place_are_told_of_what_there_is_to_offer():
    place = group.get_command(click.Context(group), "place")
    offer(place)
    for name, option in (("simulate", "programs"), ("train", "save")):
        (parameter,) = (param for param in place.commands[name].params if param.name == option)
        assert isinstance(parameter.type, Offered)


def test_tags_and_branches_are_offered_after_the_head(monkeypatch):
    answer = SimpleNamespace(stdout="v1.2\nmain\n")
    monkeypatch.setattr(candidates, "subprocess", SimpleNamespace(run=lambda *words, **options: answer))
    assert values(candidates.revisions("")) == ["HEAD", "v1.2", "main"]
    assert values(candidates.revisions("v")) == ["v1.2"]
