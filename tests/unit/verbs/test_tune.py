"""`tune` from its options to its verdict, on a simulated machine and a real store."""

import json

import pytest
from tests.samples import samples
from tests.support.listeners import Heard
from tests.unit.small_machine import KNOBS, same

from becalm.errors import Interrupted, StoreError, UnsettledError, UsageError, WorkloadError
from becalm.nouns.run import PILOT
from becalm.nouns.workload import Workload
from becalm.report.forms import as_html
from becalm.report.tune import tables
from becalm.results.tune import from_json
from becalm.results.tune_arms import BASELINE, RECOMMENDED, TUNED
from becalm.store import Store
from becalm.verbs.settings import Profile
from becalm.verbs.tune import tune

USUAL = {
    "host": "sim:small", "seed": 7, "budget": "60s", "only": KNOBS, "compare_profiles": False, "confirm_loops": 8,
}  # fmt: skip

HELPFUL = {"aslr": "off", "governor": "performance"}.items()


def small(programs=("p",), **options):
    # What only tries settings searches nothing, and takes no option of a search.
    usual = {name: value for name, value in USUAL.items() if not ("tried" in options and name == "only")}
    return tune([*programs], **{**usual, **options})


def finding(verdict, kind):
    (result,) = [finding for finding in verdict.findings if finding.kind == kind]
    return result


def stored(store, number):
    with Store.open(store) as opened:
        return list(opened.runs(number)), opened.study(number), opened.verdict(number)


# --- the whole ------------------------------------------------------------------------------------------------------


def test_it_finds_what_helps_confirms_it_and_keeps_every_run(trouble, store):
    result = small()
    assert result.settings.items() >= HELPFUL
    (best,) = [comparison for comparison in result.comparisons if comparison.arm in (RECOMMENDED, TUNED)][-1:]
    assert best.ratio.low > 3
    assert "the run-to-run variation of p falls" in result.sentence
    runs, study, verdict = stored(store, result.study)
    assert [run.seq for run in runs] == list(range(len(runs)))
    assert len(runs) > result.search_runs + result.confirm_runs
    assert from_json(verdict) == result
    assert max(run.settings for run in runs) < len(study.study.settings)
    assert study.study.settings[0].values == ()
    assert result.kind == "tune"
    assert json.loads(json.dumps(result.to_json(), allow_nan=False))


def test_pilot_runs_are_kept_and_counted_for_nothing(trouble, store):
    verdict = small(programs=("p", "q"))
    with Store.open(store) as opened:
        rows = list(opened.runs(verdict.study))
    assert [run.seq for run in rows] == list(range(len(rows)))
    assert [run.workload for run in rows if run.round == PILOT] == [0, 1]
    assert [run.round for run in rows[:2]] == [PILOT, PILOT], "they were made before anything was planned"
    assert verdict.search_runs + verdict.confirm_runs <= sum(not run.warmup for run in rows)


def test_a_seed_repeats_it_and_another_one_does_not(trouble):
    first = same(small())
    assert same(small()) == first
    assert same(small(seed=8)) != first


@pytest.mark.parametrize("method", ["race", "greedy", "fast", "anneal"])
def test_every_method_ends_with_fresh_runs(trouble, method):
    verdict = small(method=method, budget="100s")
    assert verdict.method == method
    assert verdict.confirm_runs >= 2 * 4 * 5
    assert {BASELINE, TUNED} <= {arm.name for arm in verdict.arms}


def test_without_a_store_it_works_and_has_no_number(trouble, store, tmp_path):
    verdict = small(store=False)
    assert verdict.study is None
    assert verdict.settings
    assert not (tmp_path / "runs.db").exists()


def test_settings_that_are_not_tried_have_a_reason(trouble):
    verdict = small(only=("aslr", "governor", "watchdogs", "rcu_nocbs"), preserve_multicore=True)
    reasons = {exclusion.knob: exclusion.reason for exclusion in verdict.excluded}
    assert "--dangerous" in reasons["watchdogs"]
    assert "boot" in reasons["rcu_nocbs"]
    assert reasons["swap"] == "not among the requested settings"
    assert "aslr" not in reasons


