"""`becalm design swarm` as people use it: models, a filled design, and what it refuses."""

import pytest
from click.testing import CliRunner

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import UsageError

QUICK = {"searches": 2, "evaluations": 20, "dimensions": 2}


def sheet(tmp_path, values):
    path = tmp_path / "runs.csv"
    design = becalm.design("central", ["a=0..10", "b=0..10"], responses=("time",), seed=1)
    lines = design.csv.splitlines()
    rows = [f"{line}{values(run)}" for line, run in zip(lines[1:], design.runs, strict=True)]
    path.write_text("\n".join([lines[0], *rows]))
    return path


def test_it_gives_a_fit_of_fourteen_runs_and_says_how_good_it_is():
    fit = becalm.design_swarm(models=("bowl",), **QUICK)
    assert fit.runs == 14
    assert [factor.name for factor in fit.factors] == ["omega", "phi_p", "phi_g"]
    assert "On fresh searches it misses" in fit.sentence
    assert "--swarm" in fit.sentence or "the usual parameters are as good" in fit.sentence
    assert becalm.design_swarm(models=("bowl",), **QUICK) == fit


def test_the_surface_of_a_filled_design_is_searched(tmp_path):
    path = sheet(tmp_path, lambda run: f"{20 + 5 * (run.coded[0] - 0.6) ** 2 + 4 * (run.coded[1] + 0.5) ** 2:.4f}")
    fit = becalm.design_swarm(path, searches=2, evaluations=20)
    assert fit.file == str(path)
    assert "On fresh searches" in fit.sentence


def test_a_surface_with_nothing_to_gain_is_refused(tmp_path):
    path = sheet(tmp_path, lambda run: f"{20 + 5 * run.coded[0] ** 2 + 4 * run.coded[1] ** 2:.6f}")
    with pytest.raises(UsageError, match="nowhere better than at its centre"):
        becalm.design_swarm(path, searches=1)


def test_invalid_models_and_files_are_refused(tmp_path):
    with pytest.raises(UsageError, match="There is no model 'hill'"):
        becalm.design_swarm(models=("hill",))
    with pytest.raises(UsageError, match="contradict each other"):
        becalm.design_swarm(tmp_path / "runs.csv", models=("bowl",))
    with pytest.raises(UsageError, match="cannot be read"):
        becalm.design_swarm(tmp_path / "runs.csv")


def test_the_command_prints_the_fit():
    ran = CliRunner().invoke(
        group,
        ["design", "swarm", "--model", "bowl", "--factors", "2", "--searches", "2", "--evaluations", "20", "--plain"],
    )
    assert ran.exit_code == 0, ran.output
    assert "loss: quadratic model" in ran.output
    assert "On fresh searches it misses" in ran.output
