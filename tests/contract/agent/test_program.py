"""Programs under the agent: started as requested, accounted for, and ended with all they leave behind."""

import os
import pwd
import signal
import subprocess
from pathlib import Path

import pytest
from tests.contract.conversation import Agent, gather, needs_root, processes_with, sh
from tests.waiting import wait_for

from becalm.hosts.agent import agent_path


def test_a_run_is_accounted_for(agent):
    (row,), texts = agent.run(*sh("sleep 0.001"))
    assert texts == {}
    assert row["outcome"] == "ok"
    assert row["wall_ns"] > 0
    assert row["started_ns"] > 0
    assert row["max_rss_bytes"] > 100_000
    assert row["minor_faults"] > 10
    assert row["voluntary"] >= 1, "sleeping gives the CPU away"
    schedstat = Path("/proc/self/schedstat").exists()
    assert (row["wait_ns"] is not None) == schedstat


@pytest.mark.parametrize(
    ("script", "outcome", "status"),
    [("exit 0", "ok", 0), ("exit 3", "failed", 3), ("kill -SEGV $$", "failed", -11), ("kill -9 $$", "failed", -9)],
)
def test_the_outcome_follows_from_the_exit_status(agent, script, outcome, status):
    (row,), _ = agent.run(*sh(script))
    assert (row["outcome"], row["status"]) == (outcome, status)


def test_expected_codes(agent):
    (row,), _ = agent.run(*sh("exit 3"), expect=[0, 3])
    assert row["outcome"] == "ok"
    (row,), _ = agent.run(*sh("exit 200"), expect=None)
    assert row["outcome"] == "ok"


def test_no_descriptor_leaks_to_the_program(agent):
    _, texts = agent.run(*sh("ls /proc/self/fd"), output="keep")
    # ls itself has the directory open as 3.
    assert texts[0]["stdout"].split() == ["0", "1", "2", "3"]


def test_the_program_starts_with_clean_signals(agent):
    _, texts = agent.run("/bin/cat", "/proc/self/status", output="keep")
    fields = dict(line.split(":\t", 1) for line in texts[0]["stdout"].splitlines() if ":\t" in line)
    assert int(fields["SigBlk"], 16) == 0
    assert int(fields["SigIgn"], 16) & (1 << (signal.SIGPIPE - 1)) == 0


TREE = "setsid sh -c 'sleep {marker}' & sh -c 'sleep {marker} & sleep {marker}' & sleep {marker}"


def test_a_time_limit_ends_a_program(agent, marker):
    (row,), _ = agent.run(*sh(TREE.format(marker=marker)), timeout_ns=200_000_000)
    assert (row["outcome"], row["status"]) == ("timeout", -9)
    assert processes_with(marker) == []


def test_a_stop_ends_the_whole_tree(agent, marker):
    number = agent.begin(*sh(TREE.format(marker=marker)))
    wait_for(lambda: len(processes_with(marker, "sleep")) == 4, "all of the tree runs")
    agent.send("stop")
    rows, _ = gather(agent.answer(number))
    assert [(row["outcome"], row["status"]) for row in rows] == [("aborted", -9)]
    assert processes_with(marker) == []


def test_left_over_processes_are_killed_and_counted(agent, marker):
    (row,), _ = agent.run(*sh(f"setsid sleep {marker} & sleep {marker} & exit 0"))
    assert row["outcome"] == "ok"
    assert row["left_behind"] == 2
    assert processes_with(marker) == []


def test_processes_of_prepare_live_until_cleanup(agent, tmp_path, marker):
    log = tmp_path / "log"
    alive = f"kill -0 $(cat {tmp_path}/pid)"
    rows, _ = agent.run(
        *sh(f"{alive} && echo run >> {log}"),
        steps=2,
        prepare=list(sh(f"echo prepare >> {log}; setsid sleep {marker} > /dev/null 2>&1 & echo $! > {tmp_path}/pid")),
        cleanup=list(sh(f"{alive} && echo cleanup >> {log}")),
    )
    assert [row["outcome"] for row in rows] == ["ok", "ok"]
    assert log.read_text().split() == ["prepare", "run", "cleanup"] * 2
    assert processes_with(marker) == []


