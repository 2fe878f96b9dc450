"""An evaluation of the machine that the tests run on."""

from tests.unit.report.test_doctor import screen

from becalm.verbs.doctor import doctor


def test_the_real_machine():
    diagnosis = doctor(budget=1.0)
    assert diagnosis.noise.runs > 0
    assert diagnosis.noise.median_ns > 0
    assert diagnosis.overhead.bare_ns > 0
    assert diagnosis.facts["cpu"]["count"] >= 1
    for ability in diagnosis.facts["abilities"]:
        assert ability["have"] is True or ability["reason"]
    assert screen(diagnosis)
