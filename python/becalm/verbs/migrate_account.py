"""`becalm migrate account`: costs of moves at sweet spots and at random moments, against none, on simulated caches."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from msgspec.structs import replace

from becalm.errors import UsageError
from becalm.migration import simulated
from becalm.migration.account import Accounted, account
from becalm.migration.rules import rules_named
from becalm.units import duration_ns
from becalm.wording.migrate_account import sentence

TO = {"same": 1, "other": 2}
"""The CPU to which CPU 0 is left: CPUs 0 and 1 share a last-level cache, 2 and 3 another one."""

TICKS = 20
"""The number of readings of a counter in a window."""


def account_migration(
    workload: str,
    *,
    to: str = "other",
    moves: int = 20,
    rules: str = "rise",
    window: float | str = "5ms",
    reuse: float = 0.8,
    seed: int = 0,
    cache: str | None = None,
) -> Accounted:
    """Measure the cost of moving a program at sweet spots and at random moments, and whether waiting gains anything.

    The same program runs three times, with its pages at the same places: moved at a random moment, moved at the next
    sweet spot after it, and not moved. The unmoved run is the reference of both moves.

    Arguments:
        workload: matrixmult:N,REPEATS, phases:SIZE,SWEEPS,PHASES or trace:FILE: one that ends.
        to: the "same" or another ("other") last-level cache.
        moves: the number of random moments.
        rules: rise (becalm's own), published, adaptive or cusum.
        window: T, seconds or text ("5ms").
        reuse: p, the probability that a line is used again: the wait lasts as long as the share 1 - p of the counted
            events is worth. 0.8 as published; 0 waits longest.
        seed: the seed of moments and places of pages.
        cache: size of each last-level cache, of 12 ways ("384K") [default: 6 MiB].

    Raises UsageError for arguments that cannot be simulated, MachineError without the engine.
    """
    if to not in TO:
        raise UsageError(f"A program is moved to the {' or the '.join(map(repr, TO))} last-level cache, not to {to!r}.")
    window_ns = duration_ns(window)
    machine: dict[str, Any] = {"cpus": 4, "llcs": 2}
    if cache is not None:
        machine["llc"] = simulated.cache_of(cache)
    cost = {"reuse": reuse, **({"counted": "references", "miss_ns": 12.9} if to == "same" else {"miss_ns": 96.8})}
    with ExitStack() as files:
        request = {
            "machine": machine, "tick_ns": max(1_000, window_ns // TICKS), "tasks": [simulated.task(workload, files)],
            "question": {"rules": rules_named(rules).within(window_ns), "waiting": cost},
        }  # fmt: skip
        moments = tuple(account(request, TO[to], moves, seed))
    accounted = Accounted(workload, to, rules, reuse, window_ns, moments)
    return replace(accounted, sentence=sentence(accounted))
