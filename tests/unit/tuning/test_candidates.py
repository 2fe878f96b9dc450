"""The catalogue as a host reports it: what a search may try, and the reason for everything that it may not."""

import itertools

import pytest

from becalm.errors import UsageError
from becalm.methods.arms import Arms
from becalm.nouns.domain import Domain
from becalm.nouns.knob import Knob, catalogue, find
from becalm.nouns.search_space import Candidate, Group, Space
from becalm.nouns.settings import Settings
from becalm.tuning.candidates import NEEDS_ROOT, SearchLimits, candidates

SWITCH = Domain("on or off", ("on", "off"))
ALL = SearchLimits(consent=True, privileged=True, reboots=True)


def knob(name="governor", **values):
    usual = {
        "scope": "live", "group": "normal", "domain": SWITCH, "rationale": "", "costs": "heat", "privileged": "all",
        "tuned_value": "off", "value": "on",
    }  # fmt: skip
    return Knob(name, **{**usual, **values})


def of_program(name):
    return find(catalogue(), name)


def names(search_space):
    return [candidate.knob for candidate in search_space.candidates]


def test_candidates_keep_the_order_of_the_catalogue_and_what_they_are():
    rows = [
        knob("b", group="isolation", restricts_cpus=True),
        knob("a", requires=("b",), value=None),
        knob("none", tuned_value=None),
    ]
    search_space, excluded = candidates(rows, ALL, [("p", Settings.of({"b": "on"}))])
    assert names(search_space) == ["b", "a"]
    assert excluded == ()
    first, second = search_space.candidates
    assert (first.value, first.group, first.restricts_cpus) == ("off", Group.ISOLATION, True)
    assert second.requires == ("b",)
    assert search_space.profiles == (("p", Settings.of({"b": "on"})),)


@pytest.mark.parametrize(
    ("row", "wanted", "reason"),
    [
        (knob(), SearchLimits(only=("other",), privileged=True), "not among the requested settings"),
        (knob(), SearchLimits(without=("governor",), privileged=True), "left out on request"),
        (knob(scope="boot"), SearchLimits(privileged=True), "set at boot: this host does not reboot during a study"),
        (knob(supported=False, reason="no cpufreq"), ALL, "no cpufreq"),
        (knob(supported=False), ALL, "not supported here"),
        (knob(), SearchLimits(), "needs root: --sudo"),
        *((of_program(name), SearchLimits(consent=True), NEEDS_ROOT) for name in ("nice", "io_priority", "policy")),
        (knob(group="dangerous"), SearchLimits(privileged=True), "needs your consent: --dangerous"),
        (knob(restricts_cpus=True), SearchLimits(privileged=True, preserve_multicore=True),
         "keeps the program on fewer CPUs (--preserve-multicore)"),
        (knob(value="off"), ALL, "is off already"),
        (knob(requires=("isolcpus",)), ALL, "it has no effect without isolcpus"),
    ],
)  # fmt: skip
def test_each_reason(row, wanted, reason):
    rows = [row, knob("other")]
    search_space, excluded = candidates(rows, wanted)
    assert row.name not in names(search_space)
    assert {exclusion.knob: exclusion.reason for exclusion in excluded}[row.name] == reason
    assert ("other" in names(search_space)) is wanted.privileged, "the reason concerns this knob alone"


def test_consent_rights_and_reboots_bring_them_back():
    rows = [knob("a", group="dangerous"), knob("b", scope="boot"), of_program("nice")]
    assert names(candidates(rows, ALL)[0]) == ["a", "b", "nice"]
    assert names(candidates(rows, SearchLimits())[0]) == []
    own = [of_program("aslr"), of_program("slice_ns")]
    assert names(candidates(own, SearchLimits())[0]) == ["aslr", "slice_ns"], "need no rights"


def test_knobs_that_need_an_excluded_one_are_excluded_through_any_chain():
    rows = [knob("d", requires=("c",)), knob("a"), knob("b", requires=("a",)), knob("c", requires=("b",)), knob("e")]
    search_space, excluded = candidates(rows, SearchLimits(without=("a",), privileged=True))
    assert names(search_space) == ["e"]
    assert {exclusion.knob: exclusion.reason for exclusion in excluded} == {
        "a": "left out on request",
        "b": "it has no effect without a",
        "c": "it has no effect without b",
        "d": "it has no effect without c",
    }


def test_a_required_knob_that_is_already_set_excludes_nothing():
    rows = [knob("isolcpus", scope="boot", value="off"), knob("nohz_full", scope="boot", requires=("isolcpus",))]
    assert names(candidates(rows, ALL)[0]) == ["nohz_full"]


@pytest.mark.parametrize("wanted", [SearchLimits(only=("governer",)), SearchLimits(without=("governer",))])
def test_a_misspelt_knob_is_reported_with_the_nearest(wanted):
    with pytest.raises(UsageError, match="Did you mean 'governor'"):
        candidates([knob()], wanted)
    with pytest.raises(UsageError, match="becalm knobs"):
        find([knob()], "zzz")


def test_of_two_that_do_not_go_together_the_later_is_left_out_with_what_needs_it():
    first, second = Candidate("a", 1, Group.NORMAL), Candidate("b", 1, Group.NORMAL, conflicts=("a",))
    third = Candidate("c", 1, Group.NORMAL, requires=("b",))
    space = Space((first, second, third))
    assert space.settings((first, second, third)) == Settings.of({"a": 1})
    assert space.settings((second, third)) == Settings.of({"b": 1, "c": 1})
    arms = Arms(space, "cv")
    for chosen in itertools.product([False, True], repeat=3):
        indices = {index for index, there in enumerate(chosen) if there}
        sensible = arms.sensible(indices)
        assert arms.settings(sensible) == space.settings(space.candidates[i] for i in sorted(indices))
        assert len(sensible) == len(arms.settings(sensible).values)
