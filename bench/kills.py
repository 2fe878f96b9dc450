"""Kill becalm at random moments while real settings of this machine are applied; compare values and effects.

    sudo PYTHONPATH=python python bench/kills.py                  2,000 kills; the next start goes on
    sudo PYTHONPATH=python python bench/kills.py --seconds 120    go on for two minutes
    sudo PYTHONPATH=python python bench/kills.py --quick          shows that it works
    sudo PYTHONPATH=python python bench/kills.py --user nobody    by a user, whose settings a helper changes by sudo
    PYTHONPATH=python python bench/kills.py --show                the table of what was done so far

A trial is a becalm of its own (`run`, `compare`, `tune`, `apply`, `migrate`) with its store, of which some processes
are killed at one moment: its front, agent, guard, spawner or workload, two of these, a process group or everything.
Afterwards the machine is compared with before: the files of settings, swap areas, groups, the CPUs and groups of all
tasks, arrivals of interrupts, and effects by other interfaces (kill_effects.py). If something differs, one `becalm
reset` restores it, and the machine is compared again. The number of a trial and the seed determine everything in it,
and each trial is on disk when the next begins.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import pkgutil
import pwd
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path.extend(str(Path(__file__).parents[1] / name) for name in ("", "tools"))
# A process that is forked has one thread.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from tests.support.real import bring_back, differences, elsewhere, machine, swap_areas, unnamed

import becalm as package
from becalm.hosts.agent import agent_path
from becalm.verbs.sudoers import install_sudoers, remove_sudoers
from campaign import OUT, Log, Record, conclude, describe, share, table, work_off
from kill_effects import effects
from kill_victims import MARK, VICTIMS, kill, look

JOURNAL = Path("/var/lib/becalm/journal")
HANG_S = 90
BACK_S = 5.0
"""The time that interrupts which an earlier becalm has moved get to be back before anything is compared."""
FIRST_S = 0.5
"""The time from the begin to the first setting, as long as none was seen; it depends on what else the machine does."""
AFTER_S = 0.6
"""The end of the moments after that: settings are on, are switched, programs run."""

INTERRUPT_WAIT_S = 0.2
"""Time for which becalm, and what outlives it, waits for interrupts to come back."""

NARROW_S = 5 * INTERRUPT_WAIT_S
"""Time within which the masks of interrupts are as before, whoever has been killed."""

LOOKS = 10
"""Looks at all processes before there is nobody to kill: not all parts are there at all moments."""

SETTINGS: tuple[dict[str, str], ...] = (
    {"swappiness": "13", "aslr_system": "off", "stat_interval": "20"},
    {"transparent_hugepages": "never", "perf_rate": "1000", "ksm": "on"},
    {"watchdogs": "off", "cpu_dma_latency": "0", "timer_migration": "off"},
    {"swap": "off", "hugepage_defrag": "never", "swappiness": "14"},
    {"isolation": "last-core", "swappiness": "13"},
    {"irq_affinity": "away", "workqueue_cpus": "away", "aslr_system": "1"},
    {"online_cpus": "first", "swappiness": "13"},
    {"nice": "-5", "policy": "fifo:10", "aslr": "off", "swappiness": "15"},
)
WORK = ["sh", "-c", "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done"]
SHORT = ("--budget", "1.2s", "--warmup", "0")


def words(verb: str, settings: dict[str, str], bystander: int) -> list[str]:
    """Return the command of a trial."""
    arguments = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    own = {"nice", "policy", "aslr"}
    match verb:
        case "apply":
            live = [
                word for name, value in settings.items() if name not in own for word in ("--set", f"{name}={value}")
            ]
            return ["apply", "--dangerous", *live]
        case "tune":
            only = [word for name in settings if name not in own for word in ("--only", name)]
            search = ("--budget", "1.2s", "--no-profiles", "--no-single-out", "--confirm-loops", "2", "--seed", "1")
            return ["tune", "--dangerous", *only, *search, "--", *WORK]
        case "migrate":
            return ["migrate", str(bystander), "0", "--for", "1s"]
        case "compare":
            programs = ("true", "sh -c 'exit 0'")
            return ["compare", "--dangerous", *arguments, "--budget", "1.2s", "--warmup", "0", *programs]
    return ["run", "--dangerous", *arguments, *SHORT, "--", *WORK]


VERBS = ("run", "run", "run", "compare", "tune", "apply", "migrate")


@dataclass(frozen=True)
class Person:
    """The user who runs becalm. Others than root do with `--sudo`, which starts the helper as root."""

    name: str = "root"

    @property
    def verbs(self) -> tuple[str, ...]:
        """Return the verbs to draw from."""
        return VERBS if self.name == "root" else ("run", "run", "run", "compare", "apply")

    @property
    def victims(self) -> list[str]:
        """Return the kinds of victims: root needs no helper."""
        return [name for name in VICTIMS if self.name != "root" or name != "helper"]

    def words(self, arguments: list[str]) -> list[str]:
        """Return the arguments of becalm for this user."""
        return arguments if self.name == "root" else [arguments[0], "--sudo", *arguments[1:]]

    def become(self) -> None:
        """Have this process be the user's."""
        if self.name != "root":
            user = pwd.getpwnam(self.name)
            os.initgroups(self.name, user.pw_gid)
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)

    def own(self, directory: Path) -> None:
        """Give the user a directory."""
        user = pwd.getpwnam(self.name)
        os.chown(directory, user.pw_uid, user.pw_gid)