def test_a_failing_prepare_refuses_the_run(agent, tmp_path):
    (row,), texts = agent.run("touch", str(tmp_path / "ran"), prepare=list(sh("echo why >&2; exit 9")))
    assert row["outcome"] == "refused"
    assert "exit code 9" in texts[0]["stderr"]
    assert "why" in texts[0]["stderr"]
    assert not (tmp_path / "ran").exists()


def test_a_run_whose_cleanup_fails_does_not_count(agent):
    (row,), texts = agent.run("true", cleanup=list(sh("echo why >&2; exit 7")))
    assert (row["outcome"], row["status"]) == ("failed", 0)
    assert texts[0]["stderr"].startswith("The cleanup command failed. ")
    assert "exit code 7. why" in texts[0]["stderr"]


def test_a_program_and_its_input_may_be_made_by_the_commands_before_it(agent, tmp_path):
    build = f"printf '#!/bin/sh\\ncat\\n' > {tmp_path}/built; chmod +x {tmp_path}/built"
    rows, texts = agent.run(
        "./built", directory=str(tmp_path), input=str(tmp_path / "in"), steps=2, output="keep",
        setup=list(sh(build)), prepare=list(sh(f"echo fresh > {tmp_path}/in")),
    )  # fmt: skip
    assert [row["outcome"] for row in rows] == ["ok", "ok"]
    assert [texts[seq]["stdout"] for seq in (0, 1)] == ["fresh\n", "fresh\n"]


def test_a_program_that_setup_does_not_make_is_missed_after_it(agent, tmp_path):
    (row,), texts = agent.run("./built", directory=str(tmp_path), setup=["true"])
    assert row["outcome"] == "refused"
    assert 'There is no program "./built". The commands before it have not made it.' in texts[0]["stderr"]


def test_the_number_of_the_run_is_the_same_for_program_and_hooks(agent, tmp_path):
    log = tmp_path / "log"
    note = list(sh(f"echo $BECALM_RUN $((${{#BECALM_RUN}} + ${{#BECALM_FILL}})) >> {log}"))
    agent.define(*note, prepare=note, cleanup=note, environment={"BECALM_RUN": "mine"})
    rows, _ = gather(agent.answer(agent.send("measure", first=9, steps=[[0, 0, 0, 0], [0, 0, 0, 1]])))
    assert [row["seq"] for row in rows] == [9, 10]
    assert log.read_text().splitlines() == ["9 20"] * 3 + ["10 20"] * 3


def test_strings_that_are_not_utf8_arrive(agent):
    hexed = {"hex": "66ff6f"}
    _, texts = agent.run("printf", "%s", hexed, output="keep")
    assert texts[0]["stdout"] == "f�o"
    _, texts = agent.run("od", "-An", "-tx1", "/proc/self/cmdline", hexed, output="keep")
    assert "66 ff 6f" in texts[0]["stdout"] + texts[0]["stderr"] or "66 ff 6f" in " ".join(texts[0]["stdout"].split())


def test_environment_directory_and_input(agent, tmp_path):
    (tmp_path / "in").write_text("from the file\n")
    _, texts = agent.run(
        *sh("cat; pwd; echo $WORD; echo ${#BECALM_PADDING}"),
        input=str(tmp_path / "in"),
        directory=str(tmp_path),
        environment={"WORD": "value"},
        output="keep",
    )
    assert texts[0]["stdout"].split("\n") == ["from the file", str(tmp_path), "value", "0", ""]
    agent.define(*sh("echo ${#BECALM_PADDING}"), output="keep")
    _, texts = gather(agent.answer(agent.send("measure", first=0, steps=[[0, 0, 100, 0], [0, 0, 4095, 1]])))
    assert [texts[seq]["stdout"] for seq in (0, 1)] == ["100\n", "4095\n"]