def test_without_rights_only_what_needs_none_is_tried(trouble):
    trouble.privileged = False
    verdict = small(only=())
    assert {knob for trial in verdict.trials for knob in trial.settings} == {"aslr"}
    assert {exclusion.knob: exclusion.reason for exclusion in verdict.excluded}["nice"] == "needs root: --sudo"


def test_the_finding_on_where_scatter_comes_from_is_there(trouble):
    kinds = {finding.kind for finding in small().findings}
    assert kinds & {"processor", "program", "waiting"}


def test_profiles_are_compared_with_and_what_they_lack_here_is_reported(trouble):
    verdict = small(only=(), compare_profiles=True, budget="4min", single_out=False)
    assert {"llvm-tips", "pyperf"} <= {comparison.arm for comparison in verdict.comparisons}
    assert "pyperf was measured without nohz_full, rcu_nocbs" in finding(verdict, "partial").sentence


@pytest.mark.parametrize("options", [{"only": KNOBS}, {"only": (), "preserve_multicore": True}])
def test_a_profile_with_something_that_the_person_does_not_want_is_not_applied(trouble, store, options):
    verdict = small(compare_profiles=True, budget="4min", single_out=False, **options)
    assert {"llvm-tips", "pyperf"}.isdisjoint(arm.name for arm in verdict.arms)
    assert "isolation" in {exclusion.knob: exclusion.reason for exclusion in verdict.excluded}["llvm-tips"]
    _, study, _ = stored(store, verdict.study)
    assert not any("isolation" in dict(settings.values) for settings in study.study.settings)


def test_several_programs_get_settings_together(trouble):
    verdict = small(("p", "q"), budget="200s")
    assert verdict.programs == ("p", "q")
    assert {comparison.program for comparison in verdict.comparisons} == {"p", "q"}
    assert verdict.settings.items() >= HELPFUL
    assert {contribution.program for contribution in verdict.contributions} == {"p", "q"}


def test_programs_come_from_sources(trouble, tmp_path):
    suite = tmp_path / "mine.toml"
    suite.write_text('[[program]]\nname = "one"\ncommand = "p 1"\n[[program]]\nname = "two"\ncommand = "p 2"\n')
    verdict = small((f"suite:{suite}",))
    assert verdict.programs == ("one", "two")
    assert small((Workload(argv=("p",), name="mine"),)).programs == ("mine",)


# --- cut anywhere, resumed ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def uncut():
    return {}


PARTS = (0.0, 0.01, 0.06, 0.15, 0.3, 0.22, 0.41, 0.53, 0.67, 0.78, 0.9, 0.95, 0.99)
"""Shares of a study after which it is stopped."""


@pytest.mark.parametrize("method", ["race", "greedy"])
@pytest.mark.parametrize("part", samples(PARTS[::3], PARTS))
def test_stopped_anywhere_and_resumed_the_verdict_is_the_same(trouble, store, uncut, method, part):
    options = {"method": method, "runs": 4, "loops": 2} if method == "greedy" else {"method": method}
    if method not in uncut:
        whole = small(**options)
        uncut[method] = (same(whole), [run[1:4] for run in stored(store, whole.study)[0]])
    verdict, steps = uncut[method]
    # Run 0 is the pilot run of the program.
    trouble.stops_at = at = max(1, round(part * len(steps)))
    with pytest.raises(Interrupted) as caught:
        small(**options)
    runs, study, none = stored(store, number_in(str(caught.value)))
    assert f"Interrupted after {at} runs" in str(caught.value)
    assert caught.value.exit_code == 130
    assert len(runs) == at
    assert none is None
    result = tune(resume=study.number)
    assert result.study == study.number
    assert same(result) == verdict
    assert [run[1:4] for run in stored(store, study.number)[0]] == steps


def number_in(sentence):
    return int(sentence.split("--resume ")[1])


def test_resumed_twice_and_by_last(trouble, store):
    whole = same(small())
    for at in (40, 90):
        trouble.stops_at = at
        with pytest.raises(Interrupted):
            small() if at == 40 else tune(resume="last")
    assert same(tune(resume="last")) == whole


