"""Conclusions from a filled design, from the file to the sentence: published data, and data that decide little."""

import json

import numpy as np
import pytest
from tests.unit.surfaces.published import FILTRATION

from becalm.analysis.design_fit import fit
from becalm.designs.assemble import assemble
from becalm.designs.sheet import read
from becalm.errors import UsageError
from becalm.nouns.factor import Factor
from becalm.nouns.option import parse_keywords
from becalm.nouns.options.design import DesignOptions, FitOptions
from becalm.results.design_fit import DesignFit

CHEMREACT = """block,Time=80..90min,Temp=170..180C,Yield
1,80,170,80.5
1,80,180,81.5
1,90,170,82
1,90,180,83.5
1,85,175,83.9
1,85,175,84.3
1,85,175,84.0
2,85,175,79.7
2,85,175,79.8
2,85,175,79.5
2,92.07,175,78.4
2,77.93,175,75.6
2,85,182.07,78.5
2,85,167.93,77.0
"""
"""R's package rsm, `ChemReact`."""


def fitted(text, **options):
    return fit(read(text, "x.csv"), "x.csv", FitOptions(**parse_keywords(FitOptions, options)))


def filled(kind, factors, response, **values):
    """Return a design with a response of the coded places; with several responses, a tuple of functions."""
    options = DesignOptions(**parse_keywords(DesignOptions, {"randomize": False, **values}))
    design = assemble(kind, [Factor.parse(factor) for factor in factors], options, 1)
    every = response if isinstance(response, tuple) else (response,)
    head, *lines = design.csv.splitlines()
    rows = []
    for line, run in zip(lines, design.runs, strict=True):
        rows.append(line[: len(line) - len(every) + 1] + ",".join(str(record(run.coded)) for record in every))
    return "\n".join([head, *rows])


def kinds(analysis):
    return [finding.kind for finding in analysis.findings]


def finding(analysis, kind):
    return next(finding for finding in analysis.findings if finding.kind == kind)


def test_chemreact_from_the_file_to_the_sentence():
    analysis = fitted(CHEMREACT, goals={"Yield": "max"})
    (response,) = analysis.responses
    assert (response.model, analysis.blocks, response.power) == ("quadratic", 2, None)
    # The vignette of rsm prints 86.86148 and 176.67190 for the stationary point.
    assert response.stationary.place.levels == pytest.approx((86.86148, 176.67190), abs=1e-5)
    assert response.best.at.levels == pytest.approx((86.86148, 176.67190), abs=1e-5)
    assert {coefficient.term: coefficient.estimate for coefficient in response.coefficients} == pytest.approx(
        {
            "constant": 84.0954272034, "block 2": -4.4575297619, "Time": 0.9325408137, "Temp": 0.5777122345,
            "Time:Temp": 0.125, "Time^2": -1.3085554451, "Temp^2": -0.9334421609,
        },
        abs=1e-6,
    )  # fmt: skip
    assert {row.source: row.f for row in response.anova}["lack of fit"] == pytest.approx(0.530712, abs=1e-6)
    assert analysis.sentence == (
        "Yield: quadratic model, R² 0.998, predicted R² 0.992. Largest within the ranges: 82.137 (81.980 to 82.293) at "
        "Time 86.861 min, Temp 176.67 C."
    )
    assert kinds(analysis) == []


def test_the_json_has_no_number_that_json_lacks_and_is_the_same_each_time():
    first = json.dumps(fitted(CHEMREACT).to_json(), allow_nan=False)
    assert first == json.dumps(fitted(CHEMREACT).to_json(), allow_nan=False)


def test_the_order_of_the_lines_does_not_matter():
    head, *lines = CHEMREACT.splitlines()
    other = fitted("\n".join([head, *reversed(lines)]))
    (response,), (two,) = fitted(CHEMREACT).responses, other.responses
    assert [row.sum_of_squares for row in two.anova] == pytest.approx([row.sum_of_squares for row in response.anova])


