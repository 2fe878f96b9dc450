"""The findings that a machine gets, and their sentences."""

import re

import pytest

from becalm.analysis.doctor_advice import advise, apply_sentence, fact
from becalm.nouns.knob import catalogue, find
from becalm.results.doctor import Severity


def kinds(findings):
    return {finding.kind for finding in findings}


def test_advice_for_a_laptop_names_frequency_turbo_siblings_and_services(facts_of, floor):
    findings = advise(facts_of("laptop-intel"), floor())
    assert {"governor", "turbo", "smt", "service", "swap"} <= kinds(findings)
    assert not {"guest", "container", "quota", "steal", "load"} & kinds(findings)
    governor = next(finding for finding in findings if finding.kind == "governor")
    assert governor.severity is Severity.WARNING
    assert "intel_pstate" in governor.what
    turbo = next(finding for finding in findings if finding.kind == "turbo")
    assert "becalm apply --sudo --set turbo=off" in turbo.way_out
    (smt,) = (finding for finding in findings if finding.kind == "smt")
    assert "becalm apply --sudo --set smt=off; becalm reset --sudo undoes it" in smt.way_out
    services = [finding for finding in findings if finding.kind == "service" and "services=pause" in finding.way_out]
    assert all("--dangerous" in service.way_out for service in services)
    assert services
    assert [finding.what.split(" ")[0] for finding in findings if finding.kind == "service"] == [
        "power-profiles-daemon",
        "thermald",
        "irqbalance",
    ]


def test_advice_for_a_server_names_its_clock_and_other_benchmarks(facts_of, floor):
    findings = advise(facts_of("server-amd"), floor())
    assert {"clocksource", "governor", "turbo", "service", "ksm", "affinity"} <= kinds(findings)
    turbo = next(finding for finding in findings if finding.kind == "turbo")
    assert "--set turbo=off" in turbo.way_out
    loads = [finding for finding in findings if finding.kind == "service" and finding.severity is Severity.WARNING]
    assert [load.what.split(" ")[0] for load in loads] == ["pyperf", "stress-ng"]
    affinity = next(finding for finding in findings if finding.kind == "affinity")
    assert "--set cpus=3,7" in affinity.matters


def test_advice_for_a_guest_is_that_noise_comes_from_outside(facts_of, floor):
    findings = advise(facts_of("guest-kvm"), floor())
    guest = next(finding for finding in findings if finding.kind == "guest")
    assert "AMD EPYC" in guest.what
    assert "no setting here removes it" in guest.matters
    assert not {"governor", "turbo", "container"} & kinds(findings)


def test_a_hidden_hypervisor_is_called_hidden(facts_of, floor):
    facts = facts_of("guest-kvm")
    facts["virtualisation"]["hypervisor"] = None
    assert "hypervisor hidden" in next(finding for finding in advise(facts, floor()) if finding.kind == "guest").what


def test_advice_for_a_container_names_its_quota(facts_of, floor):
    findings = advise(facts_of("container-arm"), floor())
    assert findings[0].kind == "quota"
    assert "1.5 CPUs" in findings[0].what
    assert "container" in kinds(findings)


def test_a_clean_quiet_machine_gets_one_good_sentence(facts_of, floor):
    facts = facts_of("laptop-intel")
    facts["cpu"]["frequency"].update(governor="performance", turbo=False)
    facts["cpu"]["smt_active"] = False
    facts["services"]["running"] = []
    facts["memory"]["swap"] = []
    findings = advise(facts, floor(cv=0.003))
    assert [(finding.severity, finding.kind) for finding in findings] == [(Severity.GOOD, "quiet")]


@pytest.mark.parametrize(
    ("changes", "message", "severity"),
    [
        ({"cv": 0.02}, "processor itself", Severity.NOTE),
        ({"cv": 0.2}, "processor itself", Severity.WARNING),
        ({"cv": 0.2, "wait_share": 0.3}, "waited for a CPU in 30", Severity.WARNING),
        ({"cv": 0.02, "lag_one": 0.9}, "in stretches", Severity.NOTE),
    ],
)
def test_the_source_of_noise_is_named_by_what_was_seen(floor, changes, message, severity):
    (findings,) = advise({}, floor(**changes))
    assert findings.kind == "noisy"
    assert findings.severity is severity
    assert message in findings.sentence


def test_no_source_is_named_when_none_was_seen(floor):
    (findings,) = advise({}, floor(cv=0.02, processor_share=0.1, lag_one=0.0, wait_share=None))
    assert findings.matters == ""


def test_steal_and_other_programs_are_warnings(floor):
    findings = advise({}, floor(cv=0.001, steal_share=0.04, others_cpus=1.5))
    assert [finding.kind for finding in findings] == ["load", "steal", "quiet"]


