"""`export-settings` on a tree that looks like a laptop: what is written to where there, and what was found before."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import becalm as api
from becalm import hosts
from becalm.errors import UsageError
from becalm.hosts import Access
from becalm.study.tune import _production


def exported(root, *references, **options):
    return api.export_settings(*references, root=str(root), **options)


def by_form(export):
    return {file.form: file.content for file in export.files}


def test_every_kind_of_place_comes_to_its_file(root):
    export = exported(root, settings={"swappiness": 10, "governor": "performance", "nice": -5, "cpu_dma_latency": 0})
    text = by_form(export)
    assert "vm.swappiness = 10" in text["sysctl"]
    assert "sysctl --write vm.swappiness=60" in text["sysctl"]
    assert "w /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor - - - - performance" in text["tmpfiles"]
    drop_in = next(file for file in export.files if "PROGRAM" in file.path)
    assert "Nice=-5" in drop_in.content
    assert any("echo 00000000 >&3" in file.content for file in export.files)
    assert export.left == ()
    assert (Path(root) / "proc/sys/vm/swappiness").read_text() == "60\n", "nothing is changed"


def test_a_share_of_the_cpus_is_that_of_the_programs_unit(root):
    (file,) = exported(root, settings={"cpu_weight": 200}).files
    assert "PROGRAM.service.d" in file.path
    assert "CPUWeight=200" in file.content


def test_every_setting_of_a_shipped_profile_is_in_a_file_or_reported_as_in_none(root):
    for name in ("llvm-tips", "pyperf"):
        export = exported(root, name)
        held = {knob for file in export.files for knob in file.knobs}
        left = {exclusion.knob: exclusion.reason for exclusion in export.left}
        assert held | left.keys() == set(export.settings)
        assert not held & left.keys()
        assert all(left.values())


@pytest.mark.parametrize("name", ["isolation", "swap", "services", "irq_affinity", "aslr", "slice_ns"])
def test_settings_that_no_file_can_hold_have_an_alternative(root, name):
    value = {"isolation": "first-core", "swap": "off", "services": "pause", "irq_affinity": "away"}.get(name)
    export = exported(root, settings={name: value or {"aslr": "off", "slice_ns": "3000000"}[name]})
    assert export.files == ()
    assert [exclusion.knob for exclusion in export.left] == [name]
    assert len(export.left[0].reason) > 30


def test_values_that_becalm_applied_are_not_taken_for_the_original_ones(root):
    api.apply(api.profile(settings={"swappiness": 10}), root=str(root))
    export = exported(root, settings={"swappiness": 5})
    assert "sysctl --write vm.swappiness=60" in by_form(export)["sysctl"]
    api.reset(root=str(root))


def test_the_command_prints_one_form_for_a_file_and_the_rest_aside(becalm, root):
    done = becalm("export-settings", "--set", "swappiness=10", "--set", "nice=-5", "--format", "sysctl", root=root)
    assert done.returncode == 0
    assert done.stdout.startswith("# becalm: single settings\n")
    assert done.stdout.endswith("vm.swappiness = 10\n")
    assert "nice: not in a file of the form sysctl" in done.stderr


def test_files_are_written_to_a_directory(becalm, root, tmp_path):
    to = tmp_path / "production"
    words = ("export-settings", "--set", "swappiness=10", "--set", "transparent_hugepages=never", "--to", to)
    done = becalm(*words, root=root)
    assert sorted(path.name for path in to.iterdir()) == [
        "90-becalm-single-settings.conf",
        "becalm-single-settings.conf",
    ]
    assert f"{to}/becalm-single-settings.conf  belongs to  /etc/tmpfiles.d/becalm-single-settings.conf" in done.stdout
    value = json.loads(becalm(*words, "--json", root=root).stdout)
    assert value["files"][0]["undo"] == [
        "rm /etc/sysctl.d/90-becalm-single-settings.conf",
        "sysctl --write vm.swappiness=60",
    ]


def test_an_export_without_profile_or_settings_is_refused(becalm, root):
    assert becalm("export-settings", root=root).returncode == 2
    assert "Which settings?" in becalm("export-settings", root=root).stderr
    with pytest.raises(UsageError, match="no form"):
        exported(root, "pyperf", format="ini")


def test_a_search_on_a_machine_keeps_what_its_settings_are_written_to(root):
    with hosts.open("local", Access(root=str(root))) as machine:
        session, verdict = SimpleNamespace(host=machine), SimpleNamespace(settings={"swappiness": 10, "aslr": "off"})
        plan = _production(session, verdict)
        assert [(place.path, place.before, place.after) for place in plan.places] == [
            ("/proc/sys/vm/swappiness", "60", "10")
        ]
        assert [exclusion.knob for exclusion in plan.left] == ["aslr"]
        assert plan.kernel
        assert _production(session, SimpleNamespace(settings={})) is None
        assert _production(session, SimpleNamespace(settings={"of nobody": 1})) is None


def test_files_of_a_study_say_what_it_measured(root):
    verdict = api.tune(["spin 1s"], host="sim:laptop-a", seed=3, budget="none", method="fast", confirm_loops=2)
    assert verdict.settings
    export = exported(root, str(verdict.study))
    assert export.origin.title == f"settings of study {verdict.study} for spin 1s"
    assert export.origin.measured == tuple(
        comparison.sentence
        for comparison in verdict.comparisons
        if comparison.sentence in verdict.sentence.splitlines()
    )
    assert len(export.origin.measured) == 1
    text = " ".join(export.files[0].content.replace("#", "").split())
    assert export.origin.measured[0] in text
    assert export.origin.name == f"becalm-{verdict.study}"
    assert exported(root, "last").origin == export.origin


@pytest.mark.parametrize("form", [None, "sysctl", "tmpfiles", "systemd", "tuned", "boot", "script"])
def test_no_text_of_a_profile_becomes_a_directive(root, tmp_path, form):
    hostile = tmp_path / "quiet.toml"
    line = r"\n[Service]\nExecStartPre=/bin/touch /x"
    for content in (
        f'name = "quiet{line}"\n[settings]\nswappiness = 1',
        f'[settings]\nswappiness = "1{line}"',
        f'[settings]\nnice = "1{line}"',
    ):
        hostile.write_text(content)
        with pytest.raises(UsageError, match="has the control character"):
            exported(root, str(hostile), format=form)
    with pytest.raises(UsageError):
        exported(root, settings={"nice": "1\n[Service]\nExecStartPre=/bin/touch /x"}, format=form)
    hostile.write_text('name = "$(touch /x) `x` ${f:exec:/x} %n \\\\"\n[settings]\nswappiness = 1')
    for file in exported(root, str(hostile), format=form).files:
        obeyed = [line for line in file.content.splitlines() if not line.lstrip().startswith("#")]
        assert not any("touch" in value and "`" in value for value in obeyed)
