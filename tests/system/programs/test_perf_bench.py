"""The recipes for `perf bench` in docs/how-to/sources.md, on what this machine's perf prints."""

import re
import shlex

import pytest
from tests.places import ROOT

import becalm
from becalm.store import Store

pytestmark = pytest.mark.needs("perf")

TEXT = (ROOT / "docs/how-to/sources.md").read_text().partition("### perf bench")[2].partition("```\n\n")[0]
RECIPES = [line.removeprefix("$ becalm ") for line in TEXT.splitlines() if line.startswith("$ becalm ")]
SHORT = {"sched messaging": " -l 5", "sched pipe -l 20000": "", "-f simple mem memcpy -s 64MB -f default": ""}
"""The words that make each of them short, behind its own."""


def taken_apart(recipe):
    """Return the metric, and the programs, made short."""
    verb, option, metric, *programs = shlex.split(recipe)
    assert option == "--metric"
    if verb == "run":
        assert programs.pop(0) == "--"
        programs = [shlex.join(programs)]
    return metric, [program + SHORT[program.partition("perf bench ")[2]] for program in programs]


def test_there_are_recipes_of_each_kind():
    assert {re.search(r"perf bench (?:-f simple )?(\w+ \w+)", recipe)[1] for recipe in RECIPES} == {
        "sched messaging", "sched pipe", "mem memcpy",
    }  # fmt: skip


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_reads_what_perf_prints(recipe, store):
    metric, programs = taken_apart(recipe)
    for program in programs:
        verdict = becalm.run(program, metric=metric, runs=2, store=store, output="keep")
        (result,) = verdict.summaries[0].metrics
        assert result.unit == metric.partition("unit=")[2].partition(",")[0]
        with Store.open(store) as opened:
            texts = opened.texts(verdict.study)
            values = {run.seq: run.metrics[0] for run in opened.runs(verdict.study)}
        assert len(values) >= 2
        for number, value in values.items():
            assert value == float(re.search(metric.partition(",unit")[0], "".join(texts[number]))[1]) > 0
