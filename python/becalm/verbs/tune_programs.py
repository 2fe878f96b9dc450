"""`becalm tune --factor NAME=a,b,c 'prog {NAME}'`: factors of one's own, with the machine as the unit of repetition."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from msgspec.structs import replace

from becalm.analysis.tune_table import Measurement, choose_among
from becalm.errors import UsageError
from becalm.hosts import Host
from becalm.nouns.metric import Better, Response, Work
from becalm.nouns.options.measuring import ComparedPrograms, CompareOptions
from becalm.nouns.signature import takes
from becalm.nouns.workload import CommandLine, Workload
from becalm.results.compare import Verdict
from becalm.results.multi_host import MultiHostVerdict
from becalm.results.tune_table import ConfigurationChoice
from becalm.stats.unit_choice import FIRST
from becalm.study.session_options import SessionOptions, WithProfile, split_keywords
from becalm.units import duration_ns
from becalm.verbs.compare import compare, programs_of
from becalm.wording.metric import measured
from becalm.wording.tune_table import SESSION, worded

if TYPE_CHECKING:
    from becalm.verbs.keywords import TuneProgramsKeywords

SESSIONS = 3
"""The number of sessions on a machine that is the only one."""

UNUSED = frozenset(
    ("parameters", "prepares", "names", "baseline", "reference", "fail_above", "undecided", "fastest", "schedule")
)
"""Options of `compare` without a meaning where all configurations are compared with each other."""

BUDGET_NS = 300_000_000_000
"""The default of the time for all measurements, ns."""


def own_factors(commands: Sequence[object], factors: Sequence[str]) -> dict[str, str]:
    """Return the factors for which commands have a place, `{NAME}`, with their values as text.

    Raises UsageError where only some factors have one.
    """
    named = dict(factor.partition("=")[::2] for factor in factors)
    texts = [command for command in commands if isinstance(command, str)]
    own = {name: values for name, values in named.items() if any("{" + name + "}" in text for text in texts)}
    if own and (other := [name for name in named if name not in own]):
        raise UsageError(
            f"{other[0]!r} stands in no command, and {next(iter(own))!r} does: factors of your own and settings of the "
            f"machine are searched separately. Write {{{other[0]}}} into the command, or leave it out."
        )
    if lacking := [name for name, values in own.items() if not values]:
        raise UsageError(f"Which values does {lacking[0]} take? For example: --factor {lacking[0]}=1,2,4")
    return own


@takes(
    CompareOptions,
    ComparedPrograms,
    Response,
    Work,
    CommandLine,
    Workload,
    WithProfile,
    SessionOptions,
    without=("name", *sorted(UNUSED)),
    budget="5min",
)
def tune_programs(
    *commands: str,
    factors: Mapping[str, str],
    hosts: Sequence[str | Host] | None = None,
    **keywords: Unpack[TuneProgramsKeywords],
) -> ConfigurationChoice:
    """Choose among all combinations of factors of one's own, for a machine that nobody has measured.

    Arguments:
        commands: command lines with `{NAME}` in the place of each factor.
        factors: the values of each factor as text: {"threads": "1..8", "policy": "lru,fifo"}.
        hosts: the machines, which are the units of repetition; with one or none, three sessions on one machine are.

    All combinations are measured on the first two units, the best four on the others; `budget` is for all together.
    Raises UsageError, and what `compare` raises.
    """
    options: dict[str, Any] = dict(keywords)
    known = inspect.signature(compare).parameters.keys() - UNUSED
    if unknown := [name for name in options if name not in known]:
        raise UsageError(
            f"--{unknown[0].replace('_', '-')} is about searching settings of the machine, and factors of your own are "
            "all measured. Leave it out."
        )
    _, _, program = split_keywords(CompareOptions, options, ComparedPrograms, WithProfile, Response, Work)
    programs = programs_of(commands, ComparedPrograms.of({**options, "parameters": factors}), program)
    if len(programs) < 2:
        raise UsageError(f"There is a single configuration, {programs[0].name}: give the factor more values.")
    machines = list(hosts or ())
    units: list[str | Host | None] = [None] * SESSIONS if len(machines) < 2 else list(machines)
    where = {"host": machines[0]} if len(machines) == 1 else {}
    budget = options.get("budget")
    total = BUDGET_NS if budget is None else duration_ns(budget)
    shared = {**options, **where, "budget": max(1.0, total / 1e9 / len(units)), "fastest": False}
    names = (
        [f"{SESSION} {session + 1}" for session in range(SESSIONS)]
        if len(machines) < 2
        else [str(machine) for machine in machines]
    )
    measurements: list[Measurement] = []
    studies: list[int] = []
    value = ("time", "ns", Better.LOWER)
    choice: ConfigurationChoice | None = None
    for begin, end in ((0, FIRST), (FIRST, len(units))):
        chosen = programs if choice is None else _finalists(programs, choice)
        if not units[begin:end] or len(chosen) < 2:
            break
        for name, verdict in _verdicts(chosen, units[begin:end], names[begin:end], shared):
            value = _value(verdict)
            studies += [verdict.study] if verdict.study is not None else []
            for workload, summary in zip(chosen, verdict.summaries, strict=True):
                mean = measured(summary).mean.value if summary.runs else None
                measurements.append(Measurement(workload.parameters, name, mean))
        if not measurements:
            raise UsageError("No machine gave a measurement of any configuration.")
        choice = choose_among(
            measurements,
            source=" ".join(commands),
            unit=SESSION if len(machines) < 2 else "machine",
            value=value[0],
            better=value[2],
            units=names,
        )
    assert choice is not None
    return worded(replace(choice, value_unit=value[1], studies=tuple(studies)))


def _verdicts(
    programs: Sequence[Workload], units: Sequence[str | Host | None], names: Sequence[str], shared: Mapping[str, Any]
) -> list[tuple[str, Verdict]]:
    """Measure programs on each unit, one session each; lost units have no verdict."""
    if units[0] is None:
        return [(name, compare(*programs, **shared)) for name in names]
    together: MultiHostVerdict = compare(*programs, hosts=[unit for unit in units if unit is not None], **shared)
    verdicts = [(name, host.verdict) for name, host in zip(names, together.hosts, strict=True)]
    return [(name, verdict) for name, verdict in verdicts if isinstance(verdict, Verdict)]


def _value(verdict: Verdict) -> tuple[str, str, Better]:
    """Return the name and unit of the measured value, and which values are better."""
    if metrics := verdict.summaries[0].metrics:
        first = metrics[0]
        return first.name, first.unit, first.better
    return "time", "ns", Better.LOWER


def _finalists(programs: Sequence[Workload], choice: ConfigurationChoice) -> list[Workload]:
    """Return the programs to measure on the remaining units."""
    wanted = [dict(measurement.factors) for measurement in choice.next]
    return [program for program in programs if dict(program.parameters) in wanted]
