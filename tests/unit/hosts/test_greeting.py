"""Output of another machine before or instead of a greeting is bounded, and refused in a sentence."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from becalm import system_clock
from becalm.errors import MachineError
from becalm.hosts.agent import AgentHost
from becalm.hosts.greeting import NOISE_BYTES, NOISE_LINES, PROTOCOL, SECONDS, GreetingError
from becalm.hosts.protocol import Access
from becalm.hosts.transport import LONGEST_LINE, Arrived, TooMuchError
from becalm.nouns.run import COLUMNS

GOOD = {"becalm-agent": "0", "protocol": PROTOCOL, "uid": 0, "user": {"name": "ada"}, "columns": list(COLUMNS)}


class Far:
    """A machine that sends these bytes, and then nothing: it takes `second_s` for each line."""

    def __init__(self, *lines, answers=(), second_s=0.0):
        self.arrived, self.second_s, self.answers = Arrived(), second_s, list(answers)
        self.closed = 0
        for line in lines:
            self.arrived.add(line)

    def send(self, line, patience=None):
        ident = json.loads(line)["id"]
        answer = self.answers.pop(0) if self.answers else {"event": "done"}
        self.arrived.add(answer if isinstance(answer, bytes) else json.dumps({"id": ident, **answer}).encode() + b"\n")

    interrupt = send

    def read(self, most=LONGEST_LINE, limit_s=None):
        system_clock.sleep(self.second_s)
        if limit_s is not None and limit_s <= self.second_s:
            raise TimeoutError
        line = self.arrived.line(most)
        return self.arrived.rest() if line is None else line

    def close(self):
        self.closed += 1

    def lost(self, host):
        return MachineError(f"{host} is lost.")


def greeted(value):
    return json.dumps(value).encode() + b"\n"


def test_a_greeting_behind_a_login_shell_is_read():
    far = Far(b"Welcome!\n" * 100, greeted(GOOD))
    assert AgentHost("far", far, Access()).user() == "ada"
    assert not far.closed


@pytest.mark.parametrize(
    ("far", "limit"),
    [
        (Far(b"x" * (NOISE_BYTES + 1)), "1 MiB"),
        (Far((b"x" * 70_000 + b"\n") * 20), "1 MiB"),
        (Far(b"\n" * (NOISE_LINES + 1)), "1,000 lines"),
        (Far(b"\n" * 500, second_s=1.0), f"{SECONDS:g} s"),
    ],
)
def test_output_before_a_greeting_is_bounded(far, limit):
    with pytest.raises(GreetingError, match=f"^far has not greeted .* within {limit}"):
        AgentHost("far", far, Access())
    assert far.closed == 1


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"protocol": "2"}, "protocol is not a whole number"),
        ({"protocol": True}, "protocol is not a whole number"),
        ({"protocol": 99}, "speaks protocol 99"),
        ({"columns": {}}, "columns is not a list of strings"),
        ({"columns": [1]}, "columns is not a list of strings"),
        ({"columns": list(COLUMNS[1:])}, f"lacks the column {COLUMNS[0]}"),
        ({"load_columns": 1}, "load_columns is not a list"),
        ({"user": []}, "user is not an object"),
        ({"user": {"name": 1}}, "the name of the user is not a string"),
        ({"uid": None}, "uid is not a whole number"),
        ({"scripted": "yes"}, "scripted is not true or false"),
    ],
)
def test_a_greeting_of_other_types_is_refused(changed, says):
    far = Far(greeted({**GOOD, **changed}))
    with pytest.raises(GreetingError, match=says):
        AgentHost("far", far, Access())
    assert far.closed == 1


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(sorted(GOOD)), VALUES)
def test_any_greeting_is_taken_or_refused_in_a_sentence(name, value):
    line = greeted({**GOOD, name: value})
    with contextlib.suppress(MachineError):
        assert isinstance(AgentHost("far", Far(line), Access()).user(), str)


@given(VALUES)
def test_any_answer_is_taken_or_refused_in_a_sentence(value):
    for ask in (AgentHost.knobs, AgentHost.status, AgentHost.release, lambda host: host.overhead(1)):
        answer = {"event": "done", "knobs": value, "places": value, "bare_ns": value, "own_ns": value}
        host = AgentHost("far", Far(greeted(GOOD), answers=[{"event": "done"}, answer]), Access())
        with contextlib.suppress(MachineError):
            ask(host)


@pytest.mark.parametrize("line", [b"[]\n", b"{}\n", b"x\n", b'{"event":1}\n', b"[" * 100_000 + b"\n"])
def test_a_line_that_is_no_event_is_refused(line):
    host = AgentHost("far", Far(greeted(GOOD), answers=[{"event": "done"}, line]), Access())
    with pytest.raises(MachineError, match="far sent a line that is not an event"):
        host.facts()


def test_a_line_without_end_is_refused_with_the_limit(monkeypatch):
    monkeypatch.setattr(Far.read, "__defaults__", (1000, None))
    far = Far(greeted(GOOD), answers=[{"event": "done"}, b"x" * 1001])
    host = AgentHost("far", far, Access())
    with pytest.raises(MachineError, match="more than 64 MiB"):
        host.facts()
    assert far.closed == 1


@given(st.lists(st.binary(max_size=6) | st.just(b"\n"), max_size=12), st.integers(1, 8))
def test_lines_are_those_of_the_bytes_however_they_arrive(chunks, most):
    arrived, lines = Arrived(), []
    try:
        for chunk in chunks:
            arrived.add(chunk)
            while (line := arrived.line(most)) is not None:
                lines.append(line)
    except TooMuchError:
        assert any(len(line) > most for line in b"".join(chunks).split(b"\n")) or any(
            len(line) >= most for line in b"".join(chunks).split(b"\n")
        )
        return
    assert b"".join([*lines, arrived.rest()]) == b"".join(chunks)
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 and len(line) <= most for line in lines)