def test_warnings_come_first_for_every_machine(facts, floor):
    order = [list(Severity).index(item.severity) for item in advise(facts, floor())]
    assert order == sorted(order)
    for finding in advise(facts, floor()):
        assert finding.what.endswith("."), finding
        assert finding.way_out == "" or finding.way_out.endswith("."), finding


def test_nothing_known_is_nothing_said():
    assert advise({}, None) == ()
    assert advise({"cpu": None, "services": {"running": None}, "memory": {"swap": None}}, None) == ()


def test_a_fact_by_its_path():
    facts = {"cpu": {"frequency": {"turbo": True}, "model": None}}
    assert fact(facts, "cpu", "frequency", "turbo") is True
    assert fact(facts, "cpu", "model", "x") is None
    assert fact(facts, "memory", "swap") is None


TROUBLED = {
    "virtualization": {"kind": "vm", "name": "kvm"},
    "cpu": {
        "count": 8, "allowed_count": 4, "allowed": "0-3", "isolated": "4-7", "smt_active": True,
        "performance_cpus": "0-3", "efficiency_cpus": "4-7",
        "frequency": {"governor": "powersave", "driver": "intel_pstate", "turbo": True},
    },
    "clocks": {"current": "hpet"},
    "interrupts": {"fired": 19, "arrive_at": "0"},
    "services": {"running": [
        {"name": "irqbalance", "role": "governs", "pids": [7], "matters": "moves interrupts", "way_out": "stop it"},
    ]},
    "memory": {"swap": [{"used_bytes": 2**30}], "ksm": True},
}  # fmt: skip
"""A machine on which whatever a setting can change is as it should not be."""

BY_HAND = re.compile(
    r"\becho\b|cpupower|\bsysctl\b|\btee\b|/sys/|/proc/|systemctl|swapoff|chcpu|taskset|renice|\bnice\b"
)
SETS = re.compile(r"(becalm apply[^;]*?)?--set (\w+)=([^\s;.]+)")

KNOBS = {"governor": "governor", "turbo": "turbo", "smt": "smt", "service": "services", "swap": "swap", "ksm": "ksm"}
"""The settings that findings have: the key of the advice, and the setting."""


def all_advice(facts_of, floor):
    """Return all advice for every recorded machine and for one where everything is wrong."""
    machines = [TROUBLED, *(facts_of(name) for name in ("laptop-intel", "server-amd", "guest-kvm", "container-arm"))]
    noise = floor(cv=0.2, steal_share=0.1, others_cpus=2.0, wait_share=0.2)
    return [finding for facts in machines for finding in advise(facts, noise)]


def test_no_advice_does_by_hand_what_a_setting_does(facts_of, floor):
    for advice in all_advice(facts_of, floor):
        # Other benchmarks that are running are ended by whoever started them: there is no setting for them.
        loads = advice.kind == "service" and "becalm apply" not in advice.way_out
        assert loads or not BY_HAND.search(advice.way_out), advice


def test_advice_points_to_the_settings_that_there_are(facts_of, floor):
    findings = all_advice(facts_of, floor)
    assert {finding.kind for finding in advise(TROUBLED, None)} >= set(KNOBS)
    for key, knob in KNOBS.items():
        mine = [finding for finding in findings if finding.kind == key]
        assert any(f"--set {knob}=" in finding.way_out for finding in mine), key
        known = re.compile(rf"becalm apply --sudo( --dangerous)? --set {knob}=")
        assert all(known.search(finding.way_out) for finding in mine if "--set" in finding.way_out)


def test_commands_in_advice_are_valid_settings_with_their_rights(facts_of, floor):
    typed = [
        match for advice in all_advice(facts_of, floor) for match in SETS.finditer(f"{advice.way_out} {advice.matters}")
    ]
    assert len({name for _, name, _ in (match.groups() for match in typed)}) >= 7
    for command, name, value in (match.groups() for match in typed):
        knob = find(catalogue(), name)
        assert knob.domain.holds(value), (name, value)
        if command:
            assert ("--sudo" in command) == knob.needs_rights(value)
            assert ("--dangerous" in command) == (knob.group == "dangerous")


def test_a_setting_is_applied_as_tune_tries_it():
    assert apply_sentence("governor").startswith("While you measure: becalm apply --sudo --set governor=performance;")
    assert apply_sentence("aslr").startswith("While you measure: becalm apply --set aslr=off;")


@pytest.mark.parametrize(
    ("fired", "at", "cpus", "message"),
    [(19, "0", 2, True), (19, "0-1", 8, False), (3, "0", 8, False), (19, "0", 1, False), (None, None, 8, False)],
)
def test_interrupts_that_all_arrive_at_one_cpu(fired, at, cpus, message):
    facts = {"interrupts": {"fired": fired, "arrive_at": at}, "cpu": {"count": cpus}}
    results = [finding for finding in advise(facts, None) if finding.kind == "interrupts"]
    assert [result.what for result in results] == (
        ["All 19 interrupts of this machine arrive at CPU 0."] if message else []
    )
