"""The verb on a host that replays facts and run times, and the screen."""

import io
import json
import os
import pathlib
import signal

import pytest
from rich.console import Console

from becalm._version import SCHEMA
from becalm.analysis.doctor_advice import advise
from becalm.errors import UsageError
from becalm.report.doctor import on_terminal, overhead, shared
from becalm.results.doctor import Diagnosis, Overhead, SharedNoise
from becalm.results.progress import Quiet
from becalm.verbs.doctor import KERNEL_NS, doctor

GOLDEN = pathlib.Path(__file__).parent / "golden"


def screen(diagnosis, width=100, **options):
    out = io.StringIO()
    Console(file=out, width=width, highlight=False, color_system=None).print(on_terminal(diagnosis, **options))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def test_the_kernel_is_calibrated_and_the_budget_kept(facts_of, replay):
    host = replay(facts_of("guest-kvm"), noise=lambda number: 1 + 0.01 * (number % 2))
    diagnosis = doctor(budget=2.0)
    assert host.iterations[-1] == pytest.approx(KERNEL_NS, rel=0.02)
    assert diagnosis.noise.median_ns == pytest.approx(KERNEL_NS, rel=0.02)
    assert 1.0 < diagnosis.noise.elapsed_s < 1.3
    assert diagnosis.noise.lag_one < -0.9
    assert diagnosis.overhead.added_ns == 41_000
    assert host.opened == host.closed == 1
    assert diagnosis.unmeasured == ""


def test_cpu_time_of_others_comes_from_the_records_of_load(facts_of, replay):
    replay(facts_of("guest-kvm"), busy_ns=1_000_000_000)
    diagnosis = doctor(budget=2.0)
    # 1 s of CPU time in about 1.2 s.
    assert diagnosis.noise.others_cpus == pytest.approx(1 / 1.2, abs=0.1)
    assert diagnosis.findings[0].kind == "load"


def test_without_measuring_there_is_no_noise_and_the_reason(facts_of, replay):
    host = replay(facts_of("laptop-intel"))
    diagnosis = doctor(measure=False)
    assert diagnosis.noise is None
    assert diagnosis.overhead is None
    assert host.iterations == []
    assert "Not measured. It was left out (--no-measure)." in screen(diagnosis)


def test_a_host_that_knows_no_kernel_still_gives_its_facts():
    diagnosis = doctor("sim:drift")
    assert diagnosis.noise is None
    assert "has no processor for the built-in kernels" in diagnosis.unmeasured
    assert "Survey" not in diagnosis.unmeasured
    assert diagnosis.facts["host"]["hostname"] == "sim:drift"
    assert screen(diagnosis)


def test_ctrl_c_keeps_what_was_measured(facts_of, replay):
    class Impatient(Quiet):
        def progressed(self, state):
            if state.rounds > 50:
                os.kill(os.getpid(), signal.SIGINT)

    host = replay(facts_of("guest-kvm"), noise=lambda number: 1 + 0.001 * (number % 7))
    diagnosis = doctor(budget=60.0, listener=Impatient())
    assert host.stops == 1
    assert 50 < diagnosis.noise.runs < 1000
    assert diagnosis.overhead is None


@pytest.mark.parametrize("budget", [0, -1, float("nan"), float("inf")])
def test_an_impossible_budget_is_refused(budget):
    with pytest.raises(UsageError, match=r"more than zero|at most 100 years"):
        doctor(budget=budget)


def test_json_holds_everything_and_no_nan(facts, replay, name):
    replay(facts, noise=lambda number: 1 + 0.01 * (number % 3))
    value = json.loads(json.dumps(doctor(budget=1.0).to_json(), allow_nan=False))
    assert {"becalm", "schema", "kind", "host", "facts", "noise", "overhead", "findings"} <= set(value)
    assert value["kind"] == "doctor"
    assert value["schema"] == SCHEMA
    assert value["noise"]["runs"] > 0
    assert all(finding["sentence"].startswith(finding["what"]) for finding in value["findings"])
    assert {finding["severity"] for finding in value["findings"]} <= {"warning", "note", "good"}


def test_an_infinite_number_is_null_in_json(floor):
    assert Diagnosis("x", {}, floor(detectable=float("inf")), None, ()).to_json()["noise"]["detectable"] is None


def test_the_screen_of_each_machine(facts, name, floor):
    """After a wanted change: BECALM_RECORD=1 pytest tests/unit/report/test_doctor.py, then read the difference."""
    noise = floor()
    shown = screen(Diagnosis("local", facts, noise, Overhead(200, 520e3, 41e3, 33e3, 52e3), advise(facts, noise)))
    file = GOLDEN / f"{name}.txt"
    if os.environ.get("BECALM_RECORD"):
        file.write_text(shown)
    assert shown == file.read_text()
    assert len(shown.splitlines()) <= 90


