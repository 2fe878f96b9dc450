"""A campaign on another machine through SSH."""

import json

from click.testing import CliRunner
from tests.system.test_campaign import nobody_loads

from becalm.cli.main import becalm as group
from becalm.plans import load_steps
from becalm.store import Store


def test_the_load_is_made_where_the_program_runs(far, monkeypatch):
    """By the command itself: the plan travels over ssh, and the study is explained here."""
    monkeypatch.setattr(load_steps, "LARGEST_BLOCK", 1)
    words = ["explain", "--designed", "--steps", "20", "--loads", "cpu", "--host", "far", "--json", "--", "true"]
    result = CliRunner().invoke(group, words)
    assert result.exception is None, result.output
    (number,) = json.loads(result.stdout)["studies"]
    with Store.open() as store:
        study = store.study(number)
        assert [run.round for run in store.runs(number)] == [-2, -1, *range(20)]
    assert (study.study.kind, study.study.host) == ("explain", "far")
    assert nobody_loads()
