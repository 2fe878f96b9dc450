"""Factors of a search: as people give them, in the knob's own unit and within its limits."""

import pytest

from becalm.errors import UsageError
from becalm.nouns.domain import Scale
from becalm.nouns.factor import Factor
from becalm.nouns.knob import catalogue
from becalm.tuning.candidates import NEEDS_ROOT, SearchLimits
from becalm.tuning.factors import ends, factors

ALL = SearchLimits(consent=True, privileged=True)
USER = SearchLimits()


def single_factor(text, limits=ALL):
    (result,), left_out = factors(catalogue(), limits, [text])
    assert left_out == ()
    return result


def test_a_range_is_read_in_the_unit_of_the_knob():
    assert single_factor("slice_ns=0.1..100ms:log") == Factor("slice_ns", 1e5, 1e8, "ns", Scale.LOG, True)
    assert single_factor("slice_ns=200000..300000") == Factor("slice_ns", 2e5, 3e5, "ns", Scale.LOG, True)
    assert single_factor("slice_ns=0.5..2 ms:linear").scale is Scale.LINEAR
    assert single_factor("sched_migration_cost_ns=0.1..1ms").high == 1e6
    assert single_factor("frequency_floor=1..3GHz").high == 3e6


def test_a_name_alone_is_all_of_its_domain():
    assert single_factor("slice_ns") == Factor("slice_ns", 1e5, 1e8, "ns", Scale.LOG, True)
    assert single_factor("slice_ns:linear").scale is Scale.LINEAR
    assert single_factor("transparent_hugepages").choices == ("always", "madvise", "never")


def test_choices_are_values_of_the_domain():
    assert single_factor("policy=other,batch").choices == ("other", "batch")
    assert single_factor("slice_ns=0,3000000").choices == ("0", "3000000")
    assert ends(single_factor("policy=other,batch")) == ("other", "batch")
    assert ends(single_factor("swappiness")) == (0, 200)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slyce_ns=1..2ms", "There is no setting 'slyce_ns'. Did you mean 'slice_ns'"),
        (
            "slice_ns=0.01..100ms",
            "is not within the range of slice_ns, which takes 0 (the kernel's default), or 100000 to 100000000 ns",
        ),
        ("slice_ns=1..200ms", "is not within the range of"),
        ("policy", "--factor policy=other,batch"),
        ("cpus", "has no range"),
        ("policy=1..3", "has no range"),
        ("policy=other,fast", "policy cannot be 'fast'"),
        ("slice_ns=1..2MHz", "'MHz' is not one of its units; its unit is ns"),
        ("swappiness=1..2ms", "'ms' is not one of its units; it has no unit"),
        ("slice_ns=2..1ms", "must go from a lower to a higher number"),
        ("swappiness=0..100:log", "begins at 0"),
        ("swappiness=1.2..1.4", "no two whole numbers"),
        ("slice_ns:fast", "not by :fast"),
        ("policy=other", "is not a range of policy|needs at least two different choices"),
    ],
)
def test_invalid_factors_are_refused_in_a_sentence(text, message):
    with pytest.raises(UsageError) as error:
        factors(catalogue(), ALL, [text])
    assert any(word in str(error.value) for word in message.split("|"))
    assert str(error.value)[-1] in ".?"


def test_a_factor_is_named_once():
    with pytest.raises(UsageError, match="given twice"):
        factors(catalogue(), ALL, ["slice_ns", "slice_ns=1..2ms"])


def test_policies_that_anybody_may_set_need_no_consent():
    for limits in (SearchLimits(privileged=True), USER):
        ((factor,), _) = factors(catalogue(), limits, ["policy=other,batch"])
        assert factor.choices == ("other", "batch")


def test_requested_factors_that_are_impossible_are_refused():
    with pytest.raises(UsageError, match="needs root"):
        factors(catalogue(), USER, ["swappiness"])
    with pytest.raises(UsageError, match="--dangerous"):
        factors(catalogue(), SearchLimits(privileged=True), ["policy=other,fifo:50"])
    with pytest.raises(UsageError, match="--dangerous"):
        factors(catalogue(), SearchLimits(privileged=True), ["watchdogs=on,off"])
    with pytest.raises(UsageError, match="nothing above 50 here"):
        factors(catalogue(), ALL, ["swappiness"], {"swappiness": "nothing above 50 here."})
    with pytest.raises(UsageError, match=r"swappiness: it takes 0\.\.50\.$"):
        factors(catalogue(), ALL, ["swappiness"], {"swappiness": "it takes 0..50."})
    with pytest.raises(UsageError, match="-20 needs root"):
        factors(catalogue(), USER, ["nice"])


def test_without_any_all_that_the_host_allows_is_varied():
    varied, left_out = factors(catalogue(), ALL)
    names = {factor.name for factor in varied}
    assert {"slice_ns", "nice", "sched_base_slice_ns", "transparent_hugepages", "autogroup"} <= names
    reasons = {exclusion.knob: exclusion.reason for exclusion in left_out}
    assert names.isdisjoint(reasons)
    assert names | set(reasons) == {knob.name for knob in catalogue()}
    assert "the measurement, not the program" in reasons["aslr"]
    assert "boot" in reasons["idle"]
    assert "--factor names" in reasons["cpus"]


def test_knobs_that_act_on_few_machines_are_varied_when_named():
    varied, left_out = factors(catalogue(), ALL)
    quiet = ("sched_feature_run_to_parity", "numa_scan_size_mb", "sched_rr_timeslice_ms", "cpu_weight")
    assert not {factor.name for factor in varied} & set(quiet)
    reasons = {exclusion.knob: exclusion.reason for exclusion in left_out}
    for name in quiet:
        assert reasons[name].endswith("--factor NAME varies it nevertheless")
        assert single_factor(name).name == name
    assert {"sched_base_slice_ns", "sched_preempt", "autogroup"} <= {factor.name for factor in varied}


def test_without_rights_only_what_a_user_may_set_is_varied():
    varied, left_out = factors(catalogue(), USER)
    by_name = {factor.name: factor for factor in varied}
    assert by_name["nice"].low == 0
    assert "slice_ns" in by_name
    assert {exclusion.knob: exclusion.reason for exclusion in left_out}["swappiness"] == NEEDS_ROOT


def test_factors_that_the_machine_refuses_have_the_reason():
    _, left_out = factors(catalogue(), ALL, (), {"swappiness": "nothing above 50 here"})
    assert {exclusion.knob: exclusion.reason for exclusion in left_out}["swappiness"] == "nothing above 50 here"
