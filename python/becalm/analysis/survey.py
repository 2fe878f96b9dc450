"""The machines that are slower or noisier than their peers.

Peers are machines with the same processor. `Machine` has the measurements of one machine, `SurveyRow` its comparison
with its peers at one piece of work, `Outlier` a machine that is beyond them. The statistics are in
`becalm.stats.peers`: of all machines named, on average at most the stated share is named wrongly, however many were
surveyed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from msgspec.structs import replace

from becalm.nouns.finding import Finding, Interval
from becalm.results.survey import Machine, Outlier, PeerGroup, SurveyResult, SurveyRow
from becalm.stats.arrays import Floats
from becalm.stats.multiplicity import benjamini_hochberg
from becalm.stats.peers import (
    LEAST_PEERS,
    Peers,
    loop_estimates,
    loop_memory,
    peers,
    selected_intervals,
    trimmed_loops,
)
from becalm.wording import survey as words
from becalm.wording.findings import finding

SLOWER, NOISIER = "slower", "noisier"

UNKNOWN = "unknown processor"

BUSY = 0.01
"""The share of time waiting for a CPU from which something else must have run on a machine."""


MEMORY, UNLIKE = 0.1, 0.4
"""The correlation of neighbouring loops, and the standard deviation of the logarithm of machines' spreads, above both
of which the stated rate of wrong names is exceeded: bench/survey.py measures 8 % at 0.25 and 0.6."""

NOISIER_LEAST = 1.2
"""The least ratio of the spread of a machine to that of its peers for which the machine is named."""


def conclude(
    machines: Sequence[Machine],
    lost: Mapping[str, str],
    *,
    group: str,
    rate: float = 0.05,
    at_least: float = 0.01,
    loops: int = 0,
    interrupted: bool = False,
) -> SurveyResult:
    """Compare machines with their peers, at every piece of work that all of them did.

    `lost`: machines without a result, with the reason; `loops`: planned loops of each machine, of which an interrupted
    one has fewer; `interrupted`: one of the lost machines was interrupted. Each machine needs at least two loops of two
    runs. Raises ValueError otherwise, or for times that are not positive.
    """
    works = list(dict.fromkeys(work for machine in machines for work in machine.times_ns))
    cells = [cell for work in works for cell in _cells(machines, work)]
    outliers: list[Outlier] = []
    answers: list[tuple[Floats, list[Interval]]] = []
    for how in (SLOWER, NOISIER):
        adjusted, intervals = _family(cells, how, rate)
        answers.append((adjusted, intervals))
        least = math.log1p(at_least) if how == SLOWER else math.log(NOISIER_LEAST)
        for index, member in enumerate(_members(cells)):
            if adjusted[index] <= rate and member.excess(how) >= least:
                outliers.append(_outlier(member, how, intervals[index], float(adjusted[index])))
    rows = tuple(
        _row(member, answers[0][1][index], answers[1][1][index], answers[0][0][index], answers[1][0][index])
        for index, member in enumerate(_members(cells))
    )
    outliers.sort(key=lambda outlier: (outlier.how != SLOWER, -outlier.size.value))
    result = SurveyResult(
        group=group,
        rate=rate,
        at_least=at_least,
        rows=rows,
        named=tuple(replace(outlier, sentence=words.named(outlier)) for outlier in outliers),
        kinds=tuple(cell.kind_row() for cell in cells),
        studies={machine.host: machine.study for machine in machines if machine.study is not None},
        lost=dict(lost),
        interrupted=interrupted,
        findings=(*_emulated(machines), *_busy(machines), *_few(cells), *_unlike(cells)),
    )
    incomplete = [
        machine.host for machine in machines if any(len(times) < loops for times in machine.times_ns.values())
    ]
    return replace(result, sentence=words.surveyed(result, incomplete))


class _Cell(msgspec.Struct, frozen=True):
    """The machines of one kind at one piece of work; arrays have shape (machines,)."""

    kind: str
    work: str
    hosts: tuple[str, ...]
    location: Floats
    location_error: Floats
    spread: Floats
    spread_error: Floats
    loops: Floats
    memory: float
    slower: Peers
    noisier: Peers

    def kind_row(self) -> PeerGroup:
        between = None if math.isnan(self.slower.between) else self.slower.between
        time_ns, spread = math.exp(self.slower.centre), math.exp(self.noisier.centre)
        return PeerGroup(self.kind, self.work, len(self.hosts), time_ns, spread, between)


class _Member(msgspec.Struct, frozen=True):
    """A machine of a cell."""

    cell: _Cell
    at: int

    def excess(self, how: str) -> float:
        return float((self.cell.slower if how == SLOWER else self.cell.noisier).excess[self.at])


def _members(cells: Sequence[_Cell]) -> list[_Member]:
    return [_Member(cell, at) for cell in cells for at in range(len(cell.hosts))]


def _cells(machines: Sequence[Machine], work: str) -> list[_Cell]:
    by_kind: dict[str, list[Machine]] = {}
    for machine in machines:
        if work in machine.times_ns:
            by_kind.setdefault(machine.kind, []).append(machine)
    return [_cell(kind, work, members) for kind, members in by_kind.items()]


def _cell(kind: str, work: str, members: Sequence[Machine]) -> _Cell:
    # Machines may have different numbers of loops, where one was interrupted.
    estimates = [loop_estimates(np.log(member.times_ns[work])[None]) for member in members]
    location, location_error, spread, spread_error = (np.concatenate(arrays) for arrays in zip(*estimates, strict=True))
    loops = trimmed_loops([member.times_ns[work].shape[0] for member in members])
    memory = loop_memory([np.log(member.times_ns[work]) for member in members])
    noisier = peers(spread, spread_error, loops)
    # Alike peers show how far a location lies by chance; for unlike ones the standard errors must be right.
    unlike = noisier.between >= UNLIKE
    if unlike:
        location_error = location_error * math.sqrt((1 + memory) / (1 - memory))
    return _Cell(
        kind=kind,
        work=work,
        hosts=tuple(member.host for member in members),
        location=location,
        location_error=location_error,
        spread=spread,
        spread_error=spread_error,
        loops=loops,
        memory=memory,
        slower=peers(location, location_error, loops, unlike=unlike),
        noisier=noisier,
    )


def _family(cells: Sequence[_Cell], how: str, rate: float) -> tuple[Floats, list[Interval]]:
    """Return adjusted p values of all machines at all work for one question, and the intervals of their sizes."""
    questions = [cell.slower if how == SLOWER else cell.noisier for cell in cells]
    adjusted = benjamini_hochberg(np.concatenate([peer_group.p_value for peer_group in questions]))
    selected, tests = int((adjusted <= rate).sum()), int((~np.isnan(adjusted)).sum())
    intervals: list[Interval] = []
    for cell, peer_group in zip(cells, questions, strict=True):
        errors = cell.location_error if how == SLOWER else cell.spread_error
        low, high = selected_intervals(peer_group, errors, cell.loops, selected, tests, rate)
        shift = 1.0 if how == SLOWER else 0.0
        for values in zip(peer_group.excess, low, high, strict=True):
            intervals.append(Interval(*(math.exp(min(value, 700.0)) - shift for value in values)))
    return adjusted, intervals


def _outlier(member: _Member, how: str, size: Interval, q_value: float) -> Outlier:
    cell = member.cell
    return Outlier(cell.hosts[member.at], cell.kind, cell.work, how, len(cell.hosts) - 1, size, q_value)


def _row(member: _Member, slower: Interval, noisier: Interval, slower_q: float, noisier_q: float) -> SurveyRow:
    cell, at = member.cell, member.at
    return SurveyRow(
        host=cell.hosts[at],
        kind=cell.kind,
        work=cell.work,
        peers=len(cell.hosts) - 1,
        time_ns=math.exp(float(cell.location[at])),
        spread=math.exp(float(cell.spread[at])),
        slower=slower,
        noisier=noisier,
        slower_q=None if math.isnan(slower_q) else float(slower_q),
        noisier_q=None if math.isnan(noisier_q) else float(noisier_q),
    )


def _emulated(machines: Sequence[Machine]) -> list[Finding]:
    """Return a finding for each machine without a processor of its own."""
    return [
        finding("emulated", {"reason": machine.emulated, "host": machine.host})
        for machine in machines
        if machine.emulated
    ]


def _busy(machines: Sequence[Machine]) -> list[Finding]:
    """Return a finding for each machine on which something else ran: results describe its load, too."""
    return [
        finding("busy", {"wait_share": machine.wait_share, "host": machine.host})
        for machine in machines
        if machine.wait_share is not None and machine.wait_share >= BUSY
    ]


def _unlike(cells: Sequence[_Cell]) -> list[Finding]:
    """Return a finding for each kind with unlike machines and correlated loops, for which the rate does not hold."""
    return [
        finding("rate_not_kept", {"processor": cell.kind, "work": cell.work, "memory": cell.memory, "unlike": unlike})
        for cell in cells
        if cell.memory >= MEMORY and (unlike := cell.noisier.between) >= UNLIKE
    ]


def _few(cells: Sequence[_Cell]) -> list[Finding]:
    kinds = {cell.kind: len(cell.hosts) for cell in cells if len(cell.hosts) < LEAST_PEERS}
    return [
        finding("few", {"machines": count, "processor": kind, "least": LEAST_PEERS}) for kind, count in kinds.items()
    ]
