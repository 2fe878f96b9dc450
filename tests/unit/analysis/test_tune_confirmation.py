"""Conclusions from a confirmation, on arms whose truth is known."""

from __future__ import annotations

import json
import math
import tomllib

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace
from tests.rates import at_most
from tests.samples import samples
from tests.unit.analysis.confirmations import CHOSEN, PROGRAM, TRUTH, confirmation, verdict

from becalm.analysis.tune_confirmation import judge, leave_one_out, without
from becalm.methods.protocol import Sample
from becalm.nouns.settings import Settings
from becalm.results.tune import TuneVerdict, from_json, settings_of
from becalm.results.tune_arms import BASELINE, LISTED, RECOMMENDED, TUNED
from becalm.wording import tune as sentences
from becalm.wording.findings import finding


def test_leave_one_out_takes_along_what_has_no_meaning_by_itself() -> None:
    chosen = Settings.of({"isolation": "on", "tick": "off", "rcu": "off", "nice": -20})
    arms = leave_one_out(chosen, {"tick": ("isolation",), "rcu": ("tick",)})
    assert set(arms) == {"without isolation", "without tick", "without rcu", "without nice"}
    assert arms["without isolation"].to_json() == {"nice": -20}
    assert arms["without tick"].to_json() == {"isolation": "on", "nice": -20}
    assert arms["without nice"].to_json() == {"isolation": "on", "rcu": "off", "tick": "off"}


def test_the_truth_is_found(study: TuneVerdict) -> None:
    mine = {comparison.arm: comparison for comparison in study.comparisons}
    truth = TRUTH[BASELINE][1] / TRUTH[TUNED][1]
    assert mine[TUNED].ratio.low <= truth <= mine[TUNED].ratio.high
    assert mine[TUNED].shift.low <= 0.02 <= mine[TUNED].shift.high
    assert mine[TUNED].p_value < 1e-4
    assert mine[TUNED].f_p < 1e-10
    assert mine[TUNED].f_df == (299, 299)
    helping = {contribution.knob: contribution for contribution in study.contributions}
    assert helping["governor"].ratio.low <= 0.021 / 0.0032 <= helping["governor"].ratio.high
    assert helping["turbo"].cost.low <= 1.02 / 0.985 - 1 <= helping["turbo"].cost.high
    assert study.droppable == ("aslr", "nice")
    assert "helps" in helping["turbo"].sentence
    assert "can be left out" in helping["nice"].sentence


def test_ratio_of_the_spreads_that_are_shown_is_the_ratio_that_is_shown(study: TuneVerdict) -> None:
    arms = {arm.name: arm for arm in study.arms}
    for comparison in study.comparisons:
        assert arms[BASELINE].spread.value / arms[comparison.arm].spread.value == pytest.approx(comparison.ratio.value)
        assert comparison.f == pytest.approx((arms[BASELINE].overall / arms[comparison.arm].overall) ** 2)


def test_f_of_the_source() -> None:
    # 0.22 / 0.06 = 3.67 exceeds F(40, 40) = 2.73 at 0.1 %.
    rng = np.random.default_rng(1)
    white = rng.standard_normal(41)
    white = (white - white.mean()) / white.std(ddof=1)
    arms = {
        BASELINE: [Sample(Settings(), (1e9 * (1 + 0.001 * math.sqrt(0.22) * white),))],
        TUNED: [Sample(CHOSEN, (1e9 * (1 + 0.001 * math.sqrt(0.06) * rng.permutation(white)),))],
    }
    comparison = judge(arms, ("x",)).comparisons[0]
    assert comparison.f == pytest.approx(3.67, abs=0.005)
    assert comparison.f_df == (40, 40)
    assert comparison.f_p < 2 * 0.001
    assert comparison.loops == 1


def test_knobs_that_are_not_shown_to_help_go_when_fresh_runs_lose_nothing() -> None:
    first = judge(confirmation(TRUTH), (PROGRAM,), margin=0.25)
    assert first.settings == CHOSEN
    assert set(first.spare) == {"aslr", "nice"}
    fewer = without(CHOSEN, first.spare)
    assert fewer == Settings.of({"governor": "performance", "turbo": False})
    again = {name: TRUTH[name] for name in (BASELINE, TUNED)}
    good = judge(confirmation({**again, RECOMMENDED: (fewer, 0.0031, 1.02)}, 40), (PROGRAM,), margin=0.25)
    assert good.settings == fewer
    bad = judge(confirmation({**again, RECOMMENDED: (fewer, 0.0045, 1.02)}, 40), (PROGRAM,), margin=0.25)
    assert bad.settings == CHOSEN
    few = judge(confirmation({**again, RECOMMENDED: (fewer, 0.0031, 1.02)}, 3), (PROGRAM,), margin=0.25)
    assert few.settings == CHOSEN


def test_a_knob_goes_only_when_no_program_needs_it() -> None:
    truth = {name: TRUTH[name] for name in (BASELINE, TUNED, "without nice")}
    arms = confirmation(truth, programs=2)
    needy = confirmation({"without nice": (TRUTH["without nice"][0], 0.02, 1.02)}, seed=5)["without nice"]
    arms["without nice"][1] = needy[0]
    confirmed = judge(arms, ("one", "two"), margin=0.25)
    assert [contribution.droppable for contribution in confirmed.contributions] == [True, False]
    assert confirmed.droppable == ()
    assert confirmed.settings == CHOSEN


@pytest.mark.parametrize("spread", [0.0576, 0.08])
def test_settings_that_do_not_help_are_not_recommended(spread: float) -> None:
    confirmed = judge(confirmation({BASELINE: TRUTH[BASELINE], TUNED: (CHOSEN, spread, 1.0)}), (PROGRAM,))
    assert confirmed.settings == Settings()
    text = sentences.verdict(verdict(confirmed))
    assert "Nothing to recommend" in text
    assert ("rises" in text) is (spread > 0.06)
    assert sentences.commands(verdict(confirmed))[0][0].startswith("becalm compare")


