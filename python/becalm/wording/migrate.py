"""Sentences about moving a running process: where it cannot go, when it was moved, and why then."""

from __future__ import annotations

from collections.abc import Sequence

from becalm.hosts.recorded import Counting
from becalm.migration.migrate import Migrated, Waited
from becalm.wording.numbers import counted, duration
from becalm.wording.printable import one_line, printable
from becalm.wording.sweetspots import KINDS

NOTHING = "Nothing was set."


def no_process(pid: int) -> str:
    """Return the sentence about a process number without a process."""
    return f"There is no process {pid}, or it has ended. {NOTHING}"


def of_kernel(pid: int, name: str) -> str:
    """Return the sentence about a thread of the kernel."""
    return f"Process {pid} ({one_line(name)}) is a thread of the kernel, which binds it itself. {NOTHING}"


def no_number(text: str) -> str:
    """Return the sentence about a text that is not a process number."""
    return f"{printable(text)!r} is not a process number."


def offline(pid: int, cpus: Sequence[int], online: Sequence[int]) -> str:
    """Return the sentence about CPUs that do not exist or are offline."""
    return (
        f"Process {pid} cannot be moved to {_cpus(cpus)}, which {_are(cpus)} not online; online are {_list(online)}. "
        f"{NOTHING}"
    )


def not_allowed(pid: int, cpus: Sequence[int], allowed: Sequence[int]) -> str:
    """Return the refusal of CPUs that a process may not use, with the commands that allow them."""
    lacking = _list([cpu for cpu in cpus if cpu not in allowed])
    return (
        f"Process {pid} may use only the CPUs {_list(allowed)}, because of its affinity and its cpuset, and not "
        f"{lacking}. {_widen(pid, _list(sorted({*cpus, *allowed})))} {NOTHING}"
    )


def _widen(pid: int, cpus: str) -> str:
    """Return the commands that allow a process more CPUs."""
    return (
        f"Widen its affinity first: taskset -acp {cpus} {pid}; a cpuset of a unit of systemd: systemctl set-property "
        f"UNIT AllowedCPUs={cpus}."
    )


def nowhere(pid: int, allowed: Sequence[int], online: Sequence[int]) -> str:
    """Return the sentence that there is no CPU to move to."""
    away = "" if set(online) == set(allowed) else f", of which {_list(online) or 'none'} are online"
    return (
        f"Process {pid} may use the CPUs {_list(allowed)}{away}: there is no other one to move it to. "
        f"{_widen(pid, 'LIST')} {NOTHING}"
    )


def no_llc(pid: int) -> str:
    """Return the sentence that the kernel does not report which CPUs share a cache."""
    return f"The kernel does not report which CPUs share a cache with process {pid}. Name a CPU instead. {NOTHING}"


def no_such_llc(pid: int, runs: int, llc: str, others: Sequence[int]) -> str:
    """Return the sentence that no allowed CPU has, or has not, the same cache."""
    words = "shares the last-level cache with" if llc == "same" else "has another last-level cache than"
    return (
        f"Process {pid} runs on CPU {runs}, and none of the CPUs {_list(others)} that it may be moved to {words} it. "
        f"{NOTHING}"
    )


def wrong_llc(pid: int, cpus: Sequence[int], llc: str, choices: Sequence[int]) -> str:
    """Return the sentence about a named CPU that contradicts --llc; `choices`: the CPUs that agree with it."""
    return f"Process {pid} cannot go to {_cpus(cpus)}: with --llc {llc} it can go to {_list(choices)}. {NOTHING}"


def other_llc(llc: str, known: Sequence[str]) -> str:
    """Return the sentence about an unknown value of --llc."""
    return f"--llc is one of {', '.join(known)}, not {printable(llc)!r}."


def belongs(option: str) -> str:
    """Return the sentence about an option that needs --at-sweetspot."""
    return f"{option} applies only to waiting for a sweet spot: give --at-sweetspot, too."


def not_both(option: str, account: bool, command: bool = False) -> str:
    """Return the sentence about an option that belongs to another form of the command."""
    if command:
        return f"{option} does not go with `account -- CMD`, which runs that program by itself."
    if account:
        return f"{option} is about a running process: `account WORKLOAD` is about a simulated one."
    return f"{option} is about simulated programs: becalm migrate account WORKLOAD {option} …"


def ended(pid: int) -> str:
    """Return the sentence that a process ended while it waited."""
    return f"Process {pid} ended before it was moved. {NOTHING}"


def not_in_time(pid: int) -> str:
    """Return the sentence that the recording ended before the process was moved."""
    return f"Recording ended before process {pid} was to be moved. {NOTHING}"


def nothing_to_move() -> str:
    """Return the sentence that no process was recorded."""
    return f"No process was recorded that could be moved. {NOTHING}"


