"""`becalm migrate account -- CMD`: the cost of moves for a real program, in rounds of random order like `compare`."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from becalm import hosts
from becalm.errors import MachineError, RefusedError, UsageError, WorkloadError
from becalm.hosts import Ability, Access, Host, MeasureRequest, Runs, RunText
from becalm.hosts.recorded import Recording, known_means
from becalm.migration import live_account
from becalm.migration.live_account import LEAST_ROUNDS, QUANTITIES, LiveAccounted
from becalm.migration.rules import WINDOW_NS, rules_named
from becalm.nouns.run import Block, Outcome, Run, Step
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Output, Workload
from becalm.results.progress import ProgressListener
from becalm.study import migrate_once, migrate_target
from becalm.study.counted_stream import LEAST_BATCH_NS, order
from becalm.study.migrate_recorded import MoveRequest
from becalm.study.migrate_runs import ARMS, LAST, MovedRun, Moving
from becalm.units import duration_ns
from becalm.verbs.compare import compare
from becalm.wording import migrate
from becalm.wording import migrate_account as wording

ROUNDS = 20
LEAST_MOVES = 10
"""The smallest number of rounds: with fewer, the intervals of three joint comparisons are unbounded."""


def account_command(
    command: str | Sequence[str],
    *,
    to: str | None = None,
    moves: int = ROUNDS,
    rules: str = "rise",
    window: float | str | None = None,
    limit: float | str | None = None,
    events: str = "auto",
    by: str = "perf",
    seed: int = 0,
    host: str | Host = "local",
    sudo: bool = False,
    store: str | None = None,
    listener: ProgressListener | None = None,
) -> LiveAccounted:
    """Measure the cost of moving a real program at sweet spots and at random moments, and the gain of waiting.

    In each round the program runs three times, in random order: bound at a random moment to the CPU where it runs,
    moved at that moment, or moved at the next sweet spot after it, by the rules of `becalm.migrate`. All runs are
    recorded.

    Arguments:
        command: a program that ends by itself.
        to: the least loaded other CPU of the "same" or another ("other") last-level cache; None: of all.
        moves: the number of rounds, 10 or more.
        rules, window, limit, events, by: as for `becalm.migrate` with `at_sweetspot`.
        seed: the seed of the moments.
        host, sudo: the host whose agents run it; binding needs root; the program runs as the user in any case.
        store: the store of the runs, as for `compare`.
        listener: receives the progress.

    Raises UsageError for a program too short to be moved during a run, RefusedError where nothing can be counted or
    bound, WorkloadError, MachineError, StoreError.
    """
    if isinstance(host, str) and not hosts.is_local(host):
        raise UsageError(migrate.not_there(host))
    if to is not None and to not in migrate_target.LLC:
        raise UsageError(migrate.other_llc(to, migrate_target.LLC))
    if moves < LEAST_MOVES:
        raise UsageError(f"At least {LEAST_MOVES} moves are needed for an interval, not {moves}.")
    rules_named(rules)
    known_means(by)
    window_ns = WINDOW_NS if window is None else duration_ns(window)
    request = MoveRequest(llc=to, rules=rules, window=window, limit=limit)
    limit_ns = migrate_once.limit_of(limit)
    workload = Workload.of(command, output=Output.DISCARD)
    access = Access(sudo=sudo, title="becalm migrate account")
    with hosts.open(host, access) as machine, hosts.open(host, access) as binder:
        for ability in (Ability.FOLLOW, Ability.HOLD):
            hosts.need(machine.name, machine.abilities(), ability)
        recording, length_ns = _tried(machine, workload, events, window_ns, by)
        moving = Moving(machine, binder, request, recording, length_ns, seed)
        if LAST * length_ns < 2e9 * moving.earliest_s:
            raise UsageError(wording.too_short(length_ns, round(2e9 * moving.earliest_s / LAST)))
        programs = [dataclasses.replace(workload, name=arm) for arm in ARMS]
        store_option: dict[str, Any] = {} if store is None else {"store": store}
        compare(programs, runs=moves, host=moving, listener=listener, **store_option)
        arms = [{run.run.round: _row(run) for run in moving.runs() if run.run.workload == arm} for arm in range(3)]
        counted = "nothing" if moving.counting is None else migrate.events(moving.counting)
    rounds = live_account.rounds_of(arms)
    if len(rounds) < LEAST_ROUNDS:
        raise MachineError(f"{len(rounds)} rounds are complete; an interval needs {LEAST_ROUNDS}.")
    words = command if isinstance(command, str) else shlex.join(command)
    accounted = LiveAccounted(words, to, rules, window_ns, limit_ns, counted, rounds)
    return replace(accounted, sentence=wording.live_sentence(accounted))


def _tried(machine: Host, workload: Workload, events: str, window_ns: int, by: str) -> tuple[Recording, int]:
    """Return the recording that a program permits, and the program's duration, by a run that is not counted."""
    why: list[str] = []
    for name in order(events, by):
        recording = Recording(name, window_ns, max(LEAST_BATCH_NS, window_ns // 2), by=by)
        machine.define([workload], [Settings()])
        request = MeasureRequest(0, Block((Step(0, 0, 0, 0),)), stop_on_failure=False, recording=recording)
        rows: list[Run] = []
        text = ""
        try:
            for event in machine.measure(request):
                rows += event.rows if isinstance(event, Runs) else ()
                text += event.stderr if isinstance(event, RunText) else ""
        except RefusedError as error:
            why.append(str(error))
            continue
        if not rows or rows[-1].outcome != Outcome.OK:
            raise WorkloadError(f"The command did not end well, and was not moved. {text}".strip())
        return recording, rows[-1].took_ns
    raise RefusedError(" ".join(why))


def _row(moved_run: MovedRun) -> dict[str, Any]:
    """Return the stored form of a run."""
    done, run = moved_run.moved.done, moved_run.run
    waited = None if done is None else done.waited
    cpu = None if run.user_ns is None or run.system_ns is None else run.user_ns + run.system_ns
    values = (run.wall_ns, cpu, moved_run.references, moved_run.misses)
    return {
        **dict(zip(QUANTITIES, values, strict=True)), "place": run.seq,
        "why": "not_moved" if waited is None else waited.why, "waited_ns": 0 if waited is None else waited.waited_ns,
    }  # fmt: skip
