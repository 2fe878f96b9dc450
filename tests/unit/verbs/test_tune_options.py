"""No option of `tune` is ignored by any method: each changes what is measured or said, or is refused."""

import re

import pytest
from click.testing import CliRunner
from tests.unit.tuning.course import World

from becalm.cli.main import becalm
from becalm.errors import UsageError
from becalm.methods import TABLE
from becalm.nouns.option import options
from becalm.nouns.options.tune import CHOOSING, SEARCHING, TuneOptions
from becalm.verbs import tune as verb

VALUES = {
    "budget": "6min",
    "confidence": 0.6,
    "minimize": "time",
    "objective": "mad",
    "threshold": "90%",
    "margin": "900%",
    "loops": 2,
    "runs": 6,
    "warmups": 2,
    "most_runs": 40,
    "abort_above": "3x",
    "only": ("aslr", "governor"),
    "without": ("aslr",),
    "factors": ("slice_ns",),
    "preserve_multicore": True,
    "confirm_loops": 5,
    "confirm_runs": 7,
    "single_out": False,
    "compare_profiles": False,
    "tried": ("pyperf",),
    "design": "composite",
    "path": "slice",
    "probes": 5,
    "swarm": "omega=0.3",
    "sampler": "gp",
    "schedule": "auto",
}
"""A value for each option that is not the default."""

REFUSED = {
    "tried": "--try",
    "minimize": "minimizes spread, not time",
    "factors": "--factor sweeps one setting for the spread",
    "design": "--design is for --method surface, not for",
    "path": "--path is for --method golden, not for",
    "probes": "--probes is for --method golden, not for",
    "sampler": "--sampler is for --method bayes, not for",
    "swarm": "--swarm is for --method swarm, not for",
    "schedule": "--schedule applies to the confirmation of mean times",
}
"""The options that are refused with a method, and the message."""

WHILE_RUNNING = {"abort_above"}
"""The options that change no plan, but how long a run of it may take (tests/unit/verbs/test_tune_time.py)."""

USUAL = {"host": "sim:small", "seed": 3, "budget": "35min"}


@pytest.fixture
def plan(trouble, monkeypatch):
    """A function that returns what a study with some options measures and concludes, on a world that answers at
    once."""

    def conducted(opened, course, expected=""):
        # Settings off the list do harm, so that every method has something to choose.
        world = World({"aslr": 0.4, "governor": 0.5, "swap": 1.5, "turbo": 1.3})
        tuned, requests, _ = world.conduct(course.phases())
        result = [
            (request.phase, request.ask.arms, request.ask.loops, request.ask.runs, request.ask.warmups)
            for request in requests
        ]
        return result, tuned.judged.comparisons, tuned.judged.contributions, tuned.judged.settings

    def make_options(**values):
        return verb.tune(["p"], **{**USUAL, **values})

    monkeypatch.setattr(verb, "measure_tune", conducted)
    return make_options


def test_every_option_is_tried_here():
    assert {*VALUES, "method"} == set(options(TuneOptions))


@pytest.mark.parametrize("method", [row.name for row in TABLE if "spread" in row.minimizes])
def test_every_option_changes_the_plan_of_every_method_or_is_refused(plan, method):
    # A race goes on as long as it may.
    same = {"method": method, "budget": "12min" if method == "race" else USUAL["budget"]}
    usual = plan(**same)
    assert plan(**same) == usual
    for name, value in VALUES.items():
        if name in WHILE_RUNNING:
            assert plan(**{**same, name: value}) == usual
        elif name in REFUSED:
            with pytest.raises(UsageError, match=REFUSED[name]):
                plan(**{**same, name: value})
        else:
            assert plan(**{**same, name: value}) != usual, f"--{name} changes nothing with --method {method}"


def test_loops_runs_and_warmups_are_those_of_every_trial_of_every_method(plan):
    for row in (method for method in TABLE if "spread" in method.minimizes):
        requests, *_ = plan(method=row.name, loops=2, runs=6, warmups=2)
        # A race decides some things by trials of twice as many loops.
        searched = [request for request in requests if request[0] == "search"]
        assert {request[3:] for request in searched} == {(6, 12)}
        assert {request[2] for request in searched} <= {2, 4}


@pytest.mark.parametrize("name", [*SEARCHING, *CHOOSING])
def test_options_of_a_search_are_refused_with_try(plan, name):
    value = "greedy" if name == "method" else VALUES[name]
    flag = options(TuneOptions)[name].flag
    with pytest.raises(UsageError, match=f"--try does not search, so {flag} would have no effect"):
        plan(tried=("pyperf",), **{name: value})


def test_a_margin_without_contributions_is_refused(plan):
    with pytest.raises(UsageError, match="--margin applies to the effect of each setting"):
        plan(margin="5%", single_out=False)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"factors": ("slice_ns",), "only": ("aslr",), "minimize": "time"}, "Leave one of them out"),
        ({"threshold": "1%", "minimize": "time"}, "--threshold is a limit on the spread"),
        ({"runs": 1}, "--runs must be at least 2"),
    ],
)
def test_options_that_contradict_each_other_are_refused(plan, values, message):
    with pytest.raises(UsageError, match=message):
        plan(**values)


@pytest.mark.parametrize("values", [{"budget": "1h"}, {"host": "local"}, {"seed": 3}, {"dangerous": True}])
def test_options_alongside_resume_are_refused(plan, values):
    with pytest.raises(UsageError, match=f"leave out '{next(iter(values))}'"):
        verb.tune(resume=1, **values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["--method", "swarm", "--swarm", "omega=0.4,speed=3"], "--swarm has no 'speed'"),
        (["--abort-above", "3"], "Write 3x for a multiple of the best time so far, or 3s"),
        (["--abort-above", "1.2x"], "must be at least 1.5x"),
        (["--abort-above", "soon"], "a multiple of the best time so far, such as 3x, or a duration"),
        (["--method", "golden", "--path", "diagonal:fast"], ":log or :linear, not by :fast"),
        (["--method", "swarm", "--path", "slice"], "--path is for --method golden, not for swarm"),
        (["--method", "bayes", "--sampler", "gauss"], "--sampler is one of tpe, gp|Invalid value for '--sampler'"),
    ],
)
def test_options_of_one_method_are_read_from_the_command_line(store, values, message):
    ran = CliRunner().invoke(
        becalm,
        ["tune", "--minimize", "time", "--factor", "sched_latency_ns", "--host", "sim:scheduler", *values, "--", "p"],
    )
    assert re.search(message, f"{ran.output}{ran.exception}")
