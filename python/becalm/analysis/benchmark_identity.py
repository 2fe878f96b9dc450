"""Identity of benchmarks across sessions: those of the same name, parameters and metric.

Where a benchmark has no counterpart, the only one of its name on the other side that no parameter contradicts is it:
some files do not tell tags or packages. `GOMAXPROCS`, which Go writes behind names, may differ: it is reported.

Public: aligned, GOMAXPROCS.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from becalm.nouns.stored_comparison import Identity, Sitting
from becalm.nouns.verdict import Finding
from becalm.wording.findings import finding
from becalm.wording.program_names import distinct_names

GOMAXPROCS = "GOMAXPROCS"
"""The parameter of a benchmark of Go that says on how many processors it ran."""

Sides = tuple[list[Sitting], list[Sitting]]


def aligned(old: Sequence[Sitting], new: Sequence[Sitting]) -> tuple[Sides, tuple[Finding, ...]]:
    """Return sittings whose benchmarks have the same name where they are the same, and what is to be said of that."""
    sides = [_with_left_out(old, new), _with_left_out(new, old)]
    own = [
        list(dict.fromkeys(_whole(identity) for sitting in side for identity in _identities(sitting))) for side in sides
    ]
    same = {each: each for side in own for each in side}
    before_only, after_only = (
        [each for each in side if each not in other] for side, other in ((own[0], set(own[1])), (own[1], set(own[0])))
    )
    notes: dict[tuple[str, str], list[Identity]] = {}
    procs = {
        _whole(identity): _processors(identity)
        for side in sides
        for sitting in side
        for identity in _identities(sitting)
    }
    bare = {
        _whole(identity): _bare(identity) for side in sides for sitting in side for identity in _identities(sitting)
    }
    for before, after in _counterparts(before_only, after_only, bare):
        same[after] = before
        if procs[before] != procs[after]:
            notes.setdefault((procs[before], procs[after]), []).append(before)
    taken = list(dict.fromkeys(same.values()))
    shown = _shown(taken, bare)
    findings = tuple(
        finding("processors", {"old": one, "new": other, "benchmarks": [shown[name] for name in names]})
        for (one, other), names in notes.items()
    )
    named = [[_renamed(each, same, shown) for each in side] for side in sides]
    return (named[0], named[1]), findings


def _with_left_out(side: Sequence[Sitting], other: Sequence[Sitting]) -> list[Sitting]:
    """Return sittings with what their files name without a value and the other side has: it is not gone."""
    sought: dict[str, Identity] = {}
    for sitting in other:
        for identity in _identities(sitting):
            for each in (_whole(identity), _bare(identity)):
                sought.setdefault(f"{each.name}, {each.metric}" if each.metric else each.name, identity)
    completed = []
    for sitting in side:
        own = set(_identities(sitting))
        reasons = {
            entry: each.numbers["reason"]
            for each in sitting.left_out
            for entry, _ in each.numbers["entries"]
            if entry in sought and sought[entry] not in own
        }
        unusable = {**reasons, **sitting.unusable}
        identities = {**{entry: sought[entry] for entry in reasons}, **sitting.identities}
        completed.append(replace(sitting, unusable=unusable, identities=identities) if reasons else sitting)
    return completed


def _identities(sitting: Sitting) -> list[Identity]:
    return [sitting.identity(name) for name in (*sitting.series, *sitting.unusable)]


def _whole(identity: Identity) -> Identity:
    """Return the identity with the name that Go writes, which ends with the number of processors."""
    processors = _processors(identity)
    rest = tuple(pair for pair in identity.parameters if pair[0] != GOMAXPROCS)
    return Identity(f"{identity.name}-{processors}" if processors else identity.name, rest, identity.metric)


def _bare(identity: Identity) -> Identity:
    return identity._replace(parameters=tuple(pair for pair in identity.parameters if pair[0] != GOMAXPROCS))


def _processors(identity: Identity) -> str:
    return dict(identity.parameters).get(GOMAXPROCS, "")


def _counterparts(
    old: Sequence[Identity], new: Sequence[Identity], bare: Mapping[Identity, Identity]
) -> Iterable[tuple[Identity, Identity]]:
    """Yield pairs of the only benchmarks of their name and metric on either side that no parameter contradicts."""

    def by_name(side: Sequence[Identity]) -> dict[tuple[str, str], list[Identity]]:
        groups: dict[tuple[str, str], list[Identity]] = {}
        for each in side:
            groups.setdefault((bare[each].name, each.metric), []).append(each)
        return groups

    others = by_name(new)
    for name, mine in by_name(old).items():
        theirs = others.get(name, [])
        if len(mine) == len(theirs) == 1:
            one, other = dict(mine[0].parameters), dict(theirs[0].parameters)
            if all(one[key] == other[key] for key in one.keys() & other.keys()):
                yield mine[0], theirs[0]


def _shown(identities: Sequence[Identity], bare: Mapping[Identity, Identity]) -> dict[Identity, str]:
    """Return what each is called: without processors where that is enough."""
    short = [bare[identity] for identity in identities]
    counts = Counter(short)
    names = [one if counts[one] == 1 else whole for whole, one in zip(identities, short, strict=True)]
    called = dict(zip(identities, names, strict=True))
    programs = list(dict.fromkeys((name.name, name.parameters) for name in names))
    titles = dict(zip(programs, distinct_names(programs), strict=True))
    return {
        whole: titles[each.name, each.parameters] + (f", {each.metric}" if each.metric else "")
        for whole, each in called.items()
    }


def _renamed(sitting: Sitting, same: Mapping[Identity, Identity], shown: Mapping[Identity, str]) -> Sitting:
    """Return a sitting whose benchmarks are called as in the others."""

    def called(name: str) -> str:
        return shown[same[_whole(sitting.identity(name))]]

    return replace(
        sitting,
        series={called(name): each for name, each in sitting.series.items()},
        unusable={called(name): each for name, each in sitting.unusable.items()},
        references=tuple(called(name) for name in sitting.references),
        identities={},
    )
