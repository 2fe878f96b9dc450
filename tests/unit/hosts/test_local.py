"""Variables of the environment that the agent gets: read before it is started."""

import pytest

from becalm.errors import UsageError
from becalm.hosts.local import MOST_WAIT_SECONDS, WAIT, _seconds, open_local
from becalm.hosts.protocol import Access


@pytest.mark.parametrize("text", ["x", "", "-1", "1e9", "inf", "1,5", "1 s", "x" * 6000])
def test_a_wait_that_is_no_seconds_is_refused_before_an_agent_is_started(monkeypatch, text):
    monkeypatch.setenv(WAIT, text)
    with pytest.raises(UsageError, match=f"{WAIT} must be seconds, from 0 to 86,400, not ") as caught:
        open_local("", Access())
    assert len(str(caught.value)) < 350


@pytest.mark.parametrize("text", ["0", "2.5", " 60 ", str(MOST_WAIT_SECONDS)])
def test_seconds_are_taken(text):
    assert _seconds(text) == text.strip()
