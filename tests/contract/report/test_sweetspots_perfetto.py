"""The protobuf trace, decoded by the rules of its encoding and by nothing of the writer's."""

import struct

import becalm
from becalm.report.sweetspots_perfetto import written


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Return the numbers and values of a message; nested ones as bytes."""
    at, result = 0, []
    while at < len(data):
        key, at = varint(data, at)
        match key & 7:
            case 0:
                value, at = varint(data, at)
            case 1:
                value, at = struct.unpack_from("<d", data, at)[0], at + 8
            case 2:
                size, at = varint(data, at)
                value, at = data[at : at + size], at + size
                assert len(value) == size
            case other:
                raise AssertionError(other)
        result.append((key >> 3, value))
    return result


def test_it_has_tracks_before_their_events_counters_and_nested_states():
    spotted = becalm.simulate_sweetspots(["synthetic:3"])
    packets = [dict(fields(packet)) for number, packet in fields(written(spotted)) if number == 1]
    tracks, depth, times, ratios, spots = {}, {}, [], [], 0
    for packet in packets:
        assert packet[10] == 1
        if 60 in packet:
            track = dict(fields(packet[60]))
            assert track[1] not in tracks
            assert track.get(5) is None or track[5] in tracks, "its parent comes first"
            tracks[track[1]] = track
            continue
        event = dict(fields(packet[11]))
        times.append(packet[8])
        kind, track = event[9], event[11]
        assert track in tracks
        if kind == 4:
            assert 8 in tracks[track], "a counter's"
            ratios.append(event[44])
        elif kind == 3:
            spots += event[23].startswith(b"sweet spot")
        else:
            depth[track] = depth.get(track, 0) + (1 if kind == 1 else -1)
            assert depth[track] in (0, 1)
    assert 0 not in tracks, "0 is the global track"
    assert times == sorted(times)
    assert not any(depth.values())
    assert spots == len(spotted.spots) > 0
    known = [window for window in spotted.windows() if window["known"] and window["references"]]
    assert len(ratios) == len(known)
    assert sorted(ratios) == sorted(name["misses"] / name["references"] for name in known)
