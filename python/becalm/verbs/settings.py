"""`becalm knobs`, `apply`, `reset`, `status`: show settings, apply them, restore them. Prints nothing.

`apply` applies a profile for the time of a command, or until `reset`. Settings that the machine lacks are listed with
their reasons and left out; the others are applied and read back by the agent, which also restores them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from becalm import hosts
from becalm.errors import MachineError, RefusedError, UsageError
from becalm.hosts import Ability, Access, Event, Host, Noticed, RunText, Written
from becalm.nouns.excluded import Excluded
from becalm.nouns.knob import Knob, find
from becalm.nouns.run import Outcome
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Output, Workload
from becalm.plans.once import once
from becalm.plans.run_log import RunLog
from becalm.profiles import Profile
from becalm.report.program_output import OutputListener
from becalm.results.progress import ProgressListener
from becalm.results.settings import ApplyResult, Reset, Status
from becalm.study.measure import measure
from becalm.study.settings_in_force import accepted, machine_remarks, not_in_force, usable
from becalm.study.settings_profile import OWN, find_profile
from becalm.verbs.settings_boot import apply_boot


def knobs(
    host: str | Host = "local", *, name: str | None = None, sudo: bool = False, root: str | None = None
) -> list[Knob]:
    """Return all settings with their state on a host now, or the reason why it lacks them.

    Arguments:
        host: a name, or an open host.
        name: return only this setting.
        sudo: read as root what other users may not read.
        root: a directory that looks like `/`, to read instead of the machine.

    Raises UsageError for an unknown name, MachineError.
    """
    with hosts.open(host, Access(sudo=sudo, root=root)) as machine:
        rows = machine.knobs()
    return rows if name is None else [find(rows, name)]


def apply(
    profile: Profile | str,
    command: Sequence[str] | None = None,
    *,
    host: str | Host = "local",
    sudo: bool = False,
    root: str | None = None,
    owner: str = "",
    dangerous: bool = False,
    strict: bool = False,
    dry_run: bool = False,
    boot: bool = False,
    allow_reboot: bool = False,
    keep: bool = False,
    listener: ProgressListener | None = None,
) -> ApplyResult:
    """Apply a profile's settings: for the time of `command`, else until `reset`.

    With `boot`, apply its boot settings instead (docs/how-to/reboot.md), for the next start only. After that start the
    same call reports whether the kernel accepted them, and with `keep` every later start has them until `reset`.

    Arguments:
        profile: a Profile, or a reference to one: a name, a file, or the number of a study.
        command: run once with the settings applied; process settings act on it alone.
        sudo: change the machine as root; the command still runs as you.
        root: a directory that looks like `/`, to change instead of the machine.
        owner: a name to tell these settings from others of the same user; `reset` with it restores only these.
        dangerous: consent to settings that can make the machine slow, hot or hard to reach.
        strict: raise UsageError for a setting that this machine does not have, instead of leaving it out.
        dry_run: report what would be written, write nothing.
        boot: apply the settings that are parameters of the kernel, and no others.
        allow_reboot: with `boot`, restart another machine now and check it, instead of leaving the restart to the user.
        keep: with `boot`, apply the settings at every start, once a start with them went well.
        listener: called with warnings of settings that cannot be restored, before anything is written, and with the
            command's output where it cannot write itself; None: the output is passed on to our own.

    Raises UsageError (unknown name or value, consent missing), MachineError (rights, another becalm), RefusedError;
    BootError when a machine did not start with the parameters, or its kernel did not accept them.
    """
    if (keep or allow_reboot) and not boot:
        flag = "--keep" if keep else "--allow-reboot"
        raise UsageError(f"{flag} applies only to boot settings: add --boot.")
    if boot and command is not None:
        raise UsageError(
            "Boot settings hold for a whole start of the machine, not for one program: leave the program or --boot out."
        )
    profile = find_profile(profile) if isinstance(profile, str) else profile
    title = profile.name if profile.name == OWN else f"profile {profile.name}"
    listener = listener or OutputListener()
    access = Access(sudo=sudo, root=root, title=title, owner=owner, reboot=boot, say=listener.warned)
    with hosts.open(host, access) as agent:
        if boot:
            shown = apply_boot(
                agent, profile, dangerous=dangerous, strict=strict, dry_run=dry_run, restart=allow_reboot, keep=keep
            )
            return replace(shown, remarks=(*machine_remarks(profile, agent), *shown.remarks))
        hosts.need(agent.name, agent.abilities(), Ability.HOLD if dry_run or command is not None else Ability.KEEP)
        settings, skipped = settings_for(agent, profile, with_program=command is not None, dangerous=dangerous)
        if strict and skipped:
            raise UsageError(
                f"Not all settings of {profile.name} can be set: {skipped[0].knob}: {skipped[0].reason}. Nothing was "
                "set."
            )
        elsewhere = machine_remarks(profile, agent)
        if command is not None:
            settings = not_in_force(agent, settings, listener.warned)
        planned = agent.plan(settings, dangerous=dangerous)
        if dry_run:
            return ApplyResult(profile.name, planned.changes, skipped, (*elsewhere, *planned.lasting), dry_run=True)
        if command is not None:
            code, remarks = _run(agent, settings, command, dangerous, listener)
            agent.settle()
            return ApplyResult(profile.name, planned.changes, skipped, (*elsewhere, *remarks), exit_code=code)
        if not settings.values:
            return ApplyResult(profile.name, (), skipped, elsewhere)
        for sentence in planned.lasting:
            listener.warned(sentence)
        done = agent.keep(settings, dangerous=dangerous)
        return ApplyResult(profile.name, done.changes, skipped, (*elsewhere, *done.remarks), done.took_ns)


def settings_for(
    agent: Host, profile: Profile, *, with_program: bool = False, dangerous: bool = False
) -> tuple[Settings, tuple[Excluded, ...]]:
    """Return the settings of a profile that a machine accepts, and the ones left out.

    `with_program`: they are for the time of a program. Raises RefusedError where settings that were named one by one
    cannot be applied.
    """
    settings, skipped = usable(profile, agent.knobs(), with_program=with_program)
    if profile.name != OWN:
        settings, lacking = accepted(agent, settings, dangerous)
        return settings, skipped + lacking
    if skipped:
        # They were named one by one, not as part of a list for many machines, so leaving one out is not acceptable.
        raise RefusedError(f"{skipped[0].knob} cannot be set here: {skipped[0].reason}. Nothing was set.")
    return settings, skipped


def reset(
    host: str | Host = "local",
    *,
    sudo: bool = False,
    root: str | None = None,
    force: bool = False,
    mine: bool = False,
    owner: str = "",
) -> Reset:
    """Restore everything that becalm has left set, whoever ran it; the result names the settings.

    Arguments:
        host: a name, or an open host.
        sudo: act as root.
        root: a directory that looks like `/`, to change instead of the machine.
        force: restore also what somebody else has changed since, and end a becalm that holds the machine.
        mine: restore only what this user has applied, under this `owner`.
        owner: the name under which it was applied (`apply`).

    Raises RefusedError with `mine` for what somebody else has applied, MachineError when a running becalm holds the
    machine, or when rights are missing.
    """
    with _settings_host(host, Access(sudo=sudo, root=root, title="reset", owner=owner)) as machine:
        return machine.restore(force=force, mine=mine or bool(owner))


def status(host: str | Host = "local", *, root: str | None = None) -> Status:
    """Return the settings applied on a host, who applied them and since when. Needs no rights. Raises MachineError."""
    with _settings_host(host, Access(root=root)) as machine:
        return machine.status()


@contextmanager
def _settings_host(host: str | Host, access: Access) -> Iterator[Host]:
    """Yield a host on which settings may be, or have been, applied. Raises UsageError for another one."""
    with hosts.open(host, access) as machine:
        hosts.need(machine.name, machine.abilities(), Ability.HOLD)
        yield machine


def _run(
    machine: Host, settings: Settings, command: Sequence[str], dangerous: bool, listener: ProgressListener
) -> tuple[int, tuple[str, ...]]:
    """Run a command once; return its exit code as a shell would, and remarks on the settings."""
    input_path = _input() if machine.name == "local" else None
    workload = Workload.of(list(command), output=Output.INHERIT, expect=None, input=input_path)
    machine.define([workload], [settings], dangerous=dangerous)
    log = RunLog()
    messages: list[str] = []
    remarks: list[str] = []

    def take(event: Event) -> None:
        match event:
            case RunText(_, stderr):
                messages.append(stderr)
            case Written(stream, text):
                listener.wrote(stream, text)
            case Noticed():
                remarks.extend(event.remarks)

    measure(machine, once, log, take)
    if not log.rows or log.rows[0].outcome == Outcome.REFUSED:
        raise MachineError(f"The command was not run. {''.join(messages)}".strip())
    if log.interrupted:
        return 130, ()
    code = log.rows[0].status or 0
    return (128 - code if code < 0 else code), tuple(remarks)


def _input() -> str | None:
    """Return our standard input for the command, when it is a file or a pipe; a background program gets no terminal."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return None
    return f"/proc/{os.getpid()}/fd/0" if stat.S_ISREG(mode) or stat.S_ISFIFO(mode) else None
