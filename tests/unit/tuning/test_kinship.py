"""Families of settings that may do the same."""

from becalm.nouns.knob import knobs_by_name
from becalm.tuning.kinship import FAMILIES, families


def test_families_name_settings_that_a_search_tries():
    for family in FAMILIES:
        assert len(set(family)) == len(family) > 1
        assert all(knobs_by_name()[name].tuned_value is not None for name in family)


def test_those_of_one_family_come_together_and_others_not():
    assert families(["nice", "turbo", "aslr", "governor"]) == [("turbo", "governor")]
    assert families(["aslr", "turbo"]) == []
    assert families(["isolcpus and nohz_full", "idle", "online_cpus"]) == [("isolcpus and nohz_full", "online_cpus")]
