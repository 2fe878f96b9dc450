"""The identity of benchmarks across sessions: the same name, parameters and metric.

A benchmark without a counterpart is matched with the only one of its name on the other side, provided that no parameter
contradicts: some files do not state tags or packages. `GOMAXPROCS`, which Go appends to names, may differ; the
difference is reported.

Public: align, GOMAXPROCS.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from becalm.nouns.finding import Finding
from becalm.results.compare_stored import Identity, StoredSession
from becalm.wording.findings import finding
from becalm.wording.program_names import distinct_names

GOMAXPROCS = "GOMAXPROCS"
"""The parameter of a Go benchmark that holds its number of processors."""

Sides = tuple[list[StoredSession], list[StoredSession]]


def align(old: Sequence[StoredSession], new: Sequence[StoredSession]) -> tuple[Sides, tuple[Finding, ...]]:
    """Return both sides with benchmarks renamed alike where they are the same, and findings on differing processors."""
    sides = [_with_left_out(old, new), _with_left_out(new, old)]
    side_identities = [
        list(dict.fromkeys(_with_go_name(identity) for session in side for identity in _identities(session)))
        for side in sides
    ]
    matches = {identity: identity for side in side_identities for identity in side}
    before_only, after_only = (
        [identity for identity in side if identity not in others]
        for side, others in (
            (side_identities[0], set(side_identities[1])),
            (side_identities[1], set(side_identities[0])),
        )
    )
    notes: dict[tuple[str, str], list[Identity]] = {}
    processors = {
        _with_go_name(identity): _processors(identity)
        for side in sides
        for session in side
        for identity in _identities(session)
    }
    without_processors = {
        _with_go_name(identity): _without_processors(identity)
        for side in sides
        for session in side
        for identity in _identities(session)
    }
    for before, after in _counterparts(before_only, after_only, without_processors):
        matches[after] = before
        if processors[before] != processors[after]:
            notes.setdefault((processors[before], processors[after]), []).append(before)
    matched = list(dict.fromkeys(matches.values()))
    display_names = _display_names(matched, without_processors)
    findings = tuple(
        finding("processors", {"old": old, "new": new, "benchmarks": [display_names[name] for name in names]})
        for (old, new), names in notes.items()
    )
    renamed_sides = [[_renamed(session, matches, display_names) for session in side] for side in sides]
    return (renamed_sides[0], renamed_sides[1]), findings


def _with_left_out(side: Sequence[StoredSession], other: Sequence[StoredSession]) -> list[StoredSession]:
    """Return sessions in which a benchmark without a value is listed as unusable if the other side has it: it is not
    gone."""
    identities_of: dict[str, Identity] = {}
    for session in other:
        for identity in _identities(session):
            for form in (_with_go_name(identity), _without_processors(identity)):
                identities_of.setdefault(f"{form.name}, {form.metric}" if form.metric else form.name, identity)
    sessions = []
    for session in side:
        present = set(_identities(session))
        reasons = {
            entry: note.numbers["reason"]
            for note in session.left_out
            for entry, _ in note.numbers["entries"]
            if entry in identities_of and identities_of[entry] not in present
        }
        unusable = {**reasons, **session.unusable}
        identities = {**{entry: identities_of[entry] for entry in reasons}, **session.identities}
        sessions.append(replace(session, unusable=unusable, identities=identities) if reasons else session)
    return sessions


def _identities(session: StoredSession) -> list[Identity]:
    return [session.identity(name) for name in (*session.series, *session.unusable)]


def _with_go_name(identity: Identity) -> Identity:
    """Return the identity with the name that Go writes, which ends with the number of processors."""
    processors = _processors(identity)
    parameters = tuple(pair for pair in identity.parameters if pair[0] != GOMAXPROCS)
    return Identity(f"{identity.name}-{processors}" if processors else identity.name, parameters, identity.metric)


def _without_processors(identity: Identity) -> Identity:
    return identity._replace(parameters=tuple(pair for pair in identity.parameters if pair[0] != GOMAXPROCS))


def _processors(identity: Identity) -> str:
    return dict(identity.parameters).get(GOMAXPROCS, "")


def _counterparts(
    old: Sequence[Identity], new: Sequence[Identity], without_processors: Mapping[Identity, Identity]
) -> Iterable[tuple[Identity, Identity]]:
    """Yield pairs of benchmarks that are the only ones of their name and metric on their side and do not contradict."""

    def by_name(side: Sequence[Identity]) -> dict[tuple[str, str], list[Identity]]:
        groups: dict[tuple[str, str], list[Identity]] = {}
        for identity in side:
            groups.setdefault((without_processors[identity].name, identity.metric), []).append(identity)
        return groups

    new_groups = by_name(new)
    for name, old_group in by_name(old).items():
        new_group = new_groups.get(name, [])
        if len(old_group) == len(new_group) == 1:
            before, after = dict(old_group[0].parameters), dict(new_group[0].parameters)
            if all(before[key] == after[key] for key in before.keys() & after.keys()):
                yield old_group[0], new_group[0]


def _display_names(
    identities: Sequence[Identity], without_processors: Mapping[Identity, Identity]
) -> dict[Identity, str]:
    """Return the display name of each benchmark, without processors where that is unique."""
    short = [without_processors[identity] for identity in identities]
    counts = Counter(short)
    names = [name if counts[name] == 1 else identity for identity, name in zip(identities, short, strict=True)]
    programs = list(dict.fromkeys((name.name, name.parameters) for name in names))
    titles = dict(zip(programs, distinct_names(programs), strict=True))
    return {
        identity: titles[name.name, name.parameters] + (f", {name.metric}" if name.metric else "")
        for identity, name in zip(identities, names, strict=True)
    }


def _renamed(
    session: StoredSession, matches: Mapping[Identity, Identity], display_names: Mapping[Identity, str]
) -> StoredSession:
    """Return a session whose benchmarks have the same names as in the others."""

    def new_name(name: str) -> str:
        return display_names[matches[_with_go_name(session.identity(name))]]

    return replace(
        session,
        series={new_name(name): series for name, series in session.series.items()},
        unusable={new_name(name): reason for name, reason in session.unusable.items()},
        references=tuple(new_name(name) for name in session.references),
        identities={},
    )
