"""A simulated machine and its clock for the course of a tune study: what is wished is answered at once."""

import math
import zlib
from dataclasses import dataclass, field

import numpy as np
from msgspec.structs import replace

from becalm.methods.protocol import Sample
from becalm.nouns.search_space import Candidate, Group, Space
from becalm.tuning.exchange import PhaseResult, SearchResult

SECOND = 1e9


def space(*names, profiles=(), requires=None, restricts_cpus=()):
    """Return candidates `name` = 1, all of the group normal."""
    return Space(
        tuple(
            Candidate(name, 1, Group.NORMAL, (requires or {}).get(name, ()), name in restricts_cpus) for name in names
        ),
        tuple(profiles),
    )


@dataclass
class World:
    """Programs of `run_ns` whose spread is `spread` times a factor for each setting; `fails`: settings that break them.

    `slower`: time with any setting over time without. `later`: time in the confirmation over time before. `busy`: CPU
    time over wall time. `instead`: settings of which one
    does as much as all.
    """

    factors: dict = field(default_factory=dict)
    spread: float = 0.02
    run_ns: float = SECOND
    busy: float = 1.0
    floor: float = 0.0001
    fails: tuple = ()
    instead: tuple = ()
    slower: float = 1.0
    later: float = 1.0
    programs: int = 1
    seed: int = 1

    def size(self, settings):
        """Return the true spread; of settings named in `instead`, one does all."""
        names = {name for name, _ in settings.values}
        size = self.spread * math.prod(self.factors.get(name, 1.0) for name in names - set(self.instead))
        return size * (min(self.factors[name] for name in self.instead) if names & set(self.instead) else 1.0)

    def conduct(self, course):
        """Answer to the end; gives the result, the wishes, and the seconds that it took."""
        rng, wishes, spent = np.random.default_rng(self.seed), [], 0.0
        try:
            wish = next(course)
            while True:
                wishes.append(wish)
                assert len(wishes) < 500
                gained = self.answer(wish, rng)
                spent += gained.took_ns
                wish = course.send(gained)
        except StopIteration as end:
            tuned: SearchResult = end.value
            return tuned, wishes, spent / SECOND

    def answer(self, wish, rng):
        ask = wish.ask
        samples = tuple(tuple(self.sample(arm, ask, rng) for arm in ask.arms) for _ in range(self.programs))
        if wish.within_ns is not None or wish.phase == "confirm":
            later = self.later if wish.phase == "confirm" else 1.0
            samples = tuple(tuple(in_time(sample, later, wish)) for sample in samples)
        took_ns = sum(float(loop.sum()) for result in samples for sample in result for loop in sample.loops)
        together = tuple(
            Sample(
                item,
                tuple(loop for sample in samples for loop in sample[i].loops),
                max(sample[i].failed for sample in samples),
            )
            for i, item in enumerate(ask.arms)
        )
        cpu = tuple(tuple(self.busy * loop for loop in sample[0].loops) for sample in samples)
        quiet = tuple(self.run_ns * (1 + self.floor * rng.standard_normal(ask.runs)) for _ in range(ask.loops))
        return PhaseResult(samples, together, cpu, (Sample(ask.arms[0], quiet),) if wish.floor else (), took_ns)

    def sample(self, settings, ask, rng):
        if any(name in self.fails for name, _ in settings.values):
            return Sample(settings, (), 1)
        size, slower = self.size(settings), self.slower if settings.values else 1.0
        return Sample(settings, tuple(slower * self.loop(size, ask.runs, rng) for _ in range(ask.loops)))

    def loop(self, size, runs, rng):
        return np.maximum(0.1, 1 + size * rng.standard_normal(runs)) * self.run_ns


def in_time(samples, later, wish):
    """Return samples that take `later` times as long, with only those of their loops that the wish has time for."""
    samples = [replace(sample, loops=tuple(later * loop for loop in sample.loops)) for sample in samples]
    took = np.cumsum(
        [sum(sample.loops[at].sum() for sample in samples if sample.loops) for at in range(wish.ask.loops)]
    )
    remaining = wish.ask.loops
    for done in range(wish.fewest, wish.ask.loops):
        if wish.within_ns is not None and took[done - 1] * (done + 1) / done > wish.within_ns:
            remaining = done
            break
    return [replace(sample, loops=sample.loops[:remaining]) for sample in samples]


def seed_of(text):
    """Return a number that a text decides."""
    return zlib.crc32(text.encode())