def test_a_best_place_at_the_end_of_a_range_is_reported():
    analysis = fitted(CHEMREACT, goals={"Yield": "min"})
    assert finding(analysis, "at_border").numbers["factors"] == ("Time", "Temp")
    assert "a maximum, not a minimum" in finding(analysis, "stationary").sentence


def test_a_factor_without_effect_is_not_said_to_be_better_beyond_its_range():
    rng = np.random.default_rng(1)
    text = filled("factorial", ["a=0..1", "b=0..1", "c=0..1"], lambda x: x[0] + 0.1 * rng.normal(), centre=4)
    analysis = fitted(text, model="linear")
    (best,) = [response.best for response in analysis.responses]
    assert set(best.border) == {"a", "b", "c"}
    assert finding(analysis, "at_border").numbers["factors"] == ("a",)


def test_lack_of_fit_is_reported_first_with_what_to_do_next():
    rng = np.random.default_rng(1)
    text = filled(
        "central", ["a=0..1", "b=0..1"], lambda x: np.exp(2.5 * x[0] - 2 * x[1]) + 0.01 * rng.normal(), alpha=1.2
    )
    analysis = fitted(text, model="quadratic")
    assert kinds(analysis)[0] == "lack_of_fit"
    assert "which does not fit" in analysis.sentence
    assert "Do not use its optimum" in analysis.findings[0].sentence
    with_logarithm = fitted(
        filled(
            "central", ["a=0..1", "b=0..1"], lambda x: np.exp(2.5 * x[0] - 2 * x[1] + 0.01 * rng.normal()), alpha=1.2
        ),
        model="linear",
    )
    remark = finding(with_logarithm, "lack_of_fit")
    assert remark.numbers["power"] == 0.0
    assert "--transform log" in remark.sentence


def test_a_design_that_has_axial_points_is_not_sent_for_them():
    text = filled("central", ["a=0..1", "b=0..1"], lambda x: 4 * x[0] ** 3 + x[1] ** 2)
    remark = finding(fitted(text, model="linear"), "lack_of_fit").sentence
    assert "narrower ranges" in remark
    assert "axial points" not in remark
    crossed = filled("factorial", ["a=0..1", "b=0..1"], lambda x: x[0] + x[1] + 3 * (x[0] == 0), centre=4)
    assert "axial points" in finding(fitted(crossed.replace("3.0", "3.01", 1), model="linear"), "lack_of_fit").sentence


def test_the_power_that_is_found_makes_the_model_simple():
    rng = np.random.default_rng(3)
    text = filled(
        "box-behnken",
        ["a=0..1", "b=0..1", "c=0..1"],
        lambda x: np.exp(3 + x[0] - 0.5 * x[1] + 0.02 * rng.normal()),
        centre=5,
    )
    analysis = fitted(text, transform="auto")
    (response,) = analysis.responses
    assert (response.power, response.model) == (0.0, "linear")
    # In units of the response itself: exp(3 - 1 - 0.5) = 4.48
    assert response.best.value.low < np.exp(1.5) < response.best.value.high
    assert response.best.next_run.low < response.best.value.low
    plain = fitted(text)
    assert "power" in kinds(plain) or "lack_of_fit" in kinds(plain)


def test_nothing_found_says_what_would_have_been_seen():
    rng = np.random.default_rng(12)
    analysis = fitted(filled("central", ["a=0..1", "b=0..1"], lambda x: 100 + rng.normal(), blocks=2))
    (response,) = analysis.responses
    assert response.model == "mean"
    assert response.best is None
    assert finding(analysis, "no_effect").numbers["detectable"] == response.detectable
    assert "no effect of a and b was seen in 14 runs" in analysis.sentence
    # Half an effect is a coefficient: with 8 points at +-1, +-1.41 and sd near 1 its error is near 1 / sqrt 8.
    assert 1.2 < response.detectable < 4


