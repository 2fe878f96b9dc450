"""Bad input and faults of a search for the fastest settings, typed as a person would: each gives a sentence."""

import json
import re
import sys

import numpy as np
import pytest
from msgspec.structs import replace
from tests.samples import samples
from tests.unit.small_machine import Repeatable

from becalm.cli.main import main
from becalm.errors import LostError
from becalm.hosts import RunText
from becalm.store import Store

SEARCH = ("tune", "--minimize", "time", "--host", "sim:fast", "--seed", "7", "--confirm-loops", "6", "--no-single-out")
GRANULARITY, LATENCY = ("--factor", "sched_min_granularity_ns"), ("--factor", "sched_latency_ns=1..1000ms:log")
FACTORS = (*GRANULARITY, *LATENCY)
CURVED = "a=-1..1,b=-1..1,y\n" + "".join(
    f"{a},{b},{value:.4f}\n"
    for (a, b), value in {
        (-1, -1): 1.0, (1, -1): 8.1, (-1, 1): 1.9, (1, 1): 16.2, (0, 0): 3.4, (-0.5, 0.5): 2.1, (0.5, -0.5): 4.6,
    }.items()
    for value in (value, value + 0.01)
)  # fmt: skip


@pytest.fixture
def typed(monkeypatch, capsys):
    """Type a command: its exit code, and what it says on both streams, as one line each."""

    def typing(*words):
        monkeypatch.setattr(sys, "argv", ["becalm", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        output = capsys.readouterr()
        return left.value.code or 0, *(re.sub(r"\s+", " ", stream) for stream in (output.out, output.err))

    return typing


@pytest.fixture
def design(tmp_path):
    """A filled design as a file."""

    def made(text):
        path = tmp_path / "runs.csv"
        path.write_text(text)
        return str(path)

    return made


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--factor", "sched_latency_ns="), "--factor sched_latency_ns= has no range. sched_latency_ns takes"),
        (("--factor", "isolation"), "--factor isolation has no range"),
        (("--factor", "sched_latency_ns=soon"), "--factor sched_latency_ns=soon has no range"),
        (("--factor", "sched_latency_ns=1..many"), "'1..many' is not a range of sched_latency_ns"),
        (("--factor", "sched_latency_ns=9..1ms"), "must go from a lower to a higher number"),
        (("--factor", "sched_latency_ns=0.001..1ms"), "is not within the range of"),
        (("--factor", "sched_latency_ns=0..1ms:log"), "logarithmic scale needs numbers above 0"),
        (("--factor", "sched_latancy_ns"), "Did you mean 'sched_latency_ns'"),
        (("--factor", "sched_latency_ns", "--factor", "sched_latency_ns"), "twice"),
        (("--factor", "slice_ns"), "its kernel is older than Linux 6.12"),
        ((*FACTORS, "--abort-above", "1ms"), "would end every run: p takes 26.61 ms on the machine as it is"),
    ],
)
def test_a_factor_that_cannot_be_varied(trouble, typed, words, message):
    code, out, err = typed(*SEARCH, *words, "--", "p")
    assert (code, out) == (2, "")
    assert message in err
    assert "defect" not in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model", "cubic"), "cubic model of y cannot be estimated from these 14 runs"),
        (("--transform", "log"), "y is -1 in one run, and a power or logarithm needs values above 0"),
        (("--goal", "z=max"), "there is no response 'z'"),
    ],
)
def test_a_model_or_power_that_the_data_do_not_allow(typed, design, words, message):
    text = CURVED.replace(",1.0000\n", ",-1\n") if "--transform" in words else CURVED
    code, out, err = typed("design", "fit", design(text), *words)
    assert (code, out) == (2, "")
    assert message in err


def test_significant_lack_of_fit_is_reported_with_the_next_step(typed, design):
    code, out, _ = typed("design", "fit", design(CURVED), "--model", "linear")
    assert code == 0
    assert "which does not fit" in out
    assert "lack of fit" in out
    assert "--transform" in out


@pytest.mark.parametrize("value", ["-1", "0"])
def test_responses_that_have_no_logarithm_are_fitted_as_they_are(typed, design, value):
    code, out, _ = typed("design", "fit", design(CURVED.replace(",1.0000\n", f",{value}\n")), "--transform", "auto")
    assert code == 0
    assert "so no power of it was tried" in out


def test_a_response_that_is_always_the_same(typed, design):
    same = re.sub(r",[^,\n]*$", ",5", CURVED, flags=re.MULTILINE).replace(",5", ",y", 1)
    code, _, err = typed("design", "fit", design(same))
    assert code == 2
    assert "y is 5 in all 14 runs: nothing that was varied changes it" in err


