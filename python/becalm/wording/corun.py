"""Sentences of `becalm corun`: what programs lose next to each other, what was left out, why it cannot measure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from becalm.nouns.run import Outcome
from becalm.results.corun import CoRunProfile, Degradation
from becalm.units import join_names
from becalm.wording.numbers import counted, percent
from becalm.wording.printable import printable

NO_TIME = "the budget was too short"
INTERRUPTED = "it was interrupted before"
FAILED_ALONE = "one of them fails alone"
FAILED_ALONGSIDE = "it failed each time"
WAITED = 0.05
"""The share of waiting above which something else must run: each program has a CPU to itself."""

ONE_CPU = (
    "Only one CPU may be used here, so two programs cannot run at the same time, and what they would lose next to each "
    "other cannot be measured. Allow more CPUs, or name another --host."
)
NO_CACHES = (
    "This machine does not report which CPUs share a cache, so all usable CPUs are treated as one chip. On another "
    "chip the answer may differ."
)
OWN_CPUS = (
    "becalm corun chooses the CPUs of programs: one for the program that is timed, others for its neighbours. "
    "Leave --set cpus out."
)


def sentence(profile: CoRunProfile) -> str:
    """Return the result of a profile in one sentence."""
    known = [degradation for degradation in profile.degradations if math.isfinite(degradation.low)]
    if not profile.degradations:
        return "No two programs were measured together."
    if not known:
        return "Only one round was measured, so how much programs lose is not known. Measure longer: --budget 5min"
    worst = max(known, key=lambda degradation: degradation.cost)
    if worst.low > 0:
        return f"{_who(worst)} loses most: {_share(worst)} of its speed."
    most = max(degradation.high for degradation in known)
    return f"No program was seen to lose speed next to another; none loses more than {percent(max(0.0, most))} %."


def remarks(profile: CoRunProfile, warnings: Sequence[str] = ()) -> tuple[str, ...]:
    """Return further facts worth knowing, as sentences."""
    sentences = list(warnings)
    for program in profile.programs:
        if not program.alone:
            name = printable(program.name)
            why = f"{name} fails alone and was left out: {program.failed[-1].reason}." if program.failed else ""
            sentences.append(why or f"{name} was not run.")
    for run in profile.co_runs:
        if run.failed:
            often = "each time" if not run.runs else f"{len(run.failed)} times"
            sentences.append(
                f"{printable(run.program)} failed {often} next to {names(run.alongside)}, and not alone: "
                f"{run.failed[-1].reason}."
            )
        sentences += run.trouble
    for faster in (degradation for degradation in profile.degradations if degradation.faster):
        sentences.append(
            f"{_who(faster)} ran faster than alone, by {percent(-faster.cost)} %, which is more than noise: it counts "
            "as no loss. A busy neighbour may keep the processor awake or its clock high."
        )
    if profile.waited is not None and profile.waited > WAITED:
        sentences.append(
            f"Programs waited for their CPU for {100 * profile.waited:.0f} % of their time: something else runs "
            "on this machine, and neighbours drive it onto the CPU of the timed program, or a program has several "
            "threads. These figures include that loss, which is not one of cache or memory. Measure on an idle machine."
        )
    if profile.left_out:
        sentences.append(left_out(profile))
    if profile.interrupted:
        sentences.append("Interrupted: this is what was known by then.")
    return tuple(dict.fromkeys(sentences))


def left_out(profile: CoRunProfile) -> str:
    """Return the sentences about sets that were not measured."""
    cores = sum(group.same_core for group in profile.left_out)
    pairs = [group for group in profile.left_out if len(group.programs) == 2 and not group.same_core]
    larger = len(profile.left_out) - len(pairs) - cores
    parts = []
    if pairs:
        first = "; ".join(f"{names(pair.programs)} ({pair.reason})" for pair in pairs[:3])
        more = f"; and {len(pairs) - 3} more" if len(pairs) > 3 else ""
        parts.append(
            f"Pairs that were not measured: {first}{more}. What these lose is not known, and `becalm place` avoids "
            "them."
        )
    if cores:
        parts.append(
            f"{counted(cores, 'pair')} of programs were not measured on the two threads of one core: sharing one is "
            "assumed to cost them nothing more, which underestimates it."
        )
    if larger:
        parts.append(
            f"{larger} larger sets were not measured: their loss is assumed to be the sum of the losses of their pairs."
        )
    return " ".join(parts)


def failed(outcome: str, status: int | None, stderr: str) -> str:
    """Return the reason why a run failed, in a few words."""
    how = {
        Outcome.TIMEOUT: "it took longer than its time limit",
        Outcome.REFUSED: "it could not be started",
    }.get(Outcome(outcome), "it failed")
    if status is not None and outcome == Outcome.FAILED:
        how = f"signal {-status}" if status < 0 else f"exit code {status}"
    lines = [line for line in printable(stderr).splitlines() if line.strip()]
    return f"{how}: {lines[-1].strip()[:200].rstrip('.')}" if lines else how


def nothing(remarks: Sequence[str]) -> str:
    """Return the sentence about too few programs that end well by themselves."""
    return f"Two programs that end well alone are needed. {' '.join(remarks)}"


def where(profile: CoRunProfile) -> str:
    """Return the sentence about the CPUs and the number of rounds."""
    rounds = max((degradation.rounds for degradation in profile.degradations), default=0)
    cpus = ", ".join(map(str, profile.alongside_cpus))
    often = counted(rounds, "round")
    core = (
        " or on the other thread of its core"
        if any(degradation.same_core for degradation in profile.degradations)
        else ""
    )
    return f"Timed on CPU {profile.cpu}, neighbours on {cpus}{core}; {often}; ± is half of a 95 % interval."


def names(programs: Sequence[str]) -> str:
    """Return the names of programs, made printable."""
    return join_names(printable(program) for program in programs)


def _who(degradation: Degradation) -> str:
    where = " on one core" if degradation.same_core else ""
    return f"{printable(degradation.program)} next to {names(degradation.alongside)}{where}"


def _share(degradation: Degradation) -> str:
    half = (degradation.high - degradation.low) / 2
    return (
        f"{percent(degradation.cost, half)} % (95 %: {percent(degradation.low, half)} to "
        f"{percent(degradation.high, half)} %)"
    )
