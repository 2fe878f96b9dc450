"""Settings of the running machine, put on by people with and without rights, and by a becalm that is killed."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest
from tests.contract.conversation import Agent, children, name_of
from tests.needs import need
from tests.support.becalms import state
from tests.support.real import FILES, becalm_groups, text_of
from tests.support.talk import holders
from tests.waiting import HANG_LIMIT_S, wait_ended, wait_for

import becalm
from becalm.hosts.agent import agent_path
from becalm.hosts.root_helper import helper_path
from becalm.nouns.settings import Settings
from becalm.profiles import Profile
from becalm.store import Store
from becalm.verbs.sudoers import sudoers

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it changes settings of this machine"),
    pytest.mark.skipif(
        not os.access("/proc/sys/vm/stat_interval", os.W_OK), reason="this machine's settings are read-only"
    ),
]

STAT = Path("/proc/sys/vm/stat_interval")
HUGE = Path("/sys/kernel/mm/transparent_hugepage/enabled")
JOURNAL = Path("/var/lib/becalm/journal")
SUDOERS = Path("/etc/sudoers.d/becalm-test")


def settings():
    """Return the settings of this machine that these tests may change, and the groups that becalm makes."""
    values = {}
    for name in FILES:
        with contextlib.suppress(OSError):
            values[name] = text_of(name)
    return {**values, "groups": becalm_groups()}


@pytest.fixture
def as_before(home):
    """Skip when somebody's settings are on. Whatever happens, restore the machine, and check that it is as before."""
    if holders(None):
        # A guard of the test before may still be at work.
        with contextlib.suppress(AssertionError):
            wait_for(lambda: not holders(None), "no becalm is at work")
    if JOURNAL.exists() or holders(None):
        pytest.skip("settings are on, or another becalm is at work")
    before = settings()
    other = "17" if STAT.read_text().strip() == "20" else "20"
    try:
        yield other
        wait_for(lambda: not JOURNAL.exists())
        wait_for(lambda: settings() == before)
    finally:
        if JOURNAL.exists():
            subprocess.run([agent_path(), "restore", "--force"], check=True)
    assert settings() == before


