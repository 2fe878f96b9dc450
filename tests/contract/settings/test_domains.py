"""Python and the engine agree on which values a knob takes: the one reads the rows that the other is made of."""

import pytest
from tests.contract.conversation import Agent

from becalm.nouns.knob import catalogue

ANYTHING = [
    "", " ", "two words", "on", "off", "true", "max", "all", "away", "first", "first-core", "last-core", "poll",
    "never", "0", "1", "-1", "+1", "20", "-20", "-21", "1.5", "1e3", "0x10", "2147483648", "99999999999999999999",
    "4294967295", "0,2-3", "3-1", "0-1023", "0-65536", "00100000", "100000", "100000001", "1000000000", "²", "٣",
    "a", "fifo", "fifo:0", "fifo:1", "fifo:99", "fifo:100", "rr:50", "rr:", "other", "other:1", "realtime",
    "realtime:0", "realtime:8", "best-effort:4", "idle", "idle:1", "none", "madvise", "performance", "auto,nosmt",
    "1:0", "1:0;2:0", "1:0;1:1", "1@1:0", "1@:0", "1:", ":0", "0:0", "1:0;", "1:1-0", "1: 0", "99999999999:0",
    "1:0,2-3", "1:-1",
]  # fmt: skip


@pytest.fixture(scope="module")
def agent():
    opened = Agent()
    yield opened
    opened.close()


def ends(knob):
    """Return numbers at and beyond the ends of a range."""
    bounds = knob.domain.range
    return () if bounds is None else (bounds.low - 1, bounds.low, bounds.high, bounds.high + 1)


@pytest.mark.parametrize("knob", catalogue(), ids=lambda knob: knob.name)
def test_they_agree_on_every_value(agent, knob):
    values = [*ANYTHING, *knob.domain.categories, *ends(knob), True, False, 1, 20]
    for value in dict.fromkeys(values):
        request = {"settings": {knob.name: value}, "dangerous": True}
        answer = agent.ask("effects" if knob.scope == "boot" else "plan", **request)
        refused = answer["event"] == "error" and answer["kind"] == "domain"
        assert knob.domain.holds(value) is not refused, f"{knob.name}={value!r}: {answer.get('message')}"
