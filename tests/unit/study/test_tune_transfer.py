"""tune on several hosts: found on the first, tried on the others, reported as measured."""

import json

import pytest
from click.testing import CliRunner

from becalm.cli.main import becalm
from becalm.errors import UsageError
from becalm.store import Store
from becalm.verbs.tune import tune

QUICK = {
    "budget": "none",
    "most_runs": 60,
    "confirm_loops": 6,
    "single_out": False,
    "compare_profiles": False,
    "seed": 2,
}


def test_settings_found_on_the_first_host_are_tried_on_the_others(store):
    verdict = tune(["spin 1s"], hosts=["sim:laptop-a", "sim:laptop-a:7", "sim:outside"], **QUICK)
    first, same, outside = verdict.hosts
    assert first.verdict.settings
    assert [transfer.row for transfer in verdict.transfer] == ["sim:laptop-a:7", "sim:outside"]
    assert {transfer.column for transfer in verdict.transfer} == {"sim:laptop-a"}
    # The same kind of machine is much steadier; one whose noise comes from outside is not.
    assert verdict.transfer[0].ratio.low > 3
    assert verdict.transfer[1].ratio.low < 2
    with Store.open(store) as opened:
        assert [opened.study(host.study).study.host for host in verdict.hosts] == [host.host for host in verdict.hosts]
        tried = opened.study(same.study).study.options["allowed"]["tried"]
    assert tried[0][1] == dict(first.verdict.settings)
    assert "On sim:laptop-a:7 the settings of sim:laptop-a reduce its spread" in verdict.sentence
    assert outside.verdict.method == "try"


def test_three_hosts_tell_what_a_further_one_may_do(store):
    hosts = ["sim:laptop-a", "sim:laptop-a:7", "sim:laptop-a:8"]
    verdict = tune(["spin 1s"], hosts=hosts, tried=("llvm-tips",), **{**QUICK, "most_runs": None})
    (further,) = verdict.further
    ratios = [transfer.ratio.value for transfer in verdict.transfer]
    assert further.column == "llvm-tips"
    assert further.ratio.low < min(ratios) < max(ratios) < further.ratio.high
    assert (
        "On a further host like these the settings of llvm-tips are expected to reduce the spread" in verdict.sentence
    )
    assert verdict.to_json()["further"][0]["column"] == "llvm-tips"


def test_profiles_are_tried_on_all(store):
    verdict = tune(
        ["spin 1s"], hosts=["sim:laptop-a", "sim:laptop-a:7"], tried=("llvm-tips",), **{**QUICK, "most_runs": None}
    )
    assert [(transfer.row, transfer.column) for transfer in verdict.transfer] == [
        ("sim:laptop-a", "llvm-tips"),
        ("sim:laptop-a:7", "llvm-tips"),
    ]


@pytest.mark.parametrize(("options", "words"), [({"resume": 3}, "has its own host"), ({"store": False}, "--no-store")])
def test_invalid_options_are_refused(store, options, words):
    with pytest.raises(UsageError, match=words):
        tune(["spin 1s"], hosts=["sim:laptop-a", "sim:b"], **options)


def test_the_command_line(store):
    arguments = [
        "tune", "--host", "sim:laptop-a", "--host", "sim:laptop-a:7", "--budget", "none", "--most-runs", "60", "--seed",
        "2", "--confirm-loops", "6", "--no-single-out", "--no-profiles",
    ]  # fmt: skip
    value = json.loads(
        CliRunner().invoke(becalm, [*arguments, "--json", "--", "spin 1s"], standalone_mode=False).output
    )
    assert value["kind"] == "tune"
    assert value["transfer"][0]["row"] == "sim:laptop-a:7"
    assert value["hosts"][1]["verdict"]["method"] == "try"
    shown = CliRunner().invoke(becalm, [*arguments, "--plain", "--", "spin 1s"], standalone_mode=False).output
    assert "reduction" in shown
    assert "settings of sim:laptop-a reduce its spread" in " ".join(shown.split())
