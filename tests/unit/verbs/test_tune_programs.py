"""Factors of one's own: all combinations on two machines, the best on the others, and a promise for one more."""

import json

import pytest
from click.testing import CliRunner

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import UsageError
from becalm.report import forms
from becalm.verbs.tune_programs import own_factors

HOSTS = ["sim:normal", "sim:drift", "sim:bursts"]


def chosen(**options):
    return becalm.tune_programs(
        "spin {n}ms", **{"factors": {"n": "20,22,24,26,28,30"}, "runs": 5, "seed": 1, **options}
    )


def test_machines_are_the_units_and_the_best_are_measured_on_all(store):
    choice = chosen(hosts=HOSTS)
    assert choice.chosen.factors == {"n": "20"}
    assert (choice.unit, choice.units, choice.value_unit) == ("machine", tuple(HOSTS), "ns")
    assert choice.chosen.mean == pytest.approx(20e6, rel=0.1)
    assert choice.chosen.promise > choice.chosen.worst
    assert sorted(configuration.units for configuration in choice.configurations) == [2, 2, 3, 3, 3, 3]
    assert choice.next == ()
    assert len(choice.studies) == 3
    forms.draw_all(choice)


def test_sessions_on_one_machine_tell_nothing_of_another(store):
    choice = chosen(host="sim:normal", factors={"n": "20,22"})
    assert (choice.unit, len(choice.units)) == ("session", 3)
    assert "what another one gives is not known" in choice.sentence
    assert chosen(hosts=["sim:normal"], factors={"n": "20,22"}).units == choice.units


def test_factors_that_stand_in_a_command_are_ones_own():
    assert own_factors(["prog {n} {m}"], ["n=1,2", "m=a,b"]) == {"n": "1,2", "m": "a,b"}
    assert own_factors(["prog"], ["slice_ns=1..2ms"]) == {}
    with pytest.raises(UsageError, match="'slice_ns' stands in no command"):
        own_factors(["prog {n}"], ["n=1,2", "slice_ns"])
    with pytest.raises(UsageError, match="Which values does n take"):
        own_factors(["prog {n}"], ["n"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "race"}, "--method is about searching"),
        ({"reference": 1}, "--reference is about"),
        ({"factors": {"n": "20"}}, "a single configuration"),
    ],
)
def test_options_without_effect_are_refused(options, message, store):
    with pytest.raises(UsageError, match=message):
        chosen(**options)


def invoke(*words):
    return CliRunner().invoke(group, ["tune", *words])


def test_on_the_command_line(store):
    hosts = [word for host in HOSTS for word in ("--host", host)]
    done = invoke("--factor", "n=20,22", *hosts, "--seed", "1", "--budget", "1s", "--json", "--", "spin", "{n}ms")
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["chosen"]["factors"] == {"n": "20"}
    for words, message in (
        (("--factor", "cfg=0,1", "true"), r"write \{cfg\} into the command"),
        (("--factor", "n=1,2", "--save", "x", "spin {n}ms"), "--save is for settings"),
        (("--factor", "n=1,2", "--minimize", "spread", "spin {n}ms"), "leave out --minimize spread"),
    ):
        with pytest.raises(UsageError, match=message):
            raise invoke(*words).exception