def test_a_curved_response_of_two_levels_is_not_called_without_effect():
    text = filled("factorial", ["a=0..1", "b=0..1"], lambda x: 5 + 4 * (x[0] == 0) + 0.1 * x[0] * x[1], centre=3)
    rows = text.splitlines()
    rows[-1] += "1"
    analysis = fitted("\n".join(rows))
    assert "no effect" not in analysis.sentence
    assert "axial points" in finding(analysis, "lack_of_fit").sentence
    assert "no_effect" not in kinds(analysis)


def test_two_levels_and_no_run_left_are_judged_by_lenths_method():
    noise = [0.05, -0.06, 0.045, 0.055, -0.04, 0.05]
    design = filled(
        "factorial",
        [f"{letter}=0..1" for letter in "abcdefg"],
        lambda x: 3 + 2 * x[0] + sum(by * at for by, at in zip(noise, x[1:], strict=True)),
        runs=8,
    )
    analysis = fitted(design)
    assert analysis.responses[0].effects.effects[0].term == "a"
    assert finding(analysis, "saturated").numbers["real"] == ("a",)
    assert "a is significant by Lenth's method" in analysis.sentence


def test_the_filtration_rate():
    # Montgomery, example 6.2
    values = iter(FILTRATION)
    analysis = fitted(
        filled("factorial", [f"{letter}=0..1" for letter in "ABCD"], lambda x: next(values)), goals={"y": "max"}
    )
    (response,) = analysis.responses
    assert [effect.term for effect in response.effects.effects if effect.real] == ["A", "A:C", "A:D", "D", "C"]
    assert response.effects.effects[0].share == pytest.approx(0.3264, abs=1e-4)
    assert response.best.at.coded == (1, 1, -1, 1)
    assert "untested_fit" in kinds(analysis)
    assert finding(analysis, "aliased_terms").numbers["terms"][0] == "A^2 = constant"


def test_missing_cells_are_left_out_and_counted():
    lines = CHEMREACT.splitlines()
    lines[4] = lines[4].rpartition(",")[0] + ","
    analysis = fitted("\n".join(lines))
    assert finding(analysis, "missing_runs").numbers == {"missing": 1, "runs": 13}
    assert analysis.responses[0].runs == 13


def test_values_that_are_not_above_nought_have_no_power():
    analysis = fitted(CHEMREACT.replace("80.5", "-80.5"))
    assert finding(analysis, "no_power").numbers["smallest"] == -80.5
    assert analysis.responses[0].box_cox is None
    with pytest.raises(UsageError, match=r"Yield is -80\.5 in one run, and a power or logarithm needs values above 0"):
        fitted(CHEMREACT.replace("80.5", "-80.5"), transform="log")
    assert fitted(CHEMREACT.replace("80.5", "-80.5"), transform="auto").responses[0].power is None


def test_a_run_that_is_wrong_is_named():
    analysis = fitted(CHEMREACT.replace("79.8", "60"))
    assert finding(analysis, "fit_outlier").numbers["run"] == 9


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            CHEMREACT,
            {"model": "cubic"},
            r"cubic model of Yield cannot be estimated .* They allow: linear, 2fi, quadratic",
        ),
        (CHEMREACT, {"goals": {"speed": "max"}}, "no response 'speed'"),
        ("a=0..1,y\n0,5\n1,5\n0.5,5\n", {}, "y is 5 in all 3 runs"),
        ("a=0..1,y\n0,5\n1,6\n0.5,\n", {}, "filled in for 2 of 3 runs"),
        ("a=0..1,b=0..1,y\n0,0,5\n1,1,6\n0,1,7\n", {"model": "quadratic"}, "cannot be estimated from these 3 runs"),
    ],
)
def test_data_without_an_answer_are_refused_in_a_sentence(text, options, message):
    with pytest.raises(UsageError, match=message):
        fitted(text, **options)