def test_settings_are_applied(agent):
    status = "/proc/self/status"
    cpu = str(max(os.sched_getaffinity(0)))
    _, texts = agent.run("grep", "Cpus_allowed_list", status, settings={"cpus": cpu}, output="keep")
    assert texts[0]["stdout"].split()[-1] == cpu
    _, texts = agent.run("nice", settings={"nice": 7}, output="keep")
    assert texts[0]["stdout"] == "7\n"
    _, texts = agent.run("cat", "/proc/self/personality", settings={"aslr": False}, output="keep")
    assert int(texts[0]["stdout"], 16) & 0x0040000
    _, texts = agent.run("cat", "/proc/self/stat", settings={"policy": "batch", "nice": 5}, output="keep")
    fields = texts[0]["stdout"].rsplit(")", 1)[1].split()
    # proc_pid_stat(5): field 41 is the policy, 19 the nice value; the list begins with field 3.
    assert (fields[41 - 3], fields[19 - 3]) == ("3", "5")
    _, texts = agent.run("ionice", settings={"io_priority": "best-effort:6"}, output="keep")
    assert texts[0]["stdout"].strip() == "best-effort: prio 6"


def test_settings_do_not_stay_with_the_agent(agent):
    agent.run("true", settings={"nice": 9, "aslr": False})
    _, texts = agent.run("nice", output="keep")
    assert texts[0]["stdout"] == f"{os.getpriority(os.PRIO_PROCESS, 0)}\n"


def test_a_slice_is_applied_or_refused(agent):
    release = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    defined = agent.define("true", settings={"slice_ns": 3_000_000})
    if release >= (6, 12):
        assert defined["event"] == "done"
    else:
        assert defined["kind"] == "unsupported"


@needs_root
def test_programs_run_as_another_user():
    account = pwd.getpwnam("nobody")
    agent = Agent("--user", "nobody")
    try:
        assert agent.greeting["user"] == {"uid": account.pw_uid, "gid": account.pw_gid, "name": "nobody"}
        _, texts = agent.run(*sh("id -u; id -g; id -G; echo $HOME $USER"), output="keep")
        groups = " ".join(map(str, os.getgrouplist("nobody", account.pw_gid)))
        expected = f"{account.pw_uid}\n{account.pw_gid}\n{groups}\n{account.pw_dir} nobody\n"
        assert texts[0]["stdout"] == expected
        _, texts = agent.run("grep", "CapEff", "/proc/self/status", output="keep")
        assert int(texts[0]["stdout"].split()[1], 16) == 0, "the program has no privilege"
        refused = agent.define("true", input="/etc/shadow")
        assert refused["event"] == "error"
        assert "/etc/shadow" in refused["message"]
    finally:
        agent.close()


@needs_root
def test_programs_run_as_the_user_of_sudo():
    account = pwd.getpwnam("nobody")
    environment = {**os.environ, "SUDO_UID": str(account.pw_uid), "SUDO_GID": str(account.pw_gid)}
    agent = Agent(env=environment)
    try:
        _, texts = agent.run("id", "-un", output="keep")
        assert texts[0]["stdout"] == "nobody\n"
    finally:
        agent.close()


@needs_root
def test_without_root_what_needs_it_is_refused():
    agent = Agent(user=pwd.getpwnam("nobody").pw_uid, group=pwd.getpwnam("nobody").pw_gid, extra_groups=[], cwd="/")
    try:
        assert agent.define("true", cold=True)["kind"] == "unsupported"
        assert agent.define("true", settings={"nice": -5})["kind"] == "permission"
        assert agent.run("true")[0][0]["outcome"] == "ok"
    finally:
        agent.close()


def test_only_root_may_choose_a_user():
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SUDO")}
    options = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    done = subprocess.run(
        [agent_path(), "serve", "--user", "root"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        env=environment, cwd="/", **options,
    )  # fmt: skip
    assert done.returncode == 3
    assert "Only root" in done.stderr
