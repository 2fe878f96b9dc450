"""Candidates of a search, as studies store them."""

from becalm.nouns.factor import Factor
from becalm.nouns.search_space import Candidate, Group, Space
from becalm.nouns.settings import Settings

SPACE = Space(
    (
        Candidate("isolcpus", "last-core", Group.ISOLATION, restricts_cpus=True),
        Candidate("nohz_full", "last-core", Group.ISOLATION, requires=("isolcpus",)),
        Candidate("isolation", "first-core", Group.ISOLATION, conflicts=("isolcpus",)),
    ),
    (("mine", Settings.of({"nice": -5})),),
    ("isolcpus", "nohz_full"),
)


def test_it_comes_back_as_it_was():
    assert Space.from_json(SPACE.to_json()) == SPACE


def test_a_study_of_an_earlier_version_is_read():
    stored = {
        "candidates": [
            {"knob": "isolcpus", "value": "last-core", "group": "isolation", "needs": [], "confines": True,
             "against": []},
            {"knob": "nohz_full", "value": "last-core", "group": "isolation", "needs": ["isolcpus"], "confines": False,
             "against": []},
            {"knob": "isolation", "value": "first-core", "group": "isolation", "needs": [], "confines": False,
             "against": ["isolcpus"]},
        ],
        "profiles": [["mine", {"nice": -5}]],
        "boot": ["isolcpus", "nohz_full"],
    }  # fmt: skip
    assert Space.from_json(stored) == SPACE


def test_factors_are_kept_and_make_settings():
    factors = (Factor.parse("slice=0.1..100:log"), Factor("policy", choices=("other", "batch")))
    space = Space((), factors=factors)
    assert Space.from_json(space.to_json()) == space
    assert space.at({"slice": 3.0, "policy": "batch", "other": 1}).to_json() == {"slice": 3, "policy": "batch"}
    assert space.at({"policy": "other"}).to_json() == {"policy": "other"}
    assert "factors" not in Space(()).to_json(), "stored searches of candidates keep their form"