def test_two_responses_are_weighed_against_each_other():
    rng = np.random.default_rng(2)
    time = lambda x: 20 + 4 * x[0] - x[1] + 2 * x[0] ** 2 + 0.1 * rng.normal()  # noqa: E731
    spread = lambda x: 5 - 2 * x[0] + x[1] ** 2 + 0.05 * rng.normal()  # noqa: E731
    text = filled(
        "central", ["a=1..100:log", "b=0..1"], (time, spread), responses=("time", "spread"), alpha="face-centred"
    )
    analysis = fitted(text, goals={"time": "min:15..30", "spread": "min:2..8"})
    best = analysis.compromise
    # By hand: D^2 ~ (30 - time)(8 - spread) on b near its middle; the optimum lies between the two single ones.
    first, second = (response.best.at.coded[0] for response in analysis.responses)
    assert min(first, second) <= best.at.coded[0] <= max(first, second)
    grid = np.array([(a, b) for a in np.linspace(-1, 1, 81) for b in np.linspace(-1, 1, 81)])
    t = (30 - (20 + 4 * grid[:, 0] - grid[:, 1] + 2 * grid[:, 0] ** 2)) / 15
    s = (8 - (5 - 2 * grid[:, 0] + grid[:, 1] ** 2)) / 6
    truth = grid[(np.clip(t, 0, 1) * np.clip(s, 0, 1)).argmax()]
    assert best.at.coded == pytest.approx(truth, abs=0.15)
    assert best.place[0].low <= best.at.levels[0] <= best.place[0].high
    assert "Best compromise" in analysis.sentence


def test_a_goal_of_a_target_is_met():
    analysis = fitted(CHEMREACT, goals={"Yield": "target:78..80..82"})
    best = analysis.responses[0].best
    assert best.at.value == pytest.approx(80, abs=1e-4)
    assert best.value.low < 80 < best.value.high


def test_choices_take_part():
    rng = np.random.default_rng(4)
    text = filled(
        "central",
        ["a=0..1", "b=0..1", "policy=x,y,z"],
        lambda c: 10 + (c[0] - 0.2) ** 2 + c[1] ** 2 + [0.0, -3.0, 1.0][int(c[2])] + 0.05 * rng.normal(),
    )
    (response,) = fitted(text).responses
    assert response.best.at.levels[2] == "y"
    assert response.best.shares[2] == (0.0, 1.0, 0.0)
    assert response.stationary.kind == "minimum"
    assert response.stationary.place.levels[0] == pytest.approx(0.6, abs=0.05)


def test_the_best_of_a_whole_factor_can_be_set():
    rng = np.random.default_rng(6)
    text = filled(
        "central", ["n=1..6:whole", "b=0..1"], lambda x: 3 + (x[0] - 0.05) ** 2 + x[1] ** 2 + 0.01 * rng.normal(),
        alpha="face-centred",
    )  # fmt: skip
    (response,) = fitted(text).responses
    level, coded = response.best.at.levels[0], response.best.at.coded[0]
    assert isinstance(level, int)
    assert coded == pytest.approx((level - 3.5) / 2.5)
    assert response.best.value.value == pytest.approx(response.best.at.value)


def test_a_model_that_only_guesses_names_the_place_where_runs_were():
    rng = np.random.default_rng(5)
    lines = [
        f"{a:.4f},{b:.4f},{2 - a + b * b + 0.05 * rng.standard_normal():.4f}" for a, b in rng.uniform(0, 0.25, (14, 2))
    ]
    analysis = fitted("\n".join(["a=-1..1,b=-1..1,y", *lines]), model="quadratic", goals={"y": "min"})
    (response,) = analysis.responses
    assert response.best.beyond
    assert "is extrapolated, as there is no run nearby. Smallest at the place of a run: 1." in response.sentence
    assert f"{response.best.value.value:.3f}" not in response.sentence
    assert not fitted(CHEMREACT).responses[0].best.beyond


def interacting(coded):
    return 20 + 3 * coded[0] - 2 * coded[3] + 2.5 * coded[0] * coded[3] + 0.01 * coded[1]


def test_a_plackett_burman_design_says_what_its_effects_hold():
    factors = [f"{name}=0..1" for name in "abcdefgh"]
    analysis = fitted(filled("plackett-burman", factors, interacting))
    assert finding(analysis, "partly_aliased").numbers == {"share": pytest.approx(1 / 3)}
    assert "aliased_terms" not in kinds(analysis), "said once"
    assert {row.term for row in analysis.responses[0].effects.effects} == set("abcdefgh")


