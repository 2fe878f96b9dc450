"""An evaluation of the machine that the tests run on."""

from tests.unit.report.test_doctor import screen

from becalm.verbs.doctor import doctor


def test_the_real_machine():
    found = doctor(budget=1.0)
    assert found.noise.runs > 0
    assert found.noise.median_ns > 0
    assert found.overhead.bare_ns > 0
    assert found.facts["cpu"]["count"] >= 1
    for ability in found.facts["abilities"]:
        assert ability["have"] is True or ability["reason"]
    assert screen(found)
