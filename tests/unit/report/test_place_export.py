"""Exported placements: a script that runs, drop-ins, and pods; hostile names stay names."""

import json
import shlex

import pytest
import yaml

from becalm.errors import UsageError
from becalm.nouns.workload import AGENT
from becalm.report.place_export import FORMS, exported, lines
from becalm.results.place import Gain, PlacementAdvice, SharingShape
from becalm.results.place_costs import Chip, CostOrigin, PlacementObjective

HOSTILE = "a; touch owned $(touch owned) `touch owned` \"'\n\rExecStart=/bin/sh\x1b[31m"


def advice(sharing, chips, commands, shape=SharingShape.CHIPS):
    names = {name: 0.1 for names in sharing for name in names}
    return PlacementAdvice(
        "a profile", shape, chips, sharing, "optimal", PlacementObjective.DEGRADATION, CostOrigin.MEASURED, 0.1,
        names, commands,
        Gain(0.1, 0.01, 0.08, 0.12, 8), Gain(0.2, 0.01, 0.18, 0.22, 8), {},
    )  # fmt: skip


TWO = (Chip(1, cpus=(0,)), Chip(1, cpus=(0,)))


def script(placement):
    ((_, text),) = exported(placement, "taskset").files
    return text


def test_built_in_kernels_run_on_other_machines_too():
    text = script(
        advice((("one",), ("two",)), TWO, {"one": (AGENT, "kernel", "float", "--amount", "1000"), "two": ("true",)})
    )
    assert AGENT not in text
    assert "becalm-agent kernel float" in text


def test_a_task_without_a_command_is_a_comment():
    text = script(advice((("x\ny",), ("z",)), TWO, {"z": ("z",)}))
    assert "# x y: the profile has no command" in text
    assert shlex.split(text.splitlines()[-2], comments=True) == ["taskset", "-c", "0", "z", "&"]


def test_drop_ins_hold_nothing_but_their_lines():
    export = exported(
        advice((("web", HOSTILE), ("web.service",)), (Chip(2, cpus=(0, 1)), Chip(1, cpus=(2,))), {}), "systemd"
    )
    names = [name for name, _ in export.files]
    assert names[0] == "web.service.d/becalm-placement.conf"
    assert names[2] == "web-2.service.d/becalm-placement.conf"
    assert names[1].count("/") == 1
    assert "\n" not in names[1]
    for _, content in export.files:
        rows = content.splitlines()
        assert rows[0].startswith("# ")
        assert rows[1] == "[Service]"
        assert [row.partition("=")[0] for row in rows[2:]] == ["CPUAffinity", "AllowedCPUs"]
    assert "CPUAffinity=0 1\nAllowedCPUs=0 1\n" in export.files[0][1]


def test_pods_have_whole_cpus_by_chip():
    sharing = (("Batch Job", HOSTILE, "Batch Job"), (), ("web",))
    chips = (Chip(4), Chip(1), Chip(2))
    ((_, text),) = exported(advice(sharing, chips, {HOSTILE: ("sh", "-c", HOSTILE)}), "kubernetes").files
    pods = list(yaml.safe_load_all(text))
    assert [pod["metadata"]["name"] for pod in pods] == ["becalm-chip-0", "becalm-chip-2"]
    first, second = pods[0]["spec"]["containers"]
    assert first["name"] == "batch-job"
    assert first["resources"]["requests"] == first["resources"]["limits"] == {"cpu": "2", "memory": "MEMORY"}
    assert second["command"] == ["sh", "-c", HOSTILE]
    assert set(second["name"]) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


def test_placements_that_a_form_cannot_express_are_refused():
    rounds = advice((("a",),), (Chip(2, cpus=(0, 1)),), {}, SharingShape.ROUNDS)
    for form in ("systemd", "kubernetes"):
        with pytest.raises(UsageError, match="run in rounds"):
            exported(rounds, form)
    with pytest.raises(UsageError, match="no CPU numbers"):
        exported(advice((("a",), ("b",)), (Chip(1), Chip(1)), {}), "systemd")
    with pytest.raises(UsageError, match=f"The forms are: {', '.join(FORMS)}"):
        exported(rounds, "docker")


def test_several_files_are_named():
    export = exported(advice((("a",), ("b",)), TWO, {}), "systemd")
    assert [line for line in lines(export) if line.endswith(".conf")] == [f"# {name}" for name, _ in export.files]
    assert json.loads(json.dumps(export.to_json()))["files"][0]["name"].startswith("a.service.d")
