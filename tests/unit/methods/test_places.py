"""Places of factors as coordinates."""

import numpy as np

from becalm.methods.places import Places
from becalm.nouns.domain import Scale
from becalm.nouns.factor import Factor
from becalm.nouns.search_space import Space

SPACE = Space(
    (),
    factors=(
        Factor("slice", 1e5, 1e9, "ns", Scale.LOG, whole=True),
        Factor("policy", choices=("other", "batch", "idle")),
    ),
)


def test_a_range_has_one_coordinate_and_each_choice_one_of_its_own():
    places = Places(SPACE)
    assert places.size == 4
    assert dict(places.settings(np.array([0.0, -0.2, 0.1, -1.0])).values) == {"slice": 10**7, "policy": "batch"}
    assert dict(places.settings(np.array([-1.0, 0.5, 0.1, 0.4])).values) == {"slice": 10**5, "policy": "other"}


def test_scattered_places_are_in_every_part_of_a_range_and_at_every_choice():
    at = Places(SPACE).scatter(12, np.random.default_rng(0))
    assert at.shape == (12, 4)
    assert sorted(np.floor((at[:, 0] + 1) * 6).astype(int)) == list(range(12))
    assert (at[:, 1:] == 1).sum(axis=0).tolist() == [4, 4, 4]
    assert ((at[:, 1:] == 1).sum(axis=1) == 1).all()


def test_no_factors_no_coordinates():
    assert Places(Space(())).scatter(3, np.random.default_rng(0)).shape == (3, 0)
