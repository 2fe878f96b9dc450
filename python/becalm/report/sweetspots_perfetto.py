"""Perfetto's protobuf trace of sweet spots, for ui.perfetto.dev and trace_processor: a few messages, written here.

Field numbers are those of protos/perfetto: trace.proto, trace_packet.proto, and in track_event track_event.proto,
track_descriptor.proto, counter_descriptor.proto, thread_descriptor.proto. Each task has a track for its spots and
migrations, a counter of the ratio below it, and a track for each kind of state: slices of one track must nest.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from becalm.migration.spotted import Spotted, ratio

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
"""TrackEvent.Type."""

MONOTONIC = 3
"""BuiltinClock: times are only compared with each other, so any clock does that is not of the day."""

SEQUENCE = 1
"""The packet sequence id; there is a single writer."""

STATES = {1: "misses more", 2: "evicted"}


def varint(value: int) -> bytes:
    """Return seven bits a byte, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """Return a field with a whole number."""
    return varint(field << 3) + varint(value)


def double(field: int, value: float) -> bytes:
    """Return a field with a floating point number."""
    return varint(field << 3 | 1) + struct.pack("<d", value)


def nested(field: int, value: bytes | str) -> bytes:
    """Return a field with a message or a text."""
    content = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(content)) + content


def written(found: Spotted) -> bytes:
    """Return the trace."""
    return b"".join(nested(1, packet) for packet in _packets(found))


def _packets(found: Spotted) -> Iterator[bytes]:
    events: list[tuple[int, int, bytes]] = []
    for index, seen in enumerate(found.programs):
        task, track = seen["task"], 10 * (index + 1)
        thread = number(1, seen["process"]) + number(2, task) + nested(5, f"task {found.label(index)}")
        yield _descriptor(number(1, track) + nested(2, f"task {found.label(index)}") + nested(4, thread))
        for kind, name in STATES.items():
            yield _descriptor(number(1, track + kind) + nested(2, name) + number(5, track))
        name = "miss ratio" if found.miss_ratio else "no miss ratio: misses per reference"
        yield _descriptor(number(1, track + 3) + nested(2, name) + nested(8, nested(6, "ratio")) + number(5, track))
        for each in found.windows(index):
            if each["references"] and each["known"]:
                share = double(44, ratio(each["references"], each["misses"]))
                events.append((each["from_ns"], 1, _event(COUNTER, track + 3) + share))
    events += _marks(found)
    # What ends at a time does so before something else begins then.
    for at, _, event in sorted(events, key=lambda each: each[:2]):
        yield number(8, at) + number(10, SEQUENCE) + nested(11, event) + number(58, MONOTONIC)


def _marks(found: Spotted) -> Iterable[tuple[int, int, bytes]]:
    for each in found.found["states"]:
        if each["until_ns"] > each["from_ns"]:
            track = 10 * (each["program"] + 1) + each["kind"]
            yield each["from_ns"], 1, _event(BEGIN, track, STATES.get(each["kind"], "state"))
            yield each["until_ns"], 0, _event(END, track)
    for each in found.spots:
        track = 10 * (each["program"] + 1)
        yield each["time_ns"], 1, _event(INSTANT, track, f"sweet spot, type {each['kind']}")
    for each in found.found["migrations"]:
        yield each["time_ns"], 1, _event(INSTANT, 10 * (each["program"] + 1), _moved(each))


def _moved(each: dict[str, Any]) -> str:
    return f"moved from CPU {each['from']} to {each['to']}"


def _event(kind: int, track: int, name: str = "") -> bytes:
    return number(9, kind) + number(11, track) + (nested(22, "sweetspots") + nested(23, name) if name else b"")


def _descriptor(track: bytes) -> bytes:
    return number(10, SEQUENCE) + nested(60, track)