def not_for_command(cpus: Sequence[int], allowed: Sequence[int]) -> str:
    """Return the sentence about CPUs that a command would not be allowed to use."""
    return (
        f"The command may not use CPU {_list([cpu for cpu in cpus if cpu not in allowed])}: becalm, which starts it, "
        f"may use only {_list(allowed)}. Nothing was run."
    )


def no_destination(text: str, words: Sequence[str]) -> str:
    """Return the sentence about a text that is not a list of CPUs."""
    return f"{printable(text)!r} is not a list of CPUs to move to, such as 1 or 2-3, nor one of: {', '.join(words)}."


def not_there(host: str) -> str:
    """Return the sentence about a process on another machine."""
    return (
        f"A program is moved on the machine where becalm runs, not on {one_line(host)}: run becalm there, or leave "
        "--migrate out."
    )


def sentence(migrated: Migrated) -> str:
    """Return the sentence about a move: the process, its destination, and the reason for the moment."""
    process = f"Process {migrated.pid} ({one_line(migrated.name)}, {counted(migrated.threads, 'thread')})"
    when = "" if migrated.waited is None else f" {_after(migrated.waited)}"
    if migrated.cpus == (migrated.came,):
        return f"{process} was bound to CPU {migrated.came}, where it ran already,{when}.".replace(",.", ".")
    came = "" if migrated.came is None else f" from CPU {migrated.came}"
    return f"{process} was moved{came} to {_cpus(migrated.cpus)}{when}."


def _after(waited: Waited) -> str:
    decided = waited.decided
    time = duration(waited.waited_ns)
    if waited.why == "spot" and decided is not None and decided.kind is not None:
        thread = "" if decided.task is None else f", seen of thread {decided.task}"
        return f"after {time}, at a sweet spot of type {decided.kind}: {KINDS[decided.kind]}{thread}"
    if waited.why == "waited_enough" and decided is not None:
        return (
            f"after {time}: no sweet spot came, and waiting for longer would have cost more than moving "
            f"({_worth(waited)})"
        )
    if waited.why == "not_worth_waiting" and decided is not None:
        return (
            "at once: by its counts, moving costs less than waiting for a sweet spot could save (d_min is "
            f"{duration(decided.least_ns)} for 1 ms)"
        )
    if waited.why == "hard_limit":
        return f"after {time}, the limit: no sweet spot came ({_worth(waited)})"
    if waited.why == "asked":
        return "at the requested moment"
    if waited.why == "not_counted":
        return "at once: none of its events could be counted here, so no sweet spot could be seen"
    return f"after {time}: its counts were not known, so there was no sign that waiting pays"


def _worth(waited: Waited) -> str:
    """Return the sweet spots that the move waited for, with the limit of waiting."""
    kinds = ", ".join(f"type {kind}, {KINDS[kind]}" for kind in waited.kinds)
    if not waited.bounded or waited.decided is None:
        return f"waited for {kinds}"
    return f"d_max was {duration(waited.decided.longest_ns)}; waited for {kinds}"


def no_limit(limit_ns: int) -> str:
    """Return the sentence about an invalid hard limit."""
    return f"The limit of waiting must be above 0 and at most 100 ms, not {duration(limit_ns)}."


def events(counting: Counting) -> str:
    """Return the events that were counted."""
    return _events(counting) + (" by BPF" if counting.by == "bpf" else "")


def _events(counting: Counting) -> str:
    if counting.events == "ws_turnover":
        return "pages that it newly uses, among those that it uses (ws_turnover, no miss ratio)"
    if counting.events == "faults":
        return "page faults, of which only the beginning of a program is taken"
    names = {
        (counter["references"]["name"], counter["misses"]["name"], counter["misses"]["level"])
        for counter in counting.counted
    }
    return ", ".join(f"{references} and {misses} ({level})" for references, misses, level in sorted(names))


def counting(waited: Waited) -> str:
    """Return the events that were counted, the rules and the limit, and what the counts cannot show."""
    result = f"Counted: {waited.events}; rules: {waited.rules}; limit: {duration(waited.limit_ns)}."
    if waited.bounded:
        return result
    return f"{result} These events do not show what misses cost, so only the limit bounded the wait."


def undone(pid: int) -> str:
    """Return the sentence that a process may use its earlier CPUs again."""
    return f"Process {pid} has its CPUs back."


def gone(pid: int) -> str:
    """Return the sentence that a process ended while it was bound to CPUs."""
    return f"Process {pid} has ended."


def _cpus(cpus: Sequence[int]) -> str:
    return f"CPU{'s' if len(cpus) != 1 else ''} {_list(cpus)}"


def _are(cpus: Sequence[int]) -> str:
    return "are" if len(cpus) != 1 else "is"


def _list(cpus: Sequence[int]) -> str:
    return ",".join(map(str, cpus))
