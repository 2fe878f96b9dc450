"""A survey from the command line and the API, on simulated machines of which one is slow and one is noisy."""

import json
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from tests.support.store_examples import run

from becalm import hosts
from becalm.analysis.survey import UNKNOWN, conclude
from becalm.cli.main import becalm
from becalm.errors import Interrupted, UsageError, WorkloadError
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.results.survey import Machine
from becalm.store import Store
from becalm.verbs.records import show_together
from becalm.verbs.survey import survey
from becalm.wording.numbers import duration

NAMES = [f"sim:normal:{seed}" for seed in range(1, 13)]


@pytest.fixture
def odd(monkeypatch):
    """sim:normal:5 is slower by 8 %."""
    real = hosts.open

    def opened(name="local", access=None):
        host = real(name, access)
        if name == "sim:normal:5":
            host._base = lambda workload: 21_600_000
        return host

    monkeypatch.setattr(hosts, "open", opened)


def test_the_slow_one_is_named_with_a_sentence(store, odd):
    verdict = survey(NAMES, "spin 20ms", kernels=(), seed=1)
    assert [(machine.host, machine.how) for machine in verdict.named] == [("sim:normal:5", "slower")]
    (named,) = verdict.named
    assert named.size.low < 0.08 < named.size.high
    assert named.sentence.startswith("sim:normal:5 is ")
    assert named.sentence.endswith("than its 11 peers at spin 20ms.")
    assert "1 of 12 machines flagged" in verdict.sentence
    with Store.open(store) as opened:
        studies = [opened.study(number) for number in verdict.studies.values()]
    assert {study.study.options["group"] for study in studies} == {verdict.group}
    # Two warm-ups, then ten loops of ten.
    assert all(study.runs == 102 for study in studies)
    assert all(study.study.kind == "survey" for study in studies)


def test_the_store_says_it_again(store, odd):
    verdict = survey(NAMES, "spin 20ms", kernels=(), seed=1, at_least=0.02)
    assert show_together("last") == verdict


def test_equal_machines_are_not_named(store):
    verdict = survey(NAMES, "spin 20ms", kernels=(), seed=1)
    assert verdict.named == ()
    assert "none is an outlier" in verdict.sentence


def test_few_machines_are_listed_and_not_named(store):
    verdict = survey(NAMES[:3], "spin 20ms", kernels=(), seed=1)
    assert len(verdict.rows) == 3
    assert verdict.rows[0].slower_q is None
    assert "3 machines measured, too few of a kind" in verdict.sentence
    assert [finding.kind for finding in verdict.findings] == ["few"]


def test_a_machine_that_fails_is_reported_and_the_others_go_on(store):
    with pytest.raises(WorkloadError):
        survey(NAMES[:2], "other", kernels=())
    verdict = survey([*NAMES[:7], "null"], kernels=(), command="other", seed=1)
    assert set(verdict.lost) == set(NAMES[:7])
    assert "7 machines returned no result" in verdict.sentence


def test_an_interrupted_survey_ends_as_one_and_not_as_if_a_machine_were_lost(store, monkeypatch):
    module = sys.modules[survey.__module__]
    whole = module._measured

    def measured(works, options, session):
        if session.host == NAMES[1]:
            raise Interrupted("Interrupted before it was its turn.")
        return whole(works, options, session)

    monkeypatch.setattr(module, "_measured", measured)
    verdict = survey(NAMES[:2], "spin 20ms", kernels=(), seed=1)
    assert set(verdict.lost) == {NAMES[1]}
    assert (verdict.interrupted, verdict.exit_code) == (True, 130)
    assert verdict.to_json()["interrupted"] is True
    assert "Interrupted; the result is of what was measured until then." in verdict.sentence


def test_the_store_says_that_a_survey_was_interrupted(store):
    """After a part of the loops of one machine, and before another had given enough of them."""
    options = {"group": "g", "loops": 10, "runs_of_loop": 2}
    for name, loops in zip(NAMES, (10, 7, 1), strict=False):
        study = Study("survey", (Workload.of("spin 20ms"),), options=options, host=name)
        with Store.open(store) as opened:
            number = opened.begin(study, {})
            opened.append(number, [run(seq, wall_ns=10**7 + seq, workload=0, round=seq) for seq in range(2 * loops)])
    verdict = show_together("last")
    assert (verdict.interrupted, verdict.exit_code, set(verdict.lost)) == (True, 130, {NAMES[2]})
    assert f"until then; {NAMES[1]} gave fewer loops than requested." in verdict.sentence


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"loops": 3}, "at least"),
        ({"kernels": ("multiply",)}, "no kernel 'multiply'"),
        ({"kernels": ()}, "nothing to measure"),
        ({"fdr": "100%"}, "between 0 and 1"),
        ({"hosts": []}, "Name a host"),
    ],
)
def test_invalid_surveys_are_refused(store, arguments, words):
    with pytest.raises(UsageError, match=words):
        survey(**{"hosts": NAMES[:2], **arguments})


