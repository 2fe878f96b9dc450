"""A running process that is moved at a sweet spot: what it waits for, what is counted, and what ends the wait."""

import pytest
from tests.support.recorded_move import Recorder, move, phases, process_of_two_threads, stop_clocks, with_shared_cache

import becalm
from becalm.errors import RefusedError, UsageError


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return phases(tmp_path_factory.mktemp("rows"))


@pytest.fixture
def root(tmp_path):
    return with_shared_cache(process_of_two_threads(tmp_path / "root"))


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """The stream alone says what time it is."""
    stop_clocks(monkeypatch)


def test_where_nothing_is_counted_it_is_moved_at_once(root):
    host = Recorder([], refuses=("llc", "ws_turnover", "faults"))
    done = move(host, root)
    assert host.held[-1] == "10@1010:2"
    assert "at once: none of its events could be counted here" in done.sentence
    assert [remark for remark in done.remarks if remark.endswith("cannot be counted here.")] == [
        "llc cannot be counted here.", "ws_turnover cannot be counted here.", "faults cannot be counted here.",
    ]  # fmt: skip


def test_named_events_that_cannot_be_counted_are_refused(root):
    host = Recorder([], refuses=("llc",))
    with pytest.raises(RefusedError, match="llc cannot be counted here"):
        move(host, root, events="llc")
    assert host.on == []


def test_a_named_source_that_is_missing_is_not_replaced_by_another(root):
    host = Recorder([], refuses=("llc", "faults"))
    with pytest.raises(RefusedError, match="llc cannot be counted here"):
        move(host, root, by="bpf")
    assert host.by == {"bpf"}
    assert host.on == []
    with pytest.raises(UsageError, match="--by is one of perf, bpf, not 'dtrace'"):
        move(host, root, by="dtrace")
    with pytest.raises(UsageError, match="--by applies only to waiting for a sweet spot"):
        becalm.migrate(10, 2, by="bpf", host=host, root=root)


@pytest.mark.parametrize("option", ["rules", "window", "limit", "events"])
def test_options_of_waiting_need_a_wait(root, option):
    with pytest.raises(UsageError, match=f"--{option} applies only to waiting for a sweet spot"):
        becalm.migrate(10, 2, root=root, **{option: "1ms"})
