"""Signals: those that arrive are passed on, asked for, or have their usual effect."""

import signal

import pytest

from becalm.study import interrupts


def test_a_signal_calls_what_is_registered_and_a_late_one_at_once():
    calls = []
    with interrupts.handle_signals():
        with interrupts.stop_at_signal(lambda: calls.append("first")):
            signal.raise_signal(signal.SIGINT)
            assert calls == ["first"]
        with interrupts.stop_at_signal(lambda: calls.append("late")):
            assert calls == ["first", "late"]
    assert not interrupts.interrupted()


def test_a_signal_that_somebody_asks_for_needs_no_call():
    with interrupts.handle_signals():
        signal.raise_signal(signal.SIGINT)
        assert interrupts.interrupted()


def test_a_signal_after_the_last_call_was_removed_has_its_usual_effect():
    def measure():
        with interrupts.handle_signals():
            with interrupts.stop_at_signal(list):
                pass
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        measure()
    assert not interrupts.interrupted()


def test_a_second_signal_has_its_usual_effect():
    with interrupts.handle_signals(), interrupts.stop_at_signal(list):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
