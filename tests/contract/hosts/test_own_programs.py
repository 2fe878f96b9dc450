"""The programs of the package as they report themselves."""

from tests.support.elves import program
from tests.waiting import HANG_LIMIT_S

from becalm._version import VERSION
from becalm.hosts import own_programs


def test_all_programs_report_the_version_of_the_package(monkeypatch):
    monkeypatch.setattr(own_programs, "LONGEST_S", HANG_LIMIT_S)
    programs = own_programs.own_programs()
    assert [item.name for item in programs] == list(own_programs.NAMES)
    assert {item.name: item.version for item in programs} == dict.fromkeys(own_programs.NAMES, VERSION)
    assert {item.name for item in programs if not item.static} == {"becalm-timers"}


def test_programs_that_cannot_start_have_a_reason(tmp_path):
    (tmp_path / "becalm-agent").write_bytes(program())
    (tmp_path / "becalm-helper").write_text("#!/bin/sh\n")
    (tmp_path / "becalm-sim").write_bytes(program(machine=183))
    (tmp_path / "becalm-sim").chmod(0o755)
    agent, helper, simulator, timers = own_programs.own_programs(tmp_path)
    assert (agent.version, agent.machine, agent.problem) == ("", "x86_64", "Permission denied")
    assert "ELF" in helper.problem
    assert (simulator.machine, simulator.problem) == ("aarch64", "Exec format error")
    assert timers.problem == "No such file or directory"