def test_resume_without_a_store_number_is_not_offered(trouble):
    trouble.stops_at = 30
    with pytest.raises(Interrupted) as caught:
        small(store=False)
    assert "--resume" not in str(caught.value)


def test_ctrl_c_while_a_method_thinks_says_how_to_go_on(trouble, store, monkeypatch):
    import becalm.methods.race as race

    def stopped(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(race._Race, "choice", stopped)
    with pytest.raises(Interrupted, match="--resume 1"):
        small()
    monkeypatch.undo()


def test_studies_that_cannot_be_resumed_are_refused(trouble, store):
    import becalm

    with pytest.raises(UsageError, match="empty"):
        tune(resume="last")
    with pytest.raises(UsageError, match="its own programs"):
        tune(["p"], resume=1)
    becalm.run("spin 1ms", host="sim:calm", runs=3)
    with pytest.raises(UsageError, match="is not a tune study"):
        tune(resume=1)
    with pytest.raises(UsageError, match="no study 9"):
        tune(resume=9)
    number = small().study
    with pytest.raises(UsageError, match=f"finished. `becalm show {number}`"):
        tune(resume=number)


def test_resuming_without_the_rights_it_was_begun_with_is_refused(trouble, store):
    trouble.stops_at = 30
    with pytest.raises(Interrupted):
        small()
    trouble.privileged = False
    with pytest.raises(UsageError, match="becalm tune --sudo --resume 1"):
        tune(resume=1)


# --- what goes wrong ------------------------------------------------------------------------------------------------


def test_a_program_that_fails_untouched_is_an_error_with_its_words(trouble):
    trouble.fails = ("p",)
    with pytest.raises(WorkloadError, match="it went wrong"):
        small()


def test_settings_under_which_a_program_fails_are_never_recommended(trouble):
    trouble.fails = ("aslr=off",)
    verdict = small(method="greedy", budget="10min", confirm_loops=40)
    assert "aslr" not in verdict.settings
    assert verdict.settings["governor"] == "performance"
    assert any(trial.spread is None for trial in verdict.trials if "aslr" in trial.settings)


def test_the_failure_that_is_told_is_the_one_of_the_untouched_machine(trouble, monkeypatch):
    from tests.unit.small_machine import Repeatable

    whole = Repeatable._bad
    # Later on, the baseline fails; and so do settings, for another reason.
    monkeypatch.setattr(Repeatable, "_bad", lambda self, step, settings: step.round >= 2 or whole(self, step, settings))
    with pytest.raises(WorkloadError, match="it went wrong"):
        small()


@pytest.mark.parametrize("early", [False, True])
def test_settings_that_are_refused_are_a_finding_and_the_study_goes_on(trouble, early):
    refused = {"swap": "off", "turbo": "off"}
    (trouble.refuses_early if early else trouble.refuses).update(refused)
    verdict = small()
    assert verdict.settings.items() >= HELPFUL
    reasons = {exclusion.knob: exclusion.reason for exclusion in verdict.excluded}
    for name in refused:
        assert reasons[name] == (f"{name} cannot be off here." if early else f"{name} does not take off.")
        assert all(name not in trial.settings for trial in verdict.trials)


@pytest.mark.parametrize("refused", [{}, {"swap": "off"}])
def test_before_a_study_settings_are_applied_together_and_singly_only_where_some_are_refused(
    trouble, monkeypatch, refused
):
    from tests.unit.small_machine import Repeatable

    trouble.refuses.update(refused)
    applied = []
    define = Repeatable.define

    def seen(self, workloads, settings, **how):
        applied.extend(
            len(setting.values) for setting in settings if setting and setting.values and workloads[0].kernel
        )
        return define(self, workloads, settings, **how)

    monkeypatch.setattr(Repeatable, "define", seen)
    verdict = small()
    assert {exclusion.knob for exclusion in verdict.excluded} >= set(refused)
    assert applied[0] == max(applied)
    assert (1 in applied) == bool(refused)


@pytest.mark.parametrize("method", ["race", "greedy", "anneal"])
def test_settings_that_do_not_go_together_are_never_tried_together(trouble, store, method):
    trouble.pairs = (("governor", "turbo"), ("turbo", "swap"))
    verdict = small(method=method, budget="5min")
    assert verdict.settings.items() >= HELPFUL
    assert [finding for finding in verdict.findings if finding.kind == "refused"] == []
    tried = [set(trial.settings) for trial in verdict.trials]
    assert not any({"governor", "turbo"} <= knobs or {"turbo", "swap"} <= knobs for knobs in tried)
    assert any("governor" in knobs for knobs in tried)
    assert all(trial.spread is not None for trial in verdict.trials)


@pytest.mark.parametrize("method", ["greedy", "race"])
@pytest.mark.parametrize("early", [False, True])
def test_settings_that_are_refused_later_are_a_finding_and_the_study_goes_on(trouble, early, method):
    """Several arms of a race share a block: the one that the machine refused is named, not the first."""
    trouble.later = {"swap": "off"}
    trouble.early = early
    verdict = small(method=method, budget="10min")
    assert verdict.settings.items() >= HELPFUL
    assert "swap" not in verdict.settings
    sentences = [finding.sentence for finding in verdict.findings if finding.kind == "refused"]
    assert sentences
    assert all("swap=off" in sentence and "was not measured: swap" in sentence for sentence in sentences)


def test_an_unsettled_restore_is_raised_after_everything_is_stored(trouble, store):
    trouble.unsettled = "swappiness is 33, not 60."
    with pytest.raises(UnsettledError, match="swappiness is 33") as caught:
        small()
    assert "becalm show 1" in str(caught.value)
    _, _, verdict = stored(store, 1)
    assert dict(from_json(verdict).settings).items() >= HELPFUL


def test_a_change_by_somebody_else_is_a_finding_once(trouble):
    place = {"knob": "governor", "place": "/sys/x", "wanted": "performance", "found": "powersave"}
    trouble.drift = (place,)
    assert "/sys/x" in finding(small(), "setting_changed").sentence


def test_a_store_that_goes_in_the_middle_loses_nothing(trouble, store, tmp_path, monkeypatch):
    real, calls = Store.append, []

    def failing(self, *arguments, **keywords):
        calls.append(arguments)
        if len(calls) == 50:
            raise StoreError("The disk is full.")
        return real(self, *arguments, **keywords)

    monkeypatch.setattr(Store, "append", failing)
    with pytest.raises(StoreError, match="becalm import"):
        small()
    (rescued,) = (tmp_path / "XDG_STATE_HOME" / "becalm").glob("rescued-*.json")
    assert json.loads(rescued.read_text())["runs"]["rows"]
    monkeypatch.undo()


# --- trying what was found elsewhere --------------------------------------------------------------------------------


@pytest.fixture
def profiles(tmp_path):
    from becalm.nouns.settings import Settings
    from becalm.profiles import write

    def make_profile(name, **settings):
        return str(write(Profile(name, Settings.of(settings)), tmp_path / f"{name}.toml"))

    return make_profile


def test_tried_settings_make_a_transfer_table(trouble, profiles):
    good, idle = profiles("good", aslr="off", governor="performance"), profiles("idle", swap="off")
    verdict = small(("p", "q"), tried=(good, idle), budget="10min")
    assert verdict.method == "try"
    assert verdict.trials == ()
    assert verdict.search_runs == 0
    table = {(transfer.row, transfer.column): transfer.ratio for transfer in verdict.transfer}
    assert set(table) == {("p", "good"), ("p", "idle"), ("q", "good"), ("q", "idle")}
    assert table["p", "good"].low > 3
    assert table["p", "idle"].low < 1 < table["p", "idle"].high
    assert verdict.settings.items() >= HELPFUL


def test_a_study_can_be_tried_and_what_it_lacks_here_is_reported(trouble, profiles):
    first = small()
    assert small(tried=str(first.study)).transfer[0].ratio.low > 3
    verdict = small(tried=profiles("boot", rcu_nocbs="first-core", aslr="off"), budget="5min")
    assert {exclusion.knob for exclusion in verdict.excluded} == {"rcu_nocbs"}
    assert [transfer.column for transfer in verdict.transfer] == ["boot"]


def test_profiles_of_one_name_do_not_hide_each_other(trouble, profiles, tmp_path):
    from becalm.nouns.settings import Settings
    from becalm.profiles import write

    other = write(Profile("good", Settings.of({"swap": "off"})), tmp_path / "other.toml")
    reserved = write(Profile("baseline", Settings.of({"turbo": "off"})), tmp_path / "reserved.toml")
    verdict = small(tried=(profiles("good", aslr="off"), str(other), str(reserved)), budget="10min")
    columns = [transfer.column for transfer in verdict.transfer]
    assert columns == ["good", f"good ({other})", f"baseline ({reserved})"]


def test_trying_nothing_that_is_here_says_so(trouble, profiles):
    verdict = small(tried=profiles("boot", rcu_nocbs="first-core"))
    assert verdict.settings == {}
    assert verdict.transfer == ()
    assert "has nothing that can be set here" in finding(verdict, "tried").sentence


@pytest.mark.parametrize(
    ("settings", "says"), [({"niec": 1}, "Did you mean 'nice'"), ({"nice": -99}, "out of its domain")]
)
def test_profiles_that_are_wrong_are_reported_before_anything_is_measured(trouble, store, profiles, settings, says):
    with pytest.raises(UsageError, match=says):
        small(tried=profiles("wrong", **settings))
    with Store.open(store) as opened:
        assert opened.studies() == []


# --- options --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"method": "grdy"}, "Did you mean 'greedy'"),
        ({"objective": "sd"}, "--objective is one of cv, mad"),
        ({"loops": 0}, "--loops must be at least 1"),
        ({"runs": 1}, "--runs must be at least 2"),
        ({"warmups": -1}, "--warmups must be at least 0"),
        ({"most_runs": 0}, "--most-runs must be at least 1"),
        ({"confirm_loops": 1}, "--confirm-loops must be at least 2"),
        ({"confirm_runs": 1}, "--confirm-runs must be at least 2"),
        ({"threshold": "x"}, "'x'"),
        ({"margin": "-1%"}, "-1%"),
        ({"only": "aslrr"}, "Did you mean 'aslr'"),
        ({"without": ("aslrr",)}, "Did you mean 'aslr'"),
        ({"tried": "nothing-like-it"}, "no profile"),
        ({"confidence": 0.1}, "--confidence"),
        ({"confidence": 1}, "--confidence"),
        ({"warmup": 3}, "Did you mean 'warmups'"),
        ({"settings": {"nice": 1}}, "no option 'settings'"),
        ({"bugdet": 3}, "Did you mean 'budget'"),
        ({"host": "sim:smalll"}, "no simulated machine"),
    ],
)
def test_wrong_options_are_reported_before_anything_is_measured(trouble, store, options, says):
    with pytest.raises(UsageError, match=says):
        small(**options)
    with Store.open(store) as opened:
        assert opened.studies() == []


