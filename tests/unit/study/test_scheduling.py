"""Comparisons of programs that run at the same time, on simulated machines and in the options."""

from dataclasses import replace

import pytest

import becalm
from becalm.nouns.metric import Metric
from becalm.nouns.options.measuring import CompareOptions
from becalm.nouns.options.tune import TuneOptions
from becalm.nouns.run import Run
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.plans.schedule import BackToTurns
from becalm.study.conclude import conclude_stored
from becalm.study.confirmation_schedule import schedule_confirmation
from becalm.study.looks import Looks, replay
from becalm.study.scheduling import choose_schedule, fit
from becalm.study.stored import stored
from becalm.wording.findings import finding

FACTS = {"cpu": {"allowed": "0-1", "threads_per_core": 1}}
PROGRAMS = (Workload(("one",), name="one"), Workload(("other",), name="other"))


def compare(schedule, **options):
    """Compare two programs on a simulated machine."""
    return becalm.compare("spin 20ms", "spin 21ms", host="sim:normal", schedule=schedule, seed=3, **options)


def replayed(store, verdict):
    """Return the verdict that follows from the stored runs alone."""
    return conclude_stored(stored(verdict.study, store))


def alongside(verdict):
    """Return the numbers of the finding on programs that ran at the same time."""
    (finding,) = [finding for finding in verdict.findings if finding.kind == "alongside"]
    return finding.numbers


def test_programs_at_once_are_compared_and_shown_again(store):
    verdict = compare("at-once", budget="10s", store=store)
    (difference,) = verdict.differences
    assert difference.answer == "slower"
    assert difference.low <= 0.05 <= difference.high
    numbers = alongside(verdict)
    assert (numbers["schedule"], numbers["cpus"]) == ("at-once", [0, 1])
    assert numbers["at_once"] > numbers["turns"] > 0
    again = replayed(store, verdict)
    assert again.differences == verdict.differences
    assert alongside(again) == numbers


def test_auto_decides_by_measurement_and_is_shown_again(store):
    verdict = compare("auto", runs=200, store=store)
    assert {finding.kind for finding in verdict.findings} & {"alongside", "turns"}
    assert replayed(store, verdict).differences == verdict.differences


def test_before_the_first_group_at_once_nothing_is_known_but_about_how_large_it_is(store):
    (difference,) = compare("at-once", runs=1, store=store).differences
    assert (difference.answer, difference.pairs) == ("not yet known", 0)
    assert difference.estimate == pytest.approx(0.05, abs=0.1)


@pytest.mark.parametrize("programs", [3, 4])
def test_several_programs_at_once_are_compared_and_shown_again(store, programs):
    commands = [f"spin {20 + 2 * program}ms" for program in range(programs)]
    verdict = becalm.compare(*commands, host="sim:normal", schedule="at-once", seed=3, runs=120, store=store)
    assert [difference.name for difference in verdict.differences] == commands[1:]
    assert all(difference.low <= 0.1 * at <= difference.high for at, difference in enumerate(verdict.differences, 1))
    assert (verdict.ranking, len(alongside(verdict)["slowdowns"])) == (None, programs)
    assert replayed(store, verdict).differences == verdict.differences


def test_variants_of_a_parameter_all_stay_at_once(store):
    verdict = becalm.compare(
        "spin {n}ms", parameters={"n": "20..23"}, host="sim:normal", schedule="at-once", runs=60, store=store
    )
    assert {summary.runs for summary in verdict.summaries} == {verdict.summaries[0].runs}
    assert alongside(verdict)["at_once"] > 0
    with pytest.raises(becalm.UsageError, match="--schedule needs all of them"):
        becalm.compare("a", "b", "c", fastest=True, schedule="auto", store=store)


def test_the_report_has_how_close_together_programs_started(store):
    verdict = compare("at-once", budget="5s", store=store)
    numbers = alongside(verdict)
    assert numbers["starts"] == numbers["near"] > 10
    (sentence,) = [finding.sentence for finding in verdict.findings if finding.kind == "alongside"]
    assert f"{numbers['near']:,} of {numbers['starts']:,} pairs started within 20 µs." in sentence
    pairs = [run for run in stored(verdict.study, store).runs if run.apart_ns is not None]
    assert {run.cpu for run in pairs} == {0, 1}
    assert len(pairs) == 2 * numbers["starts"]


