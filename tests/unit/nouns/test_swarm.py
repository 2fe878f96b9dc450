"""Parameters of a swarm as people write them."""

import pytest

from becalm.errors import UsageError
from becalm.nouns.options.tune import TuneOptions
from becalm.nouns.swarm import SwarmParameters


def test_the_published_numbers_are_the_usual_ones():
    assert SwarmParameters() == SwarmParameters(0.4365, 3.020, 3.020, 20, 30, 60)
    assert SwarmParameters.parse("") == SwarmParameters()
    assert SwarmParameters().spelled == ""


def test_they_are_given_by_name_and_spelled_back():
    parameters = SwarmParameters.parse("omega=0.3, phi=1.5, particles=8")
    assert parameters == SwarmParameters(0.3, 1.5, 1.5, 8)
    assert SwarmParameters.parse(parameters.spelled) == parameters
    assert SwarmParameters.parse({"phi_g": 2.0}).phi_p == 3.020
    assert SwarmParameters.parse("phi=2,phi_p=1") == SwarmParameters(phi_p=1.0, phi_g=2.0)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("omega", "numbers by name"),
        ("omega=fast", "not 'omega=fast'"),
        ("speed=3", "has no 'speed'. It has phi, omega"),
        ("omega=1.2", "from -1 to 1, not 1.2"),
        ("particles=2.5", "whole number, not 2.5"),
        ("evaluations=1", "from 2 to"),
        ("phi=nan", "numbers by name"),
    ],
)
def test_invalid_swarm_parameters_are_refused(text, match):
    with pytest.raises(UsageError, match=match):
        SwarmParameters.parse(text)


def test_a_study_keeps_them():
    options = TuneOptions(swarm=SwarmParameters(0.1, 1.0, 2.0))
    assert TuneOptions.from_json(options.to_json()) == options