def test_no_program_is_reported(trouble):
    with pytest.raises(UsageError, match="No program is named"):
        tune([], host="sim:small")


def test_the_listener_hears_where_the_search_stands(trouble):
    heard = Heard()
    result = small(listener=heard)
    assert heard.end == result
    phases = [state.phase for state in heard.states]
    assert phases[0] == "look"
    assert phases[-1] == "confirm"
    assert heard.states[0].baseline is None
    assert heard.states[-1].baseline > 0.01
    assert [state.runs for state in heard.states] == sorted(state.runs for state in heard.states)
    assert all(state.planned > state.runs for state in heard.states)


def test_one_setting_is_swept_for_the_spread(store):
    verdict = tune(["spin 1s"], host="sim:laptop-a", seed=7, factors=["stat_interval=1..1000:log"], budget="5min")
    assert verdict.method == "sweep"
    values = [trial.settings.get("stat_interval") for trial in verdict.trials]
    assert values == [None, 1, 2, 6, 13, 32, 75, 178, 422, 1000]
    (curve,) = [table for _, table in tables.terminal(verdict) if table.title == "Along stat_interval"]
    assert [row[0] for row in curve.rows] == ["as it is", "1", "2", "6", "13", "32", "75", "178", "422", "1000"]
    assert verdict.fit is None
    assert "Along stat_interval" in as_html(verdict)