def test_a_machine_without_two_known_cpus_takes_turns():
    verdict = becalm.compare("one", "other", host="null", schedule="auto", runs=20)
    (finding,) = [finding for finding in verdict.findings if finding.kind == "turns"]
    assert "took turns" in finding.sentence
    with pytest.raises(becalm.UsageError, match="cannot run at the same time: it is not known which CPUs"):
        becalm.compare("one", "other", host="null", schedule="at-once", runs=20)


@pytest.mark.parametrize(
    ("study", "options", "reason"),
    [
        (Study("compare", PROGRAMS[:1]), CompareOptions(), "no second program"),
        (Study("compare", PROGRAMS), CompareOptions(fastest=True), "left out of later rounds"),
        (Study("compare", PROGRAMS), CompareOptions(baseline="last"), "stored runs"),
        (Study("compare", PROGRAMS, (Settings.of({"cpus": "0"}),)), CompareOptions(), "cpus"),
        (Study("compare", (PROGRAMS[0], Workload(("x",), copies=2))), CompareOptions(), "copies"),
        (Study("compare", (PROGRAMS[0], Workload(("x",), cold=True))), CompareOptions(), "empty caches"),
    ],
)
def test_programs_that_cannot_run_at_once_have_a_reason(study, options, reason):
    assert reason in fit(study, options, FACTS).reason


def test_options_have_the_cpus_or_the_reason():
    study = Study("compare", PROGRAMS)
    assert choose_schedule(study, CompareOptions(schedule="turns"), FACTS) == CompareOptions(schedule="turns")
    assert choose_schedule(study, CompareOptions(schedule="auto"), FACTS).at_once_cpus == (0, 1)
    back = choose_schedule(study, CompareOptions(schedule="auto"), {})
    assert (back.schedule, back.at_once_cpus) == ("turns", None)
    assert "not known" in back.turns_because
    assert CompareOptions.from_json(back.to_json()) == back


@pytest.mark.parametrize(
    ("study", "options", "facts", "cpus"),
    [
        (Study("compare", PROGRAMS), CompareOptions(), FACTS, (0, 1)),
        (Study("compare", PROGRAMS), CompareOptions(), {}, None),
        (Study("compare", PROGRAMS), CompareOptions(baseline="last"), FACTS, None),
        (Study("compare", (*PROGRAMS, Workload(("third",)))), CompareOptions(), FACTS, None),
        (Study("compare", (PROGRAMS[0], Workload(("x",), prepare=("rm", "-f", "out")))), CompareOptions(), FACTS, None),
        (
            Study("compare", (PROGRAMS[0], Workload(("x",), metrics=(Metric("last", "last"),)))),
            CompareOptions(),
            FACTS,
            None,
        ),
    ],
)
def test_two_programs_that_seem_independent_may_run_at_once_by_default(study, options, facts, cpus):
    chosen = choose_schedule(study, options, facts)
    assert (chosen.at_once_cpus, chosen.schedule, chosen.turns_because) == (cpus, None, "")


RUN = Run(0, 0, 0, 0, 0, 0, 10**7, 9 * 10**6, 0, *(None,) * 6, "ok", 0, 0)


def runs_of(block, history, fails):
    """Return the runs of a block in which `fails(step, start)` programs fail, up to the first failure."""
    result, failed = [], False
    for place, step in enumerate(block.steps):
        partner = place > 0 and block.starts and block.starts[place - 1].with_next
        alongside = bool(block.starts) and (block.starts[place].with_next or partner)
        outcome = "failed" if alongside and fails else "ok"
        seq = history.next_seq + place
        result.append(
            RUN._replace(
                seq=seq,
                workload=step.workload,
                round=step.round,
                started_ns=seq * 10**7,
                outcome=outcome,
                apart_ns=0 if alongside else None,
            )
        )
        failed = failed or outcome != "ok"
        if failed and not (block.starts and block.starts[place].with_next):
            break
    return result


def measured(options, *, fails):
    """Return the looks at a study of two programs, and its runs."""
    looks, runs = Looks(Study("compare", PROGRAMS, seed=1), options), []
    while looks.history.failure is None and (block := looks.plan(looks.history)) is not None:
        taken = runs_of(block, looks.history, fails)
        runs += taken
        looks.history.extend(taken)
    looks.end()
    return looks, runs


BY_DEFAULT = CompareOptions(runs=100, budget_ns=None, at_once_cpus=(0, 1))