@contextlib.contextmanager
def permitted(person: Person) -> Iterator[None]:
    """Let the user start the helper by sudo, as long as this lasts."""
    if person.name == "root":
        yield
        return
    install_sudoers([person.name], copy=True)
    try:
        yield
    finally:
        remove_sudoers()


def becalm(arguments: list[str], output: Path, environment: dict[str, str], person: Person) -> int:
    """Run a command of becalm's in a process forked from this one, where all is imported; return its number."""
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        os.setsid()
        os.environ |= environment
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 1)
        os.dup2(1, 2)
        person.become()
        sys.argv = ["becalm", *arguments]
        importlib.import_module("becalm.cli.main").main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        os._exit(code)


class Machine:
    """The machine as it was, with swap areas and a bound process of somebody else's."""

    def __init__(self, bystander: int) -> None:
        self.bystander = bystander
        self.before: dict[str, object] = {}
        self.effects: dict[str, object] = {}
        self.moved: set[int] = set()
        self.renew()

    def renew(self) -> None:
        """Take the machine as it is for what it was, once no interrupt is on its way any more."""
        self.moved = {*bring_back(BACK_S)}
        self.before, self.effects = machine(), effects()

    def changed(self) -> dict[str, object]:
        """Return what is not as it was.

        Interrupts that arrive elsewhere and of which becalm says so may, and those of which it has said so may be back.
        """
        # Any becalm tries to bring back interrupts that an earlier one has moved, and narrows their masks meanwhile.
        if not JOURNAL.exists():
            self.moved |= {*elsewhere()}
        values: dict[str, object] = differences(self.before, machine(), self.moved | unnamed())
        masks = [name for name in values if name.endswith("/smp_affinity")]
        if masks and not JOURNAL.exists():
            # Whoever outlives becalm to bring an interrupt back narrows its mask so long, and it reads so for a moment
            # more while the kernel moves the interrupt (crates/becalm-settings/src/away.rs).
            wait_until(lambda: all(self.is_as_before(Path(name)) for name in masks), NARROW_S)
            values = {
                name: pair for name, pair in values.items() if name not in masks or not self.is_as_before(Path(name))
            }
        seen = effects()
        for name in self.effects.keys() | seen.keys():
            if self.effects.get(name) != seen.get(name):
                values[name] = (self.effects.get(name), seen.get(name))
        return values

    def is_as_before(self, path: Path) -> bool:
        """Return whether a file reads as it did before."""
        with contextlib.suppress(OSError):
            return path.read_text() == self.before.get(str(path))
        return False


