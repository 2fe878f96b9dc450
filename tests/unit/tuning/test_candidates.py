"""The catalogue as a host reports it: what a search may try, and the reason for everything that it may not."""

import itertools

import pytest

from becalm.errors import UsageError
from becalm.methods.arms import Arms
from becalm.nouns.knob import Knob, find
from becalm.nouns.search_space import Candidate, Group, Space
from becalm.nouns.settings import Settings
from becalm.tuning.candidates import NEED_RIGHTS, SearchLimits, candidates

ALL = SearchLimits(consent=True, privileged=True, reboots=True)


def knob(name="governor", **given):
    usual = {"scope": "live", "group": "normal", "domain": "", "matters": "", "costs": "heat", "supported": True}
    return Knob(name, **{**usual, "steady": "off", "value": "on", **given})


def names(found):
    return [each.knob for each in found.candidates]


def test_rows_of_an_agent_that_knows_more_are_read():
    row = {
        "name": "x", "scope": "live", "group": "normal", "domain": "d", "matters": "m", "costs": "c", "supported": True,
        "steady": 20, "value": 1, "choices": ["a"], "needs": ["b"], "invented_later": 7,
    }  # fmt: skip
    read = Knob.from_json(row)
    assert (read.steady, read.value, read.choices, read.needs) == ("20", "1", ("a",), ("b",))
    assert Knob.from_json({**row, "steady": None, "value": None, "choices": None}).steady is None


def test_candidates_keep_the_order_of_the_catalogue_and_what_they_are():
    rows = [knob("b", group="isolation", confines=True), knob("a", needs=("b",), value=None), knob("none", steady=None)]
    found, excluded = candidates(rows, ALL, [("p", Settings.of({"b": "on"}))])
    assert names(found) == ["b", "a"]
    assert excluded == ()
    first, second = found.candidates
    assert (first.value, first.group, first.confines) == ("off", Group.ISOLATION, True)
    assert second.needs == ("b",)
    assert found.profiles == (("p", Settings.of({"b": "on"})),)


@pytest.mark.parametrize(
    ("row", "wanted", "reason"),
    [
        (knob(), SearchLimits(only=("other",), privileged=True), "not among those asked for"),
        (knob(), SearchLimits(without=("governor",), privileged=True), "left out as asked"),
        (knob(scope="boot"), SearchLimits(privileged=True), "set at boot: this host does not reboot during a study"),
        (knob(supported=False, reason="no cpufreq"), ALL, "no cpufreq"),
        (knob(supported=False), ALL, "not supported here"),
        (knob(), SearchLimits(), "needs root: --sudo"),
        *((knob(name, scope="process"), SearchLimits(), "needs root: --sudo") for name in NEED_RIGHTS),
        (knob(group="dangerous"), SearchLimits(privileged=True), "needs your consent: --dangerous"),
        (knob(confines=True), SearchLimits(privileged=True, preserve_multicore=True),
         "keeps the program on fewer CPUs (--preserve-multicore)"),
        (knob(value="off"), ALL, "is off already"),
        (knob(needs=("isolcpus",)), ALL, "it has no meaning without isolcpus"),
    ],
)  # fmt: skip
def test_each_reason(row, wanted, reason):
    rows = [row, knob("other")]
    found, excluded = candidates(rows, wanted)
    assert row.name not in names(found)
    assert {each.knob: each.reason for each in excluded}[row.name] == reason
    assert ("other" in names(found)) is wanted.privileged, "the reason concerns this knob alone"


def test_consent_rights_and_reboots_bring_them_back():
    rows = [knob("a", group="dangerous"), knob("b", scope="boot"), knob("nice", scope="process")]
    assert names(candidates(rows, ALL)[0]) == ["a", "b", "nice"]
    assert names(candidates(rows, SearchLimits())[0]) == []
    aslr = knob("aslr", scope="process")
    assert names(candidates([aslr], SearchLimits())[0]) == ["aslr"], "needs no rights"


def test_what_needs_what_is_left_out_goes_with_it_however_long_the_chain():
    rows = [knob("d", needs=("c",)), knob("a"), knob("b", needs=("a",)), knob("c", needs=("b",)), knob("e")]
    found, excluded = candidates(rows, SearchLimits(without=("a",), privileged=True))
    assert names(found) == ["e"]
    assert {each.knob: each.reason for each in excluded} == {
        "a": "left out as asked",
        "b": "it has no meaning without a",
        "c": "it has no meaning without b",
        "d": "it has no meaning without c",
    }


def test_what_is_needed_and_already_on_does_not_keep_back_what_needs_it():
    rows = [knob("isolcpus", scope="boot", value="off"), knob("nohz_full", scope="boot", needs=("isolcpus",))]
    assert names(candidates(rows, ALL)[0]) == ["nohz_full"]


@pytest.mark.parametrize("wanted", [SearchLimits(only=("governer",)), SearchLimits(without=("governer",))])
def test_a_misspelt_knob_is_said_with_the_nearest(wanted):
    with pytest.raises(UsageError, match="Did you mean 'governor'"):
        candidates([knob()], wanted)
    with pytest.raises(UsageError, match="becalm knobs"):
        find([knob()], "zzz")


def test_of_two_that_do_not_go_together_the_later_is_left_out_with_what_needs_it():
    first, second = Candidate("a", 1, Group.NORMAL), Candidate("b", 1, Group.NORMAL, against=("a",))
    third = Candidate("c", 1, Group.NORMAL, needs=("b",))
    made = Space((first, second, third))
    assert made.settings((first, second, third)) == Settings.of({"a": 1})
    assert made.settings((second, third)) == Settings.of({"b": 1, "c": 1})
    arms = Arms(made, "cv")
    for chosen in itertools.product([False, True], repeat=3):
        asked = {index for index, there in enumerate(chosen) if there}
        sensible = arms.sensible(asked)
        assert arms.settings(sensible) == made.settings(made.candidates[i] for i in sorted(asked))
        assert len(sensible) == len(arms.settings(sensible).values)