def front(*arguments, **popen):
    """Start a becalm in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "becalm", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        **popen,
    )


def runs(marker):
    """Return processes with an argument like that."""
    result = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if marker.encode() in path.read_bytes():
                result.append(path)
    return result


def sleepers(marker):
    """Return the processes with such an argument that have become `sleep`: not becalm, nor one just forked."""
    pids = [int(path.parent.name) for path in runs(marker)]
    return [pid for pid in pids if name_of(pid) == "sleep"]


def test_reported_changes_have_happened(as_before):
    done = becalm.apply(Profile("masks", Settings.of({"irq_affinity": "away", "stat_interval": as_before})))
    try:
        places = {place.place: place.now for place in becalm.status().places}
        assert any(change.changes for change in done.changes)
        for change in done.changes:
            assert (places.get(change.place) == change.after) == change.changes, change.place
        # An interrupt that the kernel keeps where it is has not changed, and one on its way back had its old mask.
        known = {place.place: place.original for place in becalm.status().places}
        assert all(change.before == known[change.place] for change in done.changes if change.changes)
    finally:
        becalm.reset()


def test_a_setting_is_on_for_a_program_and_off_afterwards(as_before):
    process = front("apply", "--set", f"stat_interval={as_before}", "--", "cat", str(STAT))
    out, err = process.communicate(timeout=HANG_LIMIT_S)
    assert (process.returncode, out, err) == (0, f"{as_before}\n", "")


def test_a_setting_is_on_until_reset(as_before):
    was = STAT.read_text()
    becalm.apply(becalm.Profile("mine", becalm.Settings.of({"stat_interval": int(as_before)})))
    assert STAT.read_text().strip() == as_before
    result = becalm.status()
    assert [(place.original, place.now) for place in result.places] == [(was.strip(), as_before)]
    assert becalm.reset().unsettled == ()
    assert STAT.read_text() == was


def test_applied_settings_hold_for_measured_programs(as_before):
    """Isolated CPUs are for what becalm starts, not for becalm itself; the verdict says what is on."""
    if not {knob.name: knob for knob in becalm.knobs()}["isolation"].supported:
        pytest.skip("no isolation here")
    show = "import os; print('on', sorted(os.sched_getaffinity(0)))"
    free = os.sched_getaffinity(0)
    becalm.apply(becalm.Profile("mine", becalm.Settings.of({"isolation": "first-core"})))
    try:
        rest = os.sched_getaffinity(0)
        process = front("run", "--runs", "1", "--output", "inherit", "--no-store", "--", sys.executable, "-c", show)
        out, errors = process.communicate()
    finally:
        becalm.reset()
    assert process.returncode == 0, errors
    assert set(out.splitlines()) == {f"on {sorted(free - rest)}"}
    assert "Applied before, until `becalm reset`: isolation=first-core." in " ".join(errors.split())
    assert os.sched_getaffinity(0) == free


def test_a_share_of_the_cpus_is_that_of_a_group_which_goes_again(as_before):
    """The program and what it starts are in it; the weight is read there on the scale that the kernel shows."""
    if not {knob.name: knob for knob in becalm.knobs()}["cpu_weight"].supported:
        pytest.skip("no cpu controller here")
    look = "cat /proc/self/cgroup; cat /sys/fs/cgroup/cpu/becalm-weighted/cpu.shares; true"
    out, err = front("apply", "--set", "cpu_weight=250", "--", "sh", "-c", look).communicate(timeout=HANG_LIMIT_S)
    assert err == "" or "cpu.shares" in err, "on version 2 there is none"
    (group,) = [line for line in out.splitlines() if line.endswith("/becalm-weighted")]
    assert group.startswith("0::") or ("2560" in out and "cpu" in group), out


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_becalm_that_is_ended_while_the_program_runs_restores_the_settings(as_before, number):
    was = STAT.read_text()
    process = front("apply", "--set", f"stat_interval={as_before}", "--", "sleep", "3012345")
    wait_for(lambda: STAT.read_text().strip() == as_before and runs("3012345"))
    process.send_signal(number)
    process.communicate(timeout=HANG_LIMIT_S)
    wait_for(lambda: STAT.read_text() == was and not runs("3012345"))
    assert process.returncode in (-number, 130)


TRIED = ("--only", "stat_interval", "--only", "transparent_hugepages", "--only", "timer_migration", "--only", "aslr")
SIZE = ("--budget", "none", "--most-runs", "150", "--confirm-loops", "4", "--confirm-runs", "10")
"""The number of runs, however long they take: in some seconds a busy machine has none to spare for settings."""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_tune_that_is_ended_restores_the_settings_and_can_be_resumed(as_before, home, number):
    was, caught = settings(), home / "caught"
    # The first run with that setting, which is later than the first look, does not end by itself.
    lasting = f"[ -e {caught} ] || [ $(cat {STAT}) != 20 ] || {{ touch {caught}; exec sleep 987.0123459; }}"
    program = ("sh", "-c", f"{lasting}; sleep 0.0123459")
    process = front("tune", *TRIED, "--no-profiles", "--seed", "1", *SIZE, "--", *program)
    wait_for(lambda: caught.exists() or process.poll() is not None)
    assert process.poll() is None
    process.send_signal(number)
    _, err = process.communicate(timeout=HANG_LIMIT_S)
    wait_for(lambda: settings() == was and not runs("0123459"))
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    assert ("becalm tune --resume 1" in err) is (number == signal.SIGINT)
    verdict = becalm.tune(resume="last")
    with Store.open() as store:
        runs_kept = list(store.runs(verdict.study))
    assert [run.seq for run in runs_kept] == list(range(len(runs_kept))), "no run is lost and none counted twice"
    assert verdict.confirm_runs == 0 or verdict.comparisons


def test_a_study_of_this_machine_leaves_it_as_it_was(as_before):
    verdict = becalm.tune(
        ["true"], only=("stat_interval", "transparent_hugepages", "aslr", "swappiness"), budget="none", most_runs=150,
        seed=1, confirm_loops=4, confirm_runs=10, compare_profiles=False,
    )  # fmt: skip
    tried = {knob for trial in verdict.trials for knob in trial.settings}
    assert tried <= {"stat_interval", "transparent_hugepages", "aslr"}
    assert "stat_interval" in tried or STAT.read_text().strip() == "20"
    assert verdict.search_runs > 0
    assert not any(finding.kind == "refused" for finding in verdict.findings)


# --- an ordinary user -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def python():
    """An interpreter that everybody may run (the tests' own may be in somebody's home), and its search path."""
    here = str(Path(becalm.__file__).parents[1])
    path = os.pathsep.join([here, sysconfig.get_path("purelib")])
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/bin/python{version}", "/usr/bin/python3"):
        command = [candidate, "-c", "import sys, becalm, numpy, scipy; print('%d.%d' % sys.version_info[:2])"]
        with contextlib.suppress(OSError):
            done = subprocess.run(
                [*dropped(), *command],
                capture_output=True,
                text=True,
                env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin"},
            )
            if done.stdout.strip() == version:
                return candidate, path
    pytest.skip("nobody may run no Python that has what becalm needs")


def dropped():
    """Return a prefix that runs a command as nobody."""
    account = pwd.getpwnam("nobody")
    return ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]


@pytest.fixture
def nobody(python):
    """becalm as an ordinary user with a home of its own."""
    account, home = pwd.getpwnam("nobody"), Path(tempfile.mkdtemp(prefix="becalm-nobody-"))
    os.chown(home, account.pw_uid, account.pw_gid)
    interpreter, path = python
    environment = {"HOME": str(home), "PYTHONPATH": path, "PATH": os.environ["PATH"], "COLUMNS": "100"}
    environment |= {"TMPDIR": str(home), "BECALM_INTERRUPT_WAIT": os.environ["BECALM_INTERRUPT_WAIT"]}

    def run(*arguments, **options):
        return subprocess.run(
            [*dropped(), interpreter, "-m", "becalm", *map(str, arguments)],
            capture_output=True,
            text=True,
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            timeout=HANG_LIMIT_S,
            **options,
        )

    run.command = [*dropped(), interpreter, "-m", "becalm"]
    run.environment = environment
    yield run
    shutil.rmtree(home)


def test_without_rights_only_settings_of_the_program_are_tried(as_before, nobody):
    done = nobody("tune", "--seed", "1", *SIZE, "--json", "--", "true")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert {knob for trial in document["trials"] for knob in trial["settings"]} <= {"aslr", "slice_ns"}
    reasons = {exclusion["knob"]: exclusion["reason"] for exclusion in document["excluded"]}
    for knob in ("nice", "io_priority", "isolation", "stat_interval"):
        assert reasons[knob] in ("needs root: --sudo", "is 20 already")


def test_without_rights_nothing_of_the_machine_is_set_and_it_says_how(as_before, nobody):
    done = nobody("apply", "--set", f"stat_interval={as_before}")
    assert done.returncode == 3
    assert "--sudo" in done.stderr
    assert nobody("apply", "--set", f"stat_interval={as_before}", "--", "true").returncode == 3
    listed = json.loads(nobody("knobs", "--json").stdout)["knobs"]
    assert {line["name"]: line["value"] for line in listed}["stat_interval"] == STAT.read_text().strip()


def test_everybody_sees_what_is_on_and_only_root_takes_it_off(as_before, nobody):
    becalm.apply(becalm.Profile("mine", becalm.Settings.of({"stat_interval": int(as_before)})))
    seen = nobody("status", "--plain")
    assert seen.returncode == 0, seen.stderr
    # Whose they are is for everybody, what for is root's to know: it may be a command line with a secret in it.
    assert "Settings: set by root" in seen.stdout
    assert "mine" not in seen.stdout
    assert "stat_interval" in seen.stdout
    refused = nobody("reset")
    assert refused.returncode == 3
    assert STAT.read_text().strip() == as_before
    becalm.reset()
    output = nobody("status").stdout
    assert "stat_interval" not in output
    # Interrupts that tests before this one have moved, and whose devices have not fired since, are still told.
    assert "as it was" in output or "Moved by becalm, and not back yet:" in output or "control group" in output


# --- sudo -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def sudo(nobody, as_before):
    """The ordinary user may start the helper through sudo while this lasts, and nothing else."""
    need("sudo", "visudo")
    if SUDOERS.exists():
        pytest.skip(f"{SUDOERS} is there already")
    new = SUDOERS.with_name("becalm-test.new")  # sudo reads no names with dots
    try:
        new.write_text(sudoers(["nobody"], helper_path()))
        new.chmod(0o440)
        subprocess.run([need("visudo"), "-c", "-q", "-f", new], check=True)
        new.rename(SUDOERS)
        probe = subprocess.run(
            [*dropped(), "sudo", "-n", helper_path()], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/"
        )
        if probe.returncode != 0:
            pytest.skip(f"sudo does not work for nobody here: {probe.stderr.strip()}")
        yield nobody
    finally:
        new.unlink(missing_ok=True)
        SUDOERS.unlink(missing_ok=True)


def test_sudo_sets_as_root_and_runs_the_program_as_the_user(sudo, as_before):
    script = f"cat {STAT}; id -un; echo oops >&2; exit 7"
    done = sudo("apply", "--sudo", "--set", f"stat_interval={as_before}", "--", "sh", "-c", script)
    assert (done.returncode, done.stdout, done.stderr) == (7, f"{as_before}\nnobody\n", "oops\n")


def test_sudo_until_reset_names_who_it_was(sudo, as_before):
    done = sudo("apply", "--sudo", "--set", f"stat_interval={as_before}")
    assert done.returncode == 0, done.stderr
    assert STAT.read_text().strip() == as_before
    assert "set by nobody" in sudo("status").stdout
    off = sudo("reset", "--sudo")
    assert off.returncode == 0, off.stderr


def test_a_study_through_sudo_changes_the_machine_and_keeps_its_runs(sudo, as_before):
    done = sudo(
        "tune", "--sudo", "--seed", "1", *SIZE, "--no-profiles",
        "--only", "stat_interval", "--only", "transparent_hugepages", "--json", "--", "id",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    tried = {knob for trial in document["trials"] for knob in trial["settings"]}
    assert tried <= {"stat_interval", "transparent_hugepages"}
    assert tried or (STAT.read_text().strip(), "[never]" in HUGE.read_text()) == ("20", True)
    assert json.loads(sudo("list", "--json").stdout)["studies"][0]["runs"] >= document["search_runs"]


def test_a_helper_that_was_stopped_and_then_killed_is_reported(sudo, as_before):
    """sudo stops together with the helper and keeps its pipes open, so that nothing but its process tells its end."""
    was = STAT.read_text()
    command = [*sudo.command, "apply", "--sudo", "--set", f"stat_interval={as_before}", "--", "sleep", "3012348"]
    process = subprocess.Popen(
        command, env=sudo.environment, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    (program,) = wait_for(lambda: sleepers("3012348"))
    assert STAT.read_text().strip() == as_before
    (helper,) = [int(path.name) for path in Path("/proc").glob("[0-9]*") if name_of(int(path.name)) == "becalm-helper"]
    above = int(Path(f"/proc/{helper}/stat").read_text().rpartition(")")[2].split()[1])
    assert name_of(above) == "sudo"
    os.kill(helper, signal.SIGSTOP)
    wait_for(lambda: state(above) == "T")
    os.kill(helper, signal.SIGKILL)
    os.kill(program, signal.SIGTERM)
    _, errors = process.communicate(timeout=HANG_LIMIT_S)
    assert process.returncode == 3
    assert b"has ended" in errors
    wait_ended(above)
    wait_for(lambda: STAT.read_text() == was)


def test_a_becalm_killed_that_used_sudo_restores_the_settings(sudo, as_before):
    was = STAT.read_text()
    command = [*sudo.command, "apply", "--sudo", "--set", f"stat_interval={as_before}", "--", "sleep", "3012346"]
    process = subprocess.Popen(
        command, env=sudo.environment, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    wait_for(lambda: sleepers("3012346"))
    assert STAT.read_text().strip() == as_before
    process.kill()
    process.communicate(timeout=HANG_LIMIT_S)
    wait_for(lambda: STAT.read_text() == was and not runs("3012346"))


def test_settings_of_an_agent_killed_under_sudo_are_restored(sudo, as_before):
    was = STAT.read_text()
    command = [*sudo.command, "apply", "--sudo", "--set", f"stat_interval={as_before}", "--", "sleep", "3012347"]
    process = subprocess.Popen(
        command, env=sudo.environment, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    wait_for(lambda: STAT.read_text().strip() == as_before and runs("3012347"))
    (agent,) = [pid for pid in children(process.pid) if name_of(pid) == "becalm-agent"]
    assert Path(f"/proc/{agent}").stat().st_uid == pwd.getpwnam("nobody").pw_uid, "it has no rights of root's"
    os.kill(agent, signal.SIGKILL)
    wait_for(lambda: STAT.read_text() == was and not runs("3012347"))
    process.communicate(timeout=HANG_LIMIT_S)


def test_programs_get_what_takes_root_through_sudo(sudo, as_before):
    """Priorities below the user's own, also behind commands of its own, which run as always; and nothing more."""
    script = "nice; grep -E '^(Uid|CapEff):' /proc/self/status"
    for more in ([], ["--prepare", "sh -c 'test $(nice) = 0'"]):
        done = sudo(
            "run", "--sudo", "--set", "nice=-5", "--runs", "2", "--output", "inherit", *more, "--", "sh", "-c", script
        )
        assert done.returncode == 0, done.stderr
        lines = [line.split() for line in done.stdout.splitlines()]
        uid = str(pwd.getpwnam("nobody").pw_uid)
        assert ["-5"] in lines
        assert ["Uid:", uid, uid, uid, uid] in lines
        assert ["CapEff:", "0000000000000000"] in lines
        assert ["0"] not in lines