def wait(condition: Callable[[], object]) -> bool:
    """Wait until something is so; return whether it came to be."""
    return wait_until(condition, HANG_S)


def wait_until(condition: Callable[[], object], seconds: float) -> bool:
    """Wait at most this long until something is so; return whether it came to be."""
    end = time.monotonic() + seconds
    while not (so := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    return bool(so)


def ended(pid: int) -> bool:
    """Return whether a child has ended."""
    with contextlib.suppress(ChildProcessError):
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    return True


def trial(number: int, seed: int, place: Path, here: Machine, usual_s: float, person: Person) -> Record:
    """Run one becalm, kill, compare. `usual_s`: the time from the begin to the first setting."""
    draw = random.Random(f"{seed}:{number}")
    verb = draw.choice(person.verbs)
    settings = {"process_cpus": "0"} if verb == "migrate" else draw.choice(SETTINGS)
    victim = person.victims[number % len(person.victims)]
    mark, home = f"{os.getpid()}-{number}", place / "trial"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    person.own(home)
    names = ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "TMPDIR")
    environment = {name: str(home) for name in names} | {MARK: mark, "BECALM_STORE": str(home / "runs.db")}
    output = home / "output"
    front = becalm(person.words(words(verb, settings, here.bystander)), output, environment, person)
    begun, first_s = time.monotonic(), None
    if number // len(person.victims) % 3:
        wait(lambda: JOURNAL.exists() or ended(front))
        first_s = time.monotonic() - begun if JOURNAL.exists() else None
        time.sleep(draw.uniform(0, AFTER_S))
    else:
        time.sleep(draw.uniform(0, usual_s + AFTER_S))
    on, stopped = JOURNAL.exists(), draw.random() < 0.25
    killed = kill(found(victim, front, mark, draw), stopped=stopped)
    whole = wait(lambda: ended(front)) and wait(lambda: not look(0, mark).pids)
    outcome = judge(here, output, environment, person)
    text = output.read_text(errors="replace")
    return {
        "number": number, "victim": victim, "verb": verb, "settings": settings, "on": on, "stopped": stopped,
        "first_s": first_s, "killed": len(killed), "hang": not whole, "defect": "defect" in text, **outcome,
    }  # fmt: skip


def found(victim: str, front: int, mark: str, draw: random.Random) -> list[int]:
    """Return the processes to kill; those that come and go, as programs do, are looked for a few times."""
    for _ in range(LOOKS):
        if pids := VICTIMS[victim](look(front, mark), draw):
            return pids
    return []


def judge(here: Machine, output: Path, environment: dict[str, str], person: Person) -> dict[str, Any]:
    """Compare, reset where there is something to restore, compare again. What stays different is the new before."""
    first = here.changed()
    reset: dict[str, object] = {}
    code = 0
    needed = bool(first) or JOURNAL.exists()
    if needed:
        pid = becalm(person.words(["reset"]), output, environment, person)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        reset = here.changed()
    # The store of whatever was killed is readable.
    pid = becalm(["list"], output, environment, person)
    listed = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    left = bool(reset) or JOURNAL.exists()
    if left:
        bound = ("--interrupt-wait", str(INTERRUPT_WAIT_S))
        subprocess.run([agent_path(), "restore", "--force", *bound], capture_output=True)
        here.renew()
    back = "not by one reset" if left else "by one reset" if needed else "by itself"
    differing = {str(name): [str(value) for value in pair] for name, pair in (reset or first).items()}  # type: ignore[attr-defined]
    return {"back": back, "reset": code if needed else None, "listed": listed, "differing": differing}


