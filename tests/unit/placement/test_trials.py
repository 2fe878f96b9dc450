"""Placements tried in simulation: what chance gives, and copies of one program."""

import pytest

from becalm.placement import model, trials
from becalm.results.place_costs import Chip, PlacementObjective


def test_random_is_the_mean_of_all_sharings_and_not_one_draw():
    names = ["gcc", "lbm", "mcf", "milc", "povray", "namd", "gobmk", "libquantum"]
    known, chips = model.published(), (Chip(4), Chip(4))
    rows = [trials.tried(known, names, chips, ["random"], seed=seed).rows[0] for seed in range(3)]
    # By all 35 sharings: 15.765 %.
    assert [row.cost(PlacementObjective.DEGRADATION) for row in rows] == pytest.approx([0.157650] * 3, abs=1e-5)
    assert len({row.placement.sharing for row in rows}) > 1
    drained = trials.tried(known, names[:4], (Chip(2), Chip(2)), ["random"], drain=True).rows[0]
    assert drained.expected is not None


def test_copies_of_one_program_are_placed():
    trial = trials.tried(model.published(), ["gcc", "gcc", "lbm"], (Chip(2), Chip(2)), ["linux"])
    assert trial.tasks == ("gcc", "gcc 2", "lbm")
    assert sorted(name for chip in trial.rows[0].placement.sharing for name in chip) == ["gcc", "gcc 2", "lbm"]
