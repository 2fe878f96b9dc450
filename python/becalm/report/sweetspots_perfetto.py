"""Perfetto's protobuf trace of sweet spots, for ui.perfetto.dev and trace_processor: a few messages, written here.

Field numbers are those of protos/perfetto: trace.proto, trace_packet.proto, and in track_event track_event.proto,
track_descriptor.proto, counter_descriptor.proto, thread_descriptor.proto. Each task has a track for its spots and
migrations, a counter of the ratio below it, and a track for each kind of state, since slices of one track must nest.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from becalm.migration.sweetspots import Spotted, ratio

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
"""Values of TrackEvent.Type."""

MONOTONIC = 3
"""A value of BuiltinClock; times are only compared with each other, so any clock but the time of day will do."""

SEQUENCE = 1
"""The packet sequence id; there is a single writer."""

STATES = {1: "misses more", 2: "evicted"}


def varint(value: int) -> bytes:
    """Return a number in seven bits per byte, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """Return a field with an integer."""
    return varint(field << 3) + varint(value)


def double(field: int, value: float) -> bytes:
    """Return a field with a floating-point number."""
    return varint(field << 3 | 1) + struct.pack("<d", value)


def nested(field: int, value: bytes | str) -> bytes:
    """Return a field with a message or a string."""
    content = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(content)) + content


def written(spotted: Spotted) -> bytes:
    """Return the trace."""
    return b"".join(nested(1, packet) for packet in _packets(spotted))


def _packets(spotted: Spotted) -> Iterator[bytes]:
    events: list[tuple[int, int, bytes]] = []
    for index, seen in enumerate(spotted.programs):
        task, track = seen["task"], 10 * (index + 1)
        thread = number(1, seen["process"]) + number(2, task) + nested(5, f"task {spotted.label(index)}")
        yield _descriptor(number(1, track) + nested(2, f"task {spotted.label(index)}") + nested(4, thread))
        for kind, name in STATES.items():
            yield _descriptor(number(1, track + kind) + nested(2, name) + number(5, track))
        name = "miss ratio" if spotted.miss_ratio else "no miss ratio: misses per reference"
        yield _descriptor(number(1, track + 3) + nested(2, name) + nested(8, nested(6, "ratio")) + number(5, track))
        for window in spotted.windows(index):
            if window["references"] and window["known"]:
                share = double(44, ratio(window["references"], window["misses"]))
                events.append((window["from_ns"], 1, _event(COUNTER, track + 3) + share))
    events += _marks(spotted)
    # At one time, ends come before beginnings.
    for at, _, event in sorted(events, key=lambda event: event[:2]):
        yield number(8, at) + number(10, SEQUENCE) + nested(11, event) + number(58, MONOTONIC)


def _marks(spotted: Spotted) -> Iterable[tuple[int, int, bytes]]:
    for state in spotted.detection["states"]:
        if state["until_ns"] > state["from_ns"]:
            track = 10 * (state["program"] + 1) + state["kind"]
            yield state["from_ns"], 1, _event(BEGIN, track, STATES.get(state["kind"], "state"))
            yield state["until_ns"], 0, _event(END, track)
    for spot in spotted.spots:
        track = 10 * (spot["program"] + 1)
        yield spot["time_ns"], 1, _event(INSTANT, track, f"sweet spot, type {spot['kind']}")
    for migration in spotted.detection["migrations"]:
        yield migration["time_ns"], 1, _event(INSTANT, 10 * (migration["program"] + 1), _moved(migration))


def _moved(migration: dict[str, Any]) -> str:
    return f"moved from CPU {migration['from']} to {migration['to']}"


def _event(kind: int, track: int, name: str = "") -> bytes:
    return number(9, kind) + number(11, track) + (nested(22, "sweetspots") + nested(23, name) if name else b"")


def _descriptor(track: bytes) -> bytes:
    return number(10, SEQUENCE) + nested(60, track)
