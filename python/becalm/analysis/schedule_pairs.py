"""The pairs of a study that runs programs in turns and at once, as its plan had them (`becalm.plans.groups`)."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from becalm.plans.groups import Groups, resting_of
from becalm.plans.history import History
from becalm.stats.arrays import Floats, Ints, among
from becalm.stats.at_once import at_once_pairs, tournament_pairs
from becalm.stats.paired import NO_PAIRS, PairedDifferences


class SchedulePairs(msgspec.Struct, frozen=True):
    """The pairs of both schedules, level and kind of each complete group, and the seconds spent in each schedule."""

    turns: PairedDifferences
    at_once: PairedDifferences
    levels: Floats
    kinds: npt.NDArray[np.bool_]
    turns_s: float
    at_once_s: float

    @property
    def both(self) -> tuple[PairedDifferences, PairedDifferences]:
        """The pairs in turns and those at once."""
        return self.turns, self.at_once


class _Layout(msgspec.Struct, frozen=True):
    """The counted rounds and the complete groups that they form.

    `number`, `at_once`: of each round, shape (rounds,); `whole`: positions of the rounds of each complete group, shape
    (groups, size); `group`, `kinds`: the number of each complete group, and whether it is at once, shape (groups,).
    """

    number: Ints
    at_once: npt.NDArray[np.bool_]
    whole: Ints
    group: Ints
    kinds: npt.NDArray[np.bool_]


def schedule_pairs(history: History, groups: Groups, reference: int = 0, candidate: int = 1) -> SchedulePairs:
    """Return the pairs of two programs in all complete rounds that count; a group at once counts only as a whole."""
    layout = _layout(history, groups)
    pairs = history.pairs()
    turns, at_once_rounds = ~layout.at_once, layout.whole[layout.kinds]
    first, second = pairs.log_wall[reference], pairs.log_wall[candidate]
    first_at, second_at = pairs.position[reference], pairs.position[candidate]
    turns_s, at_once_s = _seconds(history, groups, layout)
    planned = [groups.parts[number] for number in layout.group[layout.kinds].tolist()]
    if groups.programs == 2:
        # The CPU of the second program in two-program groups becomes that of the candidate.
        sides = np.array([parts[0][0].side for parts in planned], dtype=np.int64) ^ int(candidate == 0)
        at_once = at_once_pairs(first[at_once_rounds], second[at_once_rounds], sides, layout.group[layout.kinds])
    else:
        meetings = np.array([[[meeting[:2] for meeting in part] for part in parts] for parts in planned], np.int64)
        at_once = tournament_pairs(np.stack(pairs.log_wall), at_once_rounds, meetings, (reference, candidate))
    return SchedulePairs(
        turns=PairedDifferences.of(first[turns], second[turns], first_at[turns], second_at[turns])
        if turns.any()
        else NO_PAIRS,
        at_once=at_once,
        levels=_levels(np.stack(pairs.log_wall), groups, layout),
        kinds=layout.kinds,
        turns_s=turns_s,
        at_once_s=at_once_s,
    )


def _layout(history: History, groups: Groups) -> _Layout:
    number = history.finished[~among(history.finished, history.dropped.values)].astype(np.int64)
    group = number // groups.size
    planned = np.asarray(groups.at_once, dtype=np.bool_)
    at_once = np.zeros(len(number), dtype=np.bool_)
    in_plan = group < len(planned)
    at_once[in_plan] = planned[group[in_plan]]
    # Rounds finish in order, so those of a group stand together; np.unique would import masked arrays.
    first = np.flatnonzero(np.diff(group, prepend=-1))
    rounds, numbers = np.diff(first, append=len(group)), group[first]
    complete = rounds == groups.size
    whole = first[complete][:, np.newaxis] + np.arange(groups.size)
    return _Layout(number, at_once, whole, numbers[complete], at_once[whole[:, 0]])


def _levels(log_wall: Floats, groups: Groups, layout: _Layout) -> Floats:
    """Return the mean log time of each complete group, shape (groups,), each program counting equally.

    Runs of programs that ran alone in a group at once are left out.
    """
    values = log_wall[:, layout.whole]
    if groups.programs % 2 == 0:
        return np.asarray(values.mean(axis=(0, 2)))
    counts = np.ones(values.shape, dtype=np.bool_)
    for place in np.flatnonzero(layout.kinds).tolist():
        for part, meetings in enumerate(groups.parts[int(layout.group[place])]):
            counts[resting_of(meetings, groups.programs), place, 2 * part : 2 * part + 2] = False
    return np.asarray((np.where(counts, values, 0.0).sum(axis=2) / counts.sum(axis=2)).mean(axis=0))


def _seconds(history: History, groups: Groups, layout: _Layout) -> tuple[float, float]:
    """Return the seconds spent in turns and at once; of two programs that run at once the longer time counts."""
    times = np.stack([history.wall_ns(program).astype(np.float64) for program in range(groups.programs)])
    turns_ns = float(times[:, ~layout.at_once].sum())
    at_once_ns, starts = 0.0, groups.programs * int((~layout.at_once).sum())
    if groups.programs == 2:
        at_once_ns, started = float(times[:, layout.at_once].max(axis=0, initial=0.0).sum()), int(layout.at_once.sum())
    else:
        started = 0
        for place in np.flatnonzero(layout.at_once).tolist():
            number = int(layout.number[place])
            part = groups.parts[number // groups.size][number % groups.size // 2]
            longest_ns = [max(times[meeting.first, place], times[meeting.second, place]) for meeting in part]
            resting = resting_of(part, groups.programs)
            longest_ns += [] if resting is None else [times[resting, place]]
            at_once_ns, started = at_once_ns + float(sum(longest_ns)), started + len(longest_ns)
    # The time outside of programs is assumed to be the same for each start.
    between = max(0.0, history.elapsed_ns - turns_ns - at_once_ns) / max(1, starts + started)
    return (turns_ns + starts * between) / 1e9, (at_once_ns + started * between) / 1e9