def test_its_foldover_clears_them():
    factors = [f"{name}=0..1" for name in "abcdefgh"]
    analysis = fitted(filled("plackett-burman", factors, interacting, fold=["all"]))
    assert "partly_aliased" not in kinds(analysis)
    effects = {row.term: row.effect for row in analysis.responses[0].effects.effects}
    assert (effects["a"], effects["d"], effects["c"]) == pytest.approx((6, -4, 0), abs=1e-9)
    assert analysis.responses[0].effects.partial == 0
    page = DesignFit.from_json(json.loads(json.dumps(analysis.to_json())))
    assert page.responses[0].effects.partial == 0


def test_effects_that_stand_out_are_never_no_effect():
    """The linear model of a folded fraction shows nothing next to a large interaction, and the next takes all runs."""
    factors = [f"{name}=0..1" for name in "abcdefg"]
    noise = dict(zip(range(16), np.random.default_rng(1).normal(size=16), strict=True))
    analysis = fitted(
        filled("factorial", factors, lambda at: interacting(at) + 0.1 * noise.popitem()[1], runs=8, fold=["all"])
    )
    assert analysis.responses[0].model == "mean"
    assert {"a", "d", "a:d"} <= set(analysis.responses[0].certain)
    assert "no_effect" not in kinds(analysis)
    assert "no effect" not in analysis.sentence
    assert "a, a:d and d are significant by Lenth's method" in analysis.sentence


CENTRES = """x1=-1..1,x2=-1..1,y
-1,-1,10.1
1,-1,12.0
-1,1,11.1
1,1,13.2
0,0,15.0
0,0,15.2
0,0,14.9
0,0,15.1
"""


def test_centre_points_show_curvature_and_the_noise():
    analysis = fitted(CENTRES)
    assert "x1 (2, 15 standard errors) and x2 (1.1, 8.5 standard errors) are significant" in analysis.sentence
    assert "3.45 above the mean of the corners" in analysis.sentence
    assert finding(analysis, "curvature").numbers["freedom"] == 3
    again = DesignFit.from_json(json.loads(json.dumps(analysis.to_json())))
    assert again.responses[0].effects.curvature == analysis.responses[0].effects.curvature


def test_exact_data_are_said_to_fit_exactly():
    lines = ["x1=-1..1,x2=-1..1,y", "-1,-1,1", "1,-1,2", "-1,1,3", "1,1,4", "0,0,2.5", "0,0,2.5"]
    analysis = fitted("\n".join(lines))
    assert "linear model, which fits exactly" in analysis.sentence
    assert not {"lack_of_fit", "untested_fit", "influential"} & set(kinds(analysis))
    lines[-1] = "0,0,2.6"
    assert "exactly" not in fitted("\n".join(lines)).sentence


def test_intervals_of_large_values_keep_their_digits():
    rng = np.random.default_rng(2)
    text = filled("central", ["a=0..1", "b=0..1"], lambda x: round(12_345_678 + 900 * x[0] + 40 * rng.normal()))
    (response,) = fitted(text).responses
    value = response.best.value
    assert f"within the ranges: {value.value:.0f}" in response.sentence
    assert f" to {value.high:.0f}" in response.sentence


def test_a_near_ridge_is_a_finding():
    rng = np.random.default_rng(2)
    text = filled("central", ["a=0..1", "b=0..1"], lambda x: 50 - 4 * (x[0] + x[1]) ** 2 + 0.1 * rng.normal(), centre=5)
    remark = finding(fitted(text, goals={"y": "max"}), "near_ridge")
    assert "nearly level along a +0.7" in remark.sentence
    bowl = filled("central", ["a=0..1", "b=0..1"], lambda x: 50 - 4 * (x[0] ** 2 + x[1] ** 2) + 0.1 * rng.normal())
    assert "near_ridge" not in kinds(fitted(bowl, goals={"y": "max"}))