def machine(host, rng, *, times=1.0, spread=0.02, kind="X", share=0.0):
    runs = 1e7 * times * np.exp(spread * rng.standard_normal((10, 10)))
    return Machine(host, kind, None, {"additions": runs}, share)


def test_peers_are_machines_of_the_same_processor():
    """A kind that is slower as a whole has no slow machine in it."""
    rng = np.random.default_rng(1)
    fast = [machine(f"fast-{n}", rng) for n in range(20)]
    slow = [machine(f"slow-{n}", rng, times=1.5, kind="Y") for n in range(20)]
    noisy = machine("noisy", rng, spread=0.06)
    verdict = conclude([*fast, *slow, noisy], {}, group="g")
    assert [(machine.host, machine.how) for machine in verdict.named] == [("noisy", "noisier")]
    assert verdict.named[0].size.low < 3 < verdict.named[0].size.high
    assert verdict.named[0].sentence.startswith("noisy varies ")
    assert {kind.kind: kind.machines for kind in verdict.kinds} == {"X": 21, "Y": 20}


def test_small_slownesses_are_not_worth_a_name():
    rng = np.random.default_rng(2)
    usual = [machine(f"m{n}", rng, spread=0.0005) for n in range(40)]
    odd = machine("odd", rng, times=1.005, spread=0.0005)
    assert conclude([*usual, odd], {}, group="g").named == ()
    (named,) = conclude([*usual, odd], {}, group="g", at_least=0.002).named
    assert named.host == "odd"


def test_a_busy_machine_is_remarked():
    rng = np.random.default_rng(3)
    verdict = conclude([machine("a", rng, share=0.2), machine("b", rng, share=None)], {}, group="g")
    assert verdict.findings[0].sentence.startswith("a was not idle: the work waited 20 % of its time for a CPU.")
    assert verdict.findings[0].numbers["host"] == "a"


def test_a_machine_without_a_processor_of_its_own_is_remarked():
    rng = np.random.default_rng(3)
    guest = replace(machine("guest:6.1", rng), emulated="no KVM")
    (finding, _) = conclude([machine("a", rng), guest], {}, group="g").findings
    assert finding.sentence == "Times on guest:6.1 are emulated (no KVM): they say nothing about a real processor."


def invoke(*arguments):
    return CliRunner().invoke(becalm, arguments, standalone_mode=False)


def test_the_command_line(store, odd):
    arguments = ["survey", "--no-kernels", "--seed", "1"]
    for name in NAMES:
        arguments += ["--host", name]
    done = invoke(*arguments, "--json", "spin 20ms")
    value = json.loads(done.output)
    assert done.exception.code == 1
    assert value["kind"] == "survey"
    assert [machine["host"] for machine in value["named"]] == ["sim:normal:5"]
    assert len(value["rows"]) == 12
    assert value["rows"][0]["kind"] == UNKNOWN
    shown = invoke(*arguments, "--plain", "spin 20ms").output
    assert "sim:normal:5 is " in shown
    assert "against" in shown
    assert duration(value["rows"][4]["time_ns"]) in shown


def test_without_machines_it_says_how_to_name_them():
    done = invoke("survey")
    assert isinstance(done.exception, UsageError)
    assert "--cluster" in str(done.exception)


@pytest.mark.parametrize(("natural", "phi", "message"), [(0.6, 0.8, True), (0.0, 0.8, False), (0.6, 0.0, False)])
def test_where_the_rate_is_not_kept_the_verdict_says_so(natural, phi, message):
    rng = np.random.default_rng(5)
    white = rng.standard_normal((200, 150))
    for at in range(1, 150):
        white[:, at] = phi * white[:, at - 1] + np.sqrt(1 - phi * phi) * white[:, at]
    sizes = 0.02 * np.exp(natural * rng.standard_normal(200))
    times = 1e7 * np.exp(sizes[:, None] * white[:, 50:]).reshape(200, 10, 10)
    machines = [Machine(f"m{at}", "cpu", None, {"work": machine}) for at, machine in enumerate(times)]
    findings = [finding for finding in conclude(machines, {}, group="g").findings if finding.kind == "rate_not_kept"]
    assert bool(findings) == message
    if message:
        assert "up to one in ten of those named there may be named wrongly" in findings[0].sentence
        assert findings[0].numbers["memory"] == pytest.approx(0.25, abs=0.1)


def test_only_with_others_are_they_said_to_continue(store):
    words = ["survey", "--no-kernels", "--loops", "5", "--runs", "2", "--host", "sim:normal:1"]
    alone = CliRunner().invoke(becalm, [*words, "--", "other"])
    assert isinstance(alone.exception, WorkloadError)
    assert "the others continue" not in alone.stderr
    two = CliRunner().invoke(becalm, [*words, "--host", "sim:normal:2", "--", "other"])
    assert "sim:normal:2 has no result, the others continue: " in two.stderr