def test_a_program_that_fails_as_it_is(trouble, typed):
    trouble.fails = ("p",)
    code, _, err = typed(*SEARCH, *FACTORS, "--", "p")
    assert code == 4
    assert "it went wrong" in err


@pytest.mark.parametrize("design", ["sequential", "composite"])
def test_a_program_that_fails_under_all_settings_that_are_tried(trouble, typed, monkeypatch, design):
    monkeypatch.setattr(Repeatable, "_bad", lambda self, step, settings: bool(settings))
    code, out, _ = typed(*SEARCH, *FACTORS, "--design", design, "--", "p")
    assert code == 0
    assert "Nothing could be compared: none of" in out
    assert "settings are recommended" not in out


@pytest.mark.parametrize("design", ["sequential", "composite"])
def test_a_time_that_nothing_changes(trouble, typed, monkeypatch, design):
    measured = Repeatable._one
    monkeypatch.setattr(Repeatable, "_one", lambda self, *step: measured(self, *step)._replace(wall_ns=20_000_000))
    code, out, _ = typed(*SEARCH, *FACTORS, "--design", design, "--", "p")
    assert code == 0
    assert "gave the same value: none of the varied settings changes it" in out


def test_a_best_place_at_the_end_of_a_range(trouble, typed):
    code, out, _ = typed(*SEARCH, "--factor", "sched_min_granularity_ns=0.5..5ms", *LATENCY, "--", "p")
    assert code == 0
    assert "at the end of the range of sched_min_granularity_ns: beyond it there may be a better one" in out


def test_noise_that_is_larger_than_any_effect(trouble, typed):
    code, out, _ = typed(*SEARCH, "--factor", "swappiness=0..100", "--factor", "stat_interval=1..10", "--", "p")
    assert code == 0
    assert re.search(r"[0-9.]+ % would have been seen", out)


def test_a_metric_that_is_not_printed(trouble, typed, monkeypatch):
    measure = Repeatable.measure

    def silent(self, request):
        for event in measure(self, request):
            if hasattr(event, "rows") and self.programs[0].metrics:
                rows = [run._replace(outcome="failed", status=0) for run in event.rows[:1]]
                yield RunText(rows[0].seq, "The program did not print the metric p99. Its last line: hello", "")
                event = type(event)(rows)
            yield event

    monkeypatch.setattr(Repeatable, "measure", silent)
    words = [option if option != "time" else "metric" for option in SEARCH]
    code, _, err = typed(*words, "--metric", "json:p99", *FACTORS, "--", "p")
    assert code == 4
    assert "p ended well, but its metric could not be read" in err
    assert "did not print the metric p99" in err


def test_a_setting_that_is_forbidden_in_the_middle(trouble, typed):
    trouble.later = {"sched_latency_ns": 1_000_000_000}
    code, out, _ = typed(*SEARCH, *FACTORS, "--design", "composite", "--", "p")
    assert code == 0
    assert "sched_latency_ns does not take 1000000000" in out
    assert "failed or took too long" in out


def answer(typed, *words):
    """Return the JSON of a study without its number, its time and its sentence."""
    code, out, _ = typed(words[0], "--json", *words[1:])
    assert code == 0
    return {name: value for name, value in json.loads(out).items() if name not in ("study", "elapsed_ns", "sentence")}


@pytest.mark.parametrize("seed", range(samples(2, 12)))
def test_a_guest_that_is_lost_anywhere_costs_nothing_that_was_measured(trouble, typed, monkeypatch, store, seed):
    measure, rng, blocks = Repeatable.measure, np.random.default_rng(seed), 0

    def counted(self, request):
        nonlocal blocks
        blocks += len(self.programs) > 1
        yield from measure(self, request)

    monkeypatch.setattr(Repeatable, "measure", counted)
    whole = answer(typed, *SEARCH, *FACTORS, "--budget", "none", "--", "p")
    last, left = int(rng.integers(1, blocks + 1)), []

    def lost(self, request):
        if len(self.programs) > 1:
            left.append(request)
            if len(left) == last:
                # Some of its runs had been told by then.
                done = int(rng.integers(len(request.block.steps)))
                yield from measure(
                    self, replace(request, block=replace(request.block, steps=request.block.steps[:done]))
                )
                raise LostError("The guest has ended: its kernel panicked.")
        yield from measure(self, request)

    monkeypatch.setattr(Repeatable, "measure", lost)
    code, _, err = typed(*SEARCH, *FACTORS, "--budget", "none", "--", "p")
    assert code == 3, last
    assert "The guest has ended: its kernel panicked." in err
    (number,) = re.findall(r"becalm tune --resume (\d+)", err)
    with Store.open(store) as opened:
        assert list(opened.runs(int(number)))
    assert answer(typed, "tune", "--resume", number) == whole, last