def test_programs_that_fail_next_to_each_other_take_turns():
    looks, runs = measured(BY_DEFAULT, fails=True)
    assert (looks.history.failure, looks.history.rounds, looks.reason) == (None, 100, "runs made")
    assert looks.history.bad == [0, 0]
    assert [run.outcome for run in runs if run.apart_ns is not None] == ["failed", "failed"]
    back = looks.schedules.groups.choice.back
    assert back is BackToTurns.FAILED
    assert "failed when both ran at the same time" in finding("turns", {"reason": str(back)}).sentence
    assert looks.comparison.differences[0].pairs == 100


def test_a_failure_alongside_is_replayed_as_it_was():
    looks, runs = measured(BY_DEFAULT, fails=True)
    again = replay(looks.study, BY_DEFAULT, runs, [])
    assert again.comparison.differences == looks.comparison.differences
    assert (again.reason, again.history.next_round) == (looks.reason, looks.history.next_round)


def test_a_failure_alongside_ends_a_study_that_has_to_run_at_once():
    looks, _ = measured(replace(BY_DEFAULT, schedule="at-once"), fails=True)
    assert looks.history.failure is not None


def tuned(tmp_path, **options):
    """Try settings of a program itself for its mean time, on a simulated machine."""
    profile = tmp_path / "calm.toml"
    profile.write_text('name = "calm"\n[settings]\naslr = "off"\n')
    defaults = {"host": "sim:laptop-a", "minimize": "time", "tried": str(profile), "compare_profiles": False, "seed": 1}
    return becalm.tune(["spin 20ms"], **{**defaults, **options})


def kinds_of(verdict):
    """Return the findings of a verdict by kind."""
    return {finding.kind: finding for finding in verdict.findings}


def test_mean_times_are_confirmed_two_at_a_time(store, tmp_path):
    verdict = tuned(tmp_path, schedule="at-once", store=store)
    numbers = kinds_of(verdict)["confirmed_alongside"].numbers
    assert (numbers["cpus"], numbers["starts"]) == ([0, 1], numbers["near"])
    (comparison,) = verdict.comparisons
    (turns,) = tuned(tmp_path, store=store).comparisons
    assert comparison.loops == turns.loops
    assert comparison.ratio.low <= turns.ratio.value <= comparison.ratio.high
    runs = [run for run in stored(verdict.study, store).runs if run.apart_ns is not None]
    assert len(runs) == 2 * numbers["starts"] == 2 * comparison.loops * 5


def test_settings_of_the_machine_are_confirmed_in_turns_and_the_reason_is_said(store, tmp_path):
    profile = tmp_path / "machine.toml"
    profile.write_text('name = "machine"\n[settings]\nswap = "off"\n')
    verdict = tuned(tmp_path, schedule="auto", tried=str(profile), store=store)
    assert "apply to all that run at the same time" in kinds_of(verdict)["turns"].sentence
    assert "turns" not in kinds_of(tuned(tmp_path, tried=str(profile), store=store))


def test_the_spread_is_not_confirmed_at_the_same_time(tmp_path):
    with pytest.raises(becalm.UsageError, match="add --minimize time"):
        tuned(tmp_path, minimize="spread", schedule="auto")


PILOTS = [Run(0, 0, 0, -1, 0, 0, 10**8, 2 * 10**8, 0, *(None,) * 6, "ok", 0, 0)]


@pytest.mark.parametrize(
    ("programs", "pilots", "facts", "reason"),
    [
        (PROGRAMS[:1], PILOTS, FACTS, "a program uses 2.0 CPUs"),
        ((Workload(("x",), copies=2),), [], FACTS, "copies"),
        (PROGRAMS[:1], [], {}, "not known which CPUs"),
    ],
)
def test_a_confirmation_in_turns_has_a_reason(programs, pilots, facts, reason):
    assert reason in schedule_confirmation(TuneOptions(schedule="auto"), programs, pilots, facts).turns_because
    with pytest.raises(becalm.UsageError, match="Nothing can be confirmed at the same time"):
        schedule_confirmation(TuneOptions(schedule="at-once"), programs, pilots, facts)
    assert schedule_confirmation(TuneOptions(), programs, pilots, facts) == TuneOptions()
    assert schedule_confirmation(TuneOptions(schedule="auto"), PROGRAMS[:1], [], FACTS).at_once_cpus == (0, 1)