def test_the_page_cache_is_dropped_through_sudo(sudo, as_before):
    done = sudo("run", "--sudo", "--cold", "--runs", "2", "--", "true")
    assert done.returncode == 0, done.stderr


def test_isolation_through_sudo_is_for_the_program(sudo, as_before):
    if not {knob.name: knob for knob in becalm.knobs()}["isolation"].supported:
        pytest.skip("no isolation here")
    done = sudo("apply", "--sudo", "--set", "isolation=first-core", "--", "cat", "/proc/self/cgroup")
    assert done.returncode == 0, done.stderr
    assert "becalm-isolated" in done.stdout


@pytest.mark.parametrize(
    "words", [["becalm-agent", "copies", "1", "/usr/bin/id", "id"], ["id"], ["helper", "--version"]]
)
def test_sudo_gives_the_helper_and_nothing_else(sudo, words):
    if words[0] == "helper":
        words = [helper_path(), *words[1:]]
    elif words[0] == "becalm-agent":
        words = [agent_path(), *words[1:]]
    done = subprocess.run([*dropped(), "sudo", "-n", *words], stdin=subprocess.DEVNULL, capture_output=True, cwd="/")
    assert done.returncode == 1
    assert b"uid=0" not in done.stdout


def test_requests_beyond_the_helpers_rights_are_refused(sudo, as_before):
    account = pwd.getpwnam("nobody")
    who = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": [], "cwd": "/"}
    agent = Agent("--helper", helper_path(), env=sudo.environment, **who)
    agent.ask("open", protocol=agent.greeting["protocol"], directory="/", reboot=True)
    for request in ({"do": "boot", "parameters": ["isolcpus=1"], "limit_s": 60, "dangerous": True}, {"do": "reboot"}):
        answer = agent.ask(**request)
        assert answer["kind"] == "permission"
        assert "sudo becalm" in answer["message"]
    agent.close()