def test_each_lack_is_on_the_screen_with_its_reason_and_way_out(facts):
    shown = screen(Diagnosis("local", facts, None, None, ()), width=400)
    for row in facts["abilities"]:
        assert row["title"] in shown
        if row["have"] is not True:
            assert row["reason"] in shown or f"the file of each {row['reason'].split(' ', 1)[1]}" in shown
            assert row["way_out"] is None or row["way_out"] in shown


def without_values(value):
    """Return every value as null, as in a subject whose files are all missing; subjects within a subject stay."""
    if isinstance(value, dict) and "missing" in value:
        return {key: without_values(item) for key, item in value.items()}
    return None


def test_a_machine_of_which_nothing_is_known_still_has_a_screen(facts):
    empty = {subject: without_values(value) for subject, value in facts.items()}
    assert advise(empty, None) == ()
    assert screen(Diagnosis("local", empty, None, None, (), "No reason.")).startswith("local")
    assert "\n\n\n" not in screen(Diagnosis("local", {}, None, None, ()))


def test_plain_output_points_with_ascii(facts):
    assert "→" not in screen(Diagnosis("local", facts, None, None, ()), plain=True)


def test_a_narrow_terminal_cuts_nothing(facts, floor):
    wide = screen(Diagnosis("local", facts, floor(), None, advise(facts, floor())), width=1000)
    narrow = screen(Diagnosis("local", facts, floor(), None, advise(facts, floor())), width=60)
    assert "…" not in narrow
    assert sorted("".join(wide.split())) == sorted("".join(narrow.split()))


def test_overhead_within_the_noise_is_not_given_as_a_cost():
    assert "no more than" in overhead(Overhead(200, 520e3, -2e3, -30e3, 20e3))
    assert "41 µs more than" in overhead(Overhead(200, 520e3, 41e3, 33e3, 52e3))
    assert "41 µs less than" in overhead(Overhead(200, 520e3, -41e3, -52e3, -33e3))


def twins(**change):
    """Return the noise that two CPUs share."""
    values = {"cpus": (0, 1), "pairs": 90, "correlation": 0.83, "low": 0.79, "high": 0.86, "gain": 4.13,
              "slowdown": 0.002, "slowdown_error": 0.001}  # fmt: skip
    return SharedNoise(**(values | change))


@pytest.mark.parametrize(
    ("change", "end"),
    [
        ({}, "vary together (correlation 0.83, 95 %: 0.79 to 0.86): two programs compared at the same time (--schedule "
         "auto) are known 4.1 times as precisely as in turns."),
        ({"low": 0.05}, "do not vary together (correlation 0.83, 95 %: 0.05 to 0.86): two programs compared at the "
         "same time (--schedule auto) are known 4.1 times as precisely as in turns."),
        ({"gain": 0.8}, "(correlation 0.83, 95 %: 0.79 to 0.86): comparing two programs at the same time gains nothing "
         "here."),
        ({"slowdown": 0.05}, "95 %: 0.79 to 0.86), but each takes 5.0 % longer than alone: compare programs in turns."),
        ({"slowdown": None, "gain": None}, "they are too few to tell what comparing at the same time gains."),
    ],
)  # fmt: skip
def test_one_sentence_says_whether_noise_is_shared_and_what_that_buys(change, end):
    sentence = shared(twins(**change))
    assert sentence.startswith("Runs on CPUs 0 and 1 at the same moment ")
    assert sentence.endswith(end)
    assert end in " ".join(screen(Diagnosis("x", {}, None, None, (), shared=twins(**change)), width=400).split())


def test_shared_noise_is_measured_where_two_cpus_are(facts_of, replay):
    replay(facts_of("guest-kvm"), noise=lambda number: 1 + 0.01 * (number * 7 % 11))
    diagnosis = doctor(budget=2.0)
    assert diagnosis.shared.cpus == (0, 1)
    assert diagnosis.to_json()["shared"]["pairs"] == diagnosis.shared.pairs > 10


def test_the_reason_why_shared_noise_is_not_known(facts_of, replay):
    facts = facts_of("guest-kvm")
    replay({**facts, "cpu": {**facts["cpu"], "allowed": "0"}})
    diagnosis = doctor(budget=1.0)
    assert (diagnosis.shared, diagnosis.unshared) == (None, "Programs may use one CPU only.")
    assert "shared noise  Not measured. Programs may use one CPU only." in screen(diagnosis)
    assert doctor(measure=False).unshared == ""
