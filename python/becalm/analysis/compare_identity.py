"""Identity of benchmarks across sessions: those of the same name, parameters and metric.

Where a benchmark has no counterpart, the only one of its name on the other side that no parameter contradicts is it:
some files do not tell tags or packages. `GOMAXPROCS`, which Go writes behind names, may differ: it is reported.

Public: aligned, GOMAXPROCS.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from becalm.nouns.finding import Finding
from becalm.results.compare_stored import Identity, StoredSession
from becalm.wording.findings import finding
from becalm.wording.program_names import distinct_names

GOMAXPROCS = "GOMAXPROCS"
"""The parameter of a benchmark of Go that says on how many processors it ran."""

Sides = tuple[list[StoredSession], list[StoredSession]]


def aligned(old: Sequence[StoredSession], new: Sequence[StoredSession]) -> tuple[Sides, tuple[Finding, ...]]:
    """Return sessions whose benchmarks have the same name where they are the same, and what is to be said of that."""
    sides = [_with_left_out(old, new), _with_left_out(new, old)]
    own = [
        list(dict.fromkeys(_whole(identity) for session in side for identity in _identities(session))) for side in sides
    ]
    same = {each: each for side in own for each in side}
    before_only, after_only = (
        [each for each in side if each not in other] for side, other in ((own[0], set(own[1])), (own[1], set(own[0])))
    )
    notes: dict[tuple[str, str], list[Identity]] = {}
    procs = {
        _whole(identity): _processors(identity)
        for side in sides
        for session in side
        for identity in _identities(session)
    }
    bare = {
        _whole(identity): _bare(identity) for side in sides for session in side for identity in _identities(session)
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


def _with_left_out(side: Sequence[StoredSession], other: Sequence[StoredSession]) -> list[StoredSession]:
    """Return sessions with what their files name without a value and the other side has: it is not gone."""
    sought: dict[str, Identity] = {}
    for session in other:
        for identity in _identities(session):
            for each in (_whole(identity), _bare(identity)):
                sought.setdefault(f"{each.name}, {each.metric}" if each.metric else each.name, identity)
    completed = []
    for session in side:
        own = set(_identities(session))
        reasons = {
            entry: each.numbers["reason"]
            for each in session.left_out
            for entry, _ in each.numbers["entries"]
            if entry in sought and sought[entry] not in own
        }
        unusable = {**reasons, **session.unusable}
        identities = {**{entry: sought[entry] for entry in reasons}, **session.identities}
        completed.append(replace(session, unusable=unusable, identities=identities) if reasons else session)
    return completed


def _identities(session: StoredSession) -> list[Identity]:
    return [session.identity(name) for name in (*session.series, *session.unusable)]


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
        for identity in side:
            groups.setdefault((bare[identity].name, identity.metric), []).append(identity)
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


def _renamed(session: StoredSession, same: Mapping[Identity, Identity], shown: Mapping[Identity, str]) -> StoredSession:
    """Return a session whose benchmarks are called as in the others."""

    def called(name: str) -> str:
        return shown[same[_whole(session.identity(name))]]

    return replace(
        session,
        series={called(name): each for name, each in session.series.items()},
        unusable={called(name): each for name, each in session.unusable.items()},
        references=tuple(called(name) for name in session.references),
        identities={},
    )