def test_where_there_was_no_time_for_a_search_what_was_measured_instead_is_reported() -> None:
    confirmed = judge(confirmation({BASELINE: TRUTH[BASELINE], TUNED: (CHOSEN, 0.0576, 1.0)}), (PROGRAM,))
    (compared,) = confirmed.comparisons
    compared = replace(compared, arm=LISTED)
    short = replace(verdict(confirmed), comparisons=(compared,), chosen={}, search_runs=0)
    assert sentences.verdict(short).splitlines() == [
        f"After the first look at {PROGRAM} there was no time for a search, only for all known profiles together. "
        "A longer --budget allows one.",
        compared.sentence,
        "Nothing to recommend: leave the machine as it is.",
    ]
    assert sentences.verdict(replace(short, comparisons=())).startswith("No settings were tried")


def test_undecided_is_kept_and_says_how_long_it_would_take() -> None:
    truth = {name: TRUTH[name] for name in (BASELINE, TUNED, "without nice")}
    contribution = judge(confirmation(truth, loops=3), (PROGRAM,), margin=0.05).contributions[0]
    assert not contribution.droppable
    assert "undecided and stays" in contribution.sentence
    assert contribution.loops_needed is not None
    assert f"about {contribution.loops_needed} loops would decide" in contribution.sentence


def test_one_loop_drops_nothing() -> None:
    truth = {**TRUTH, "without nice": (TRUTH["without nice"][0], 0.0001, 1.02)}
    assert judge(confirmation(truth, loops=1), (PROGRAM,), margin=0.25).droppable == ()


def test_failed_runs_are_reported_and_lost_loops_left_out() -> None:
    arms = confirmation({name: TRUTH[name] for name in (BASELINE, TUNED, "pyperf")}, loops=6)
    whole = arms[TUNED][0]
    cut = (*whole.loops[:2], whole.loops[2][:1], *whole.loops[3:])
    arms[TUNED] = [replace(whole, loops=cut, failed=14)]
    arms["pyperf"] = [Sample(TRUTH["pyperf"][0], (np.empty(0),) * 6, 90)]
    confirmed = judge(arms, (PROGRAM,))
    assert [comparison.loops for comparison in confirmed.comparisons] == [5]
    assert [finding.numbers["arm"] for finding in confirmed.findings] == [TUNED, "pyperf"]
    assert "failed in 14 runs" in confirmed.findings[0].sentence
    # Far steadier, but programs have to work.
    assert confirmed.comparisons[0].ratio.low > 10
    assert confirmed.settings == Settings()
    assert "a program fails with them" in verdict(confirmed).sentence
    nothing = next(arm for arm in confirmed.arms if arm.name == "pyperf")
    assert (nothing.runs, nothing.failed, nothing.spread.value) == (0, 90, math.inf)
    assert from_json(json.loads(json.dumps(verdict(confirmed).to_json()))).arms == confirmed.arms


def test_settings_that_the_machine_did_not_take_at_last_are_no_fault_of_the_program() -> None:
    arms = confirmation({name: TRUTH[name] for name in (BASELINE, TUNED)}, loops=6)
    arms[TUNED] = [replace(arms[TUNED][0], failed=1, refused=True)]
    confirmed = judge(arms, (PROGRAM,))
    assert confirmed.findings == ()
    assert confirmed.settings == Settings()
    chosen = verdict(confirmed)
    refused = finding("refused", {"settings": dict(chosen.chosen), "error": "bench did not come up."})
    text = sentences.verdict(replace(chosen, findings=(refused,)))
    assert "they were not accepted each time, as explained below" in text
    assert "a program fails" not in text


def test_arms_that_are_missing_or_do_not_fit_are_refused() -> None:
    arms = confirmation({BASELINE: TRUTH[BASELINE]}, 2)
    with pytest.raises(ValueError, match="tuned is missing"):
        judge(arms, (PROGRAM,))
    with pytest.raises(ValueError, match="1 samples for 2 programs"):
        judge({**arms, TUNED: arms[BASELINE]}, ("one", "two"))


def test_false_recommendations_are_as_rare_as_stated() -> None:
    equal = {BASELINE: TRUTH[BASELINE], TUNED: (CHOSEN, TRUTH[BASELINE][1], 1.0)}
    trials = samples(80, 1000)
    wrong = sum(bool(judge(confirmation(equal, 6, 8, seed), (PROGRAM,)).settings.values) for seed in range(trials))
    # Half of the 5 % errs upwards.
    assert wrong <= at_most(trials, 0.025, 0.01)


def test_round_trip_of_json(study: TuneVerdict) -> None:
    assert from_json(json.loads(json.dumps(study.to_json()))) == study
    document = verdict(judge(confirmation(TRUTH, loops=1), (PROGRAM,), objective="mad"))
    assert from_json(json.loads(json.dumps(document.to_json()))) == document
    with pytest.raises(msgspec.ValidationError, match="missing required field `study`"):
        from_json({"kind": "tune"})


def test_profile_is_toml_that_gives_the_settings_back(study: TuneVerdict) -> None:
    odd = replace(study, settings={"a b": 'quote " and \\ and é\n', "turbo": False, "nice": -20}, programs=("x\x07",))
    for arm in (study, odd):
        read = tomllib.loads(sentences.profile(arm))
        assert read["settings"] == arm.settings
        assert set(read) == {"name", "description", "settings"}
    assert settings_of(study).to_json() == study.settings