@contextlib.contextmanager
def bystander() -> Iterator[int]:
    """Start a process of somebody else's that is bound to the last CPU."""
    cpu = max(os.sched_getaffinity(0))
    process = subprocess.Popen(["sleep", "100000"], preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def summary(records: list[Record]) -> str:
    """Return the table: a row for each kind of victim."""
    rows = []
    for victim in [*VICTIMS, None]:
        own = [record for record in records if record["killed"] and victim in (None, record["victim"])]
        if not own and victim == "helper":
            continue
        backs = Counter(row["back"] for row in own)
        flagged = sum(row["hang"] or row["defect"] or row["listed"] != 0 for row in own)
        counts = (
            len(own),
            sum(row["on"] for row in own),
            backs["by itself"],
            backs["by one reset"],
            backs["not by one reset"],
            flagged,
        )
        rows.append([victim or "all", *(f"{count:,}" for count in counts)])
    header = [
        "killed",
        "kills",
        "with settings on",
        "back by itself",
        "by one `reset`",
        "not so",
        "hang, defect or lost store",
    ]
    failed = [record for record in records if record["back"] == "not by one reset"]
    hits = sum(bool(record["killed"]) for record in records)
    stays = sum(
        record["back"] == "by one reset" and record.get("verb") == "apply" for record in records if record["killed"]
    )
    meant = f"{stays} of those by one `reset` are `apply`, whose settings stay by design."
    return f"{table(header, rows)}\n\n{meant} Not back by one `reset`: {share(len(failed), hits)}."


def load_all() -> None:
    """Import all of becalm, so that a process forked from this one begins at once."""
    for module in pkgutil.walk_packages(package.__path__, "becalm."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)


def go_on(log: Log, options: argparse.Namespace) -> None:
    """Do what is left of the trials, as long as there is time."""
    begun = time.monotonic()
    load_all()
    todo = range(len(log.records), options.kills)
    person = Person(options.user)
    with permitted(person), bystander() as pid, swap_areas(options.state):
        here = Machine(pid)

        def trials() -> Iterator[Callable[[], Record]]:
            for number in todo:
                if options.seconds and time.monotonic() - begun > options.seconds:
                    return
                seen = [record["first_s"] for record in log.records[-50:] if record["first_s"] is not None]
                usual_s = statistics.median(seen) if seen else FIRST_S
                yield partial(trial, number, options.seed, options.state, here, usual_s, person)

        work_off(trials(), log, len(todo))
    shutil.rmtree(options.state / "trial", ignore_errors=True)


def report(result: Record) -> str:
    """Return the machine and the table, for the documents."""
    return f"{describe(result['machine'])}\n\n{summary(result['records'])}"


def is_bad(record: Record) -> bool:
    """Return whether something did not come back by one reset, hung or was lost."""
    return bool(record["back"] == "not by one reset" or record["hang"] or record["defect"] or record["listed"])


def main() -> int:
    """Run the command; the exit code is 1 when something did not come back by one `reset`, hung or was lost."""
    parser = argparse.ArgumentParser(description="Kill becalm while real settings are on.")
    parser.add_argument("--state", type=Path, default=OUT / "kills", help="directory in which a campaign goes on")
    parser.add_argument("--kills", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=0, help="stop after this time; 0 is never")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--user", default="root", help="who runs becalm; another one than root with --sudo")
    parser.add_argument("--quick", action="store_true", help="each kind of victim once: shows that it works")
    parser.add_argument("--show", action="store_true", help="print the table only")
    options = parser.parse_args()
    if options.user != "root" and options.state == OUT / "kills":
        options.state = OUT / "kills_by_user"
    if options.quick:
        options.state, options.kills = options.state.with_name("kills-quick"), len(VICTIMS)
    path = options.state / "kills.jsonl"
    if not options.show:
        if os.geteuid() != 0:
            raise SystemExit("Kills of real settings need root.")
        if JOURNAL.exists():
            raise SystemExit(f"Settings are on ({JOURNAL}): take them off first, by becalm reset.")
        os.environ["BECALM_INTERRUPT_WAIT"] = str(INTERRUPT_WAIT_S)
        go_on(Log(path, {"seed": options.seed} | ({"user": options.user} if options.user != "root" else {})), options)
    return conclude(path, options.state.with_suffix(".json"), report, is_bad)


if __name__ == "__main__":
    sys.exit(main())
