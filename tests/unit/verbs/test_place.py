"""`becalm.place`: what is advised by a profile and by costs of one's own, and what is refused in a sentence."""

import json

import numpy as np
import pytest
from msgspec import structs
from tests.unit.analysis.corun_cases import profile
from tests.unit.analysis.test_place_gain import SOLO, TRUE

import becalm
from becalm.errors import UsageError
from becalm.results.place import Gain, SharingShape
from becalm.results.place_costs import Chip
from becalm.wording import place as wording

SIM = "sim:laptop-a"
ONE = (Chip(2, cpus=(0, 1)),)


def saved(path, measured):
    path.write_text(json.dumps(measured.to_json()))
    return str(path)


@pytest.fixture
def advise(tmp_path):
    """Saves a profile and says what is advised by it."""

    def advised(costs=TRUE, solo=SOLO, *, changed=lambda measured: measured, place=None, **options):
        options.setdefault("machine", {})
        return becalm.place(
            saved(tmp_path / "profile.json", changed(profile(costs, solo, **options))), host=SIM, **(place or {})
        )

    return advised


def test_one_cache_is_shared_in_rounds(advise):
    advice = advise(chips=ONE)
    assert advice.shape is SharingShape.ROUNDS
    assert {frozenset(names) for names in advice.sharing} == {frozenset(("t0", "t1")), frozenset(("t2", "t3"))}
    assert advice.cost == pytest.approx(2 / 0.98, rel=0.05)
    assert advice.alone_s == pytest.approx(4, rel=0.05)
    assert "All CPUs share one cache" in advice.sentence
    assert "less time than random rounds" in advice.sentence
    assert advice.cpus_of("t0") == (0, 1)
    longer = structs.replace(advice, over_random=Gain(-0.18))
    assert "18 % more time than random rounds" in wording.sentence(longer)


def test_pairs_that_were_not_measured_could_change_the_advice(advise):
    """The best pair of four programs that cost each other a tenth or a half was not measured and is avoided."""
    costs = np.full((4, 4), 0.5)
    costs[0, 1] = costs[1, 0] = costs[2, 3] = costs[3, 2] = 0.1
    advice = advise(costs, np.ones(4), chips=ONE, left_out=[("t0", "t1")])
    assert advice.unmeasured == (("t0", "t1"),)
    assert advice.resting_on == ()
    # t0 and t1 alone take 1 s each; if they cost each other nothing, 1 s together. t2 and t3 take 1 / 0.9 s.
    assert advice.cost == pytest.approx(2 + 1 / 0.9, rel=0.05)
    assert advice.could_change == pytest.approx(1, rel=0.05)


def test_where_there_is_one_way_to_share_nothing_is_reported_of_noise(advise):
    advice = advise(np.full((2, 2), 0.1), np.ones(2), chips=(Chip(2),))
    assert advice.sentence == (
        "There is nothing to choose: all sharings cost the same. The choice would be t0 with t1."
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "best"}, "no placement 'best'"),
        ({"objective": "speed"}, "objective is one of degradation, slowdown, not 'speed'"),
        ({"chips": "two"}, "does not describe chips"),
        ({"budget": 0}, "A duration must be more than zero"),
    ],
)
def test_options_that_cannot_be(advise, options, message):
    with pytest.raises(UsageError, match=message):
        advise(place=options)


COSTS = {
    "kind": "co-run-costs",
    "tasks": [{"name": letter, "solo_s": 1.0} for letter in "abc"],
    "chips": [{"cores": 2}, {"cores": 1}],
    "costs": {
        "pairs": [
            {"task": name, "alongside": other, "cost": 0.1 if "c" in name + other else 0.3, "error": 0.01}
            for name in "abc"
            for other in "abc"
            if name != other
        ]
    },
}


def from_file(tmp_path, value):
    (tmp_path / "costs.json").write_text(value if isinstance(value, str) else json.dumps(value))
    return becalm.place(str(tmp_path / "costs.json"), host=SIM)


def with_pair(**changed):
    first, *others = COSTS["costs"]["pairs"]
    return {**COSTS, "costs": {"pairs": [{**first, **changed}, *others]}}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "is neither a profile of programs"),
        ({"kind": "run"}, "is neither a profile of programs"),
        ({**COSTS, "tasks": []}, "has no tasks"),
        ({**COSTS, "tasks": [{"name": "a", "solo_s": -1}]}, "solo_s of a is -1. It is a number above 0."),
        ({**COSTS, "tasks": COSTS["tasks"][:2]}, "has a cost of 'c', which is not among its tasks"),
        (with_pair(task="A"), "has a cost of 'A', which is not among its tasks. Did you mean 'a'?"),
        ({**COSTS, "comands": {}}, "unknown key 'comands'. Did you mean 'commands'?"),
        ({**COSTS, "commands": {"d": ["d"]}}, "has a command of 'd', which is not among its tasks"),
        ({**COSTS, "tasks": [{"name": "a", "solo": 1}]}, "tasks of .* unknown key 'solo'. Did you mean 'solo_s'?"),
        (with_pair(alongsides="b"), "pairs of .* unknown key 'alongsides'. Did you mean 'alongside'?"),
        ({**COSTS, "chips": [{"cores": 0}]}, "has no room"),
        ({**COSTS, "chips": "many"}, "cannot be read"),
        (with_pair(cost=float("nan")), "is nan, which is not a number"),
        (with_pair(cost=-0.5), "below zero by more than its noise"),
        (with_pair(cost=1.5), "A cost is the share of speed that is lost"),
        (with_pair(error=-1), "It is a number from 0"),
        ({**COSTS, "costs": {"pairs": []}}, "There are no costs"),
    ],
)
def test_files_that_cannot_be_are_reported_in_a_sentence(tmp_path, value, message):
    with pytest.raises(UsageError, match=message):
        from_file(tmp_path, value)


def test_no_such_profile(tmp_path, store):
    with pytest.raises(UsageError, match="cannot be read: No such file or directory"):
        becalm.place("nowhere.json", host=SIM)
    with pytest.raises(UsageError, match="has no profile of programs"):
        becalm.place(host=SIM)
    becalm.run("spin 20ms", host="sim:drift", runs=5, seed=1)
    with pytest.raises(UsageError, match="Study 1 is not a finished profile of programs"):
        becalm.place("1", host=SIM)


def test_machines_that_hide_their_caches_are_warned_of():
    assert wording.machine({"virtualisation": {"container": None, "guest": False}}, 2) == []
    (sentence,) = wording.machine({"virtualisation": {"container": "docker", "guest": False}}, 2)
    assert sentence.startswith("This is a container (docker)")
    (sentence,) = wording.machine({"virtualisation": {"container": None, "guest": True}}, 1)
    assert "only the hypervisor reports that all CPUs share one cache" in sentence
