"""Moves that wait for a sweet spot, decided by becalm-sim."""

from contextlib import contextmanager

import pytest
from tests.support.recorded_move import Recorder, move, phases, process_of_two_threads, stop_clocks, with_shared_cache

import becalm
from becalm.errors import RefusedError, UsageError
from becalm.units import cpu_list

# One worker, which makes the fixtures of this file once.
pytestmark = pytest.mark.xdist_group("migrate-at-sweetspot")


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


def test_it_is_moved_at_the_spot_and_says_why_then(rows, root):
    host = Recorder(rows)
    done = move(host, root)
    assert host.asked == ["llc"]
    assert (host.started, host.stopped) == (1010, 1)
    # What it has is in the journal before: nothing is changed by that.
    assert host.held == ["10@1010:0,1,2,3", "10@1010:2"]
    assert host.on == []
    assert (done.waited.why, done.waited.kinds, done.waited.bounded) == ("spot", (0, 1, 2), True)
    assert "at a sweet spot of type 1: its working set changes, seen of thread 10" in done.sentence
    counted = "Counted: cache-references and cache-misses (LLC); rules: published"
    assert any(remark.startswith(counted) for remark in done.remarks)
    waited = done.to_json()["waited"]
    assert (waited["why"], waited["spot"], waited["task"]) == ("spot", 1, 10)
    assert waited["longest_ns"] > 0


def test_without_counters_pages_are_looked_at_and_that_is_reported(rows, root):
    host = Recorder(rows, refuses=("llc",))
    done = move(host, root)
    assert host.asked == ["llc", "ws_turnover"]
    assert done.waited.kinds == (1,)
    assert "llc cannot be counted here." in done.remarks
    assert any("ws_turnover, no miss ratio" in remark and "only the limit bounded" in remark for remark in done.remarks)


def test_faults_are_the_last_that_is_tried_and_one_that_ends_meanwhile_is_not_moved(root):
    host = Recorder([], refuses=("llc", "ws_turnover"))
    with pytest.raises(RefusedError, match="Process 10 ended before it was moved"):
        move(host, root)
    assert host.asked == ["llc", "ws_turnover", "faults"]
    assert host.held == ["10@1010:0,1,2,3"]
    assert host.on == []


def test_programs_in_the_kernel_count_what_they_can_and_are_named(rows, root):
    host = Recorder(rows)
    done = move(host, root, by="bpf")
    assert (host.asked, host.by) == (["llc"], {"bpf"})
    assert any("(LLC) by BPF; rules" in remark for remark in done.remarks)
    host = Recorder(rows, refuses=("llc",))
    done = move(host, root, by="bpf", limit="1ms")
    assert host.asked == ["llc", "faults"], "pages are nobody's who counts at switches"
    assert "llc cannot be counted here." in done.remarks


class Unplugged(Recorder):
    """A machine that loses CPUs as soon as it is recorded, and whose agent then refuses them."""

    def __init__(self, rows, root, left):
        super().__init__(rows)
        self.root, self.left = root, left

    def record(self, recording, pid=None, *, started=None):
        (self.root / "sys/devices/system/cpu/online").write_text(f"{self.left}\n")
        yield from super().record(recording, pid, started=started)

    @contextmanager
    def hold(self, settings, *, dangerous=False):
        cpus = cpu_list(dict(settings.values)["process_cpus"].partition(":")[2])
        online = cpu_list((self.root / "sys/devices/system/cpu/online").read_text().strip())
        if not set(cpus) <= set(online):
            raise RefusedError("of the CPUs 2, 2 are not online")
        with super().hold(settings, dangerous=dangerous) as on:
            yield on


def test_a_cpu_that_goes_offline_while_it_waits_is_refused_and_nothing_stays_bound(rows, root):
    host = Unplugged(rows, root, "0-1")
    with pytest.raises(RefusedError, match="2 are not online"):
        move(host, root)
    assert host.held == ["10@1010:0,1,2,3"]
    assert host.on == []


def test_the_least_loaded_is_chosen_of_the_cpus_that_are_left(rows, root):
    host = Unplugged(rows, root, "0-1")
    becalm.migrate(10, host=host, root=root, at_sweetspot=True, duration="1ms", window="1ms", rules="published")
    assert host.held[-1] == "10@1010:0"
    alone = Unplugged(rows, root, "1")
    (root / "sys/devices/system/cpu/online").write_text("0-3\n")
    with pytest.raises(RefusedError, match="of which 1 are online: there is no other one"):
        becalm.migrate(10, host=alone, root=root, at_sweetspot=True, duration="1ms", window="1ms", rules="published")
    assert alone.on == []


def test_threads_with_cpus_of_their_own_are_not_changed_before_it_is_moved(rows, root):
    (root / "proc/10/task/11/status").write_text("Cpus_allowed_list:\t1\n")
    host = Recorder(rows)
    move(host, root)
    assert host.held == ["10@1010:2"]


@pytest.mark.parametrize("limit", ["0ms", "101ms"])
def test_a_limit_is_a_tenth_of_a_second_at_most(rows, root, limit):
    with pytest.raises(UsageError, match=r"at most 100 ms|more than zero"):
        move(Recorder(rows), root, limit=limit)
