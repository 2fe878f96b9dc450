"""Simulated machines: the shipped ones show the published figures, and a file says exactly what happens."""

import math

import numpy as np
import pytest
from tests.measuring import ran

from becalm import hosts
from becalm.errors import UsageError, WorkloadError
from becalm.hosts.simulated import machine
from becalm.hosts.simulated.disturbance import CHUNK, KINDS, DisturbanceSeries
from becalm.nouns.knob import catalogue
from becalm.nouns.run import Step
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload

TUNED = {
    row.name: row.tuned_value for row in catalogue() if row.tuned_value is not None and row.name not in machine.ABSENT
}
PUBLISHED = {  # Jung 2020, table 5.1: relative standard deviation in %, mean in s.
    "isolation": (3.10, 46.7),
    "nohz_full": (2.22, 49.3),
    "frequency_floor": (2.52, 46.6),
    "perf_rate": (3.01, 45.0),
    "governor": (3.09, 43.8),
    "swap": (3.39, 43.2),
    "turbo": (3.71, 42.9),
    "stat_interval": (3.86, 42.6),
    "nice": (4.07, 42.3),
    "cpu_dma_latency": (3.73, 42.6),
    "rcu_nocbs": (3.46, 43.8),
    "smt": (3.25, 44.4),
    "online_cpus": (3.02, 48.8),
    "io_priority": (3.23, 48.3),
    "watchdogs": (3.26, 47.9),
    "aslr": (3.34, 47.6),
    "pstate_driver": (3.36, 47.4),
}
BASE = ("nice", "io_priority", "frequency_floor")
SAME_TWICE = ["isolation", "isolcpus"]
COMBINATIONS = [  # Tables 5.7 and 5.8: machine, settings, untouched and reached spread in %.
    ("laptop-a", (*BASE, "governor", "online_cpus", "turbo"), 5.76, 0.07),
    ("laptop-a", (*BASE, "aslr", "online_cpus", "watchdogs", "pstate_driver"), 5.76, 0.06),
    ("b", (*BASE, "governor", "aslr", "online_cpus", "turbo"), 0.47, 0.07),
    ("b", ("nice", "io_priority", "aslr", "online_cpus", "governor", "swap", "perf_rate", "turbo"), 0.47, 0.06),
    ("c", (*BASE, "governor", "perf_rate", "isolation", "nohz_full"), 0.47, 0.22),
    (
        "c",
        (*BASE, "aslr", "online_cpus", "watchdogs", "governor", "stat_interval", "cpu_dma_latency"),
        0.47,
        0.08,
    ),
    ("d", (*BASE, "governor", "online_cpus", "watchdogs"), 0.41, 0.10),
    ("d", tuple(TUNED), 0.41, 0.09),
    ("e", (*BASE, "online_cpus"), 0.22, 0.11),
    ("f", ("nice", "io_priority", "aslr"), 0.25, 0.06),
    ("b", ("aslr", "governor", "isolation", "turbo", "smt"), 0.47, 0.40),
    (
        "b",
        ("perf_rate", "aslr", "frequency_floor", "governor", "turbo", "isolation", "nohz_full", "rcu_nocbs", "nice"),
        0.47,
        0.32,
    ),
]


def shipped(name):
    return machine.read(machine.SHIPPED / f"{name}.toml")


def settings(*names):
    return Settings.of({name: TUNED[name] for name in names})


@pytest.mark.parametrize("knob", PUBLISHED)
def test_each_setting_alone_has_the_published_spread_and_mean_on_laptop_a(knob):
    state = shipped("laptop-a").state(settings(knob))
    spread, mean = PUBLISHED[knob]
    assert 100 * state.spread == pytest.approx(spread, rel=0.01)
    assert 38.9 * state.time == pytest.approx(mean, rel=0.01)


@pytest.mark.parametrize(("name", "names", "untouched", "reached"), COMBINATIONS)
def test_combinations_come_near_the_published_spreads(name, names, untouched, reached):
    assert 100 * shipped(name).state(Settings()).spread == pytest.approx(untouched, rel=0.05)
    assert 100 * shipped(name).state(settings(*names)).spread == pytest.approx(reached, rel=0.3)


def test_runs_have_the_spread_and_the_mean_of_their_settings():
    with hosts.open("sim:laptop-a:7") as host:
        host.define([Workload.of("hmmsearch")], [Settings(), settings("aslr")])
        block = [Step(0, i % 2, 0, i) for i in range(20000)]
        wall = np.array([run.wall_ns for run in ran(host, *block)]) / 1e9
    for index, (spread, mean) in enumerate([(5.76, 38.9), PUBLISHED["aslr"]]):
        column = wall[index::2]
        assert column.mean() == pytest.approx(mean, rel=0.01)
        assert 100 * column.std() / column.mean() == pytest.approx(spread, rel=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_noise_has_mean_0_and_variance_1_however_it_is_taken(kind):
    values = DisturbanceSeries(kind, np.random.default_rng(1)).take(200_000)
    assert values.mean() == pytest.approx(0, abs=0.05)
    assert values.std() == pytest.approx(1, rel=0.05)
    again = DisturbanceSeries(kind, np.random.default_rng(1))
    parts = [again.take(n) for n in (1, CHUNK - 1, 3, 2 * CHUNK)]
    assert np.array_equal(np.concatenate(parts), values[: 3 * CHUNK + 3])


def test_the_seed_decides_and_the_size_of_blocks_does_not():
    def walls(name, sizes):
        with hosts.open(name) as host:
            host.define([Workload.of("spin 1s")], [Settings()])
            blocks = [[Step(0, 0, 0, i) for i in range(size)] for size in sizes]
            return [run.wall_ns for block in blocks for run in ran(host, *block)]

    assert walls("sim:c:4", [30]) == walls("sim:c:4", [7, 23])
    assert walls("sim:c:4", [30]) != walls("sim:c:5", [30])
    assert walls("sim:drift:4", [30]) == walls("sim:drift:4", [7, 23])


def test_a_machine_of_ones_own(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        """
        what = "an example"
        [unsupported]
        smt = "this processor has no SMT"
        [time]
        base = "2s"
        slowest = 1.5
        factors = { turbo = 1.4, aslr = 1.2 }
        [[noise]]
        name = "layout"
        kind = "normal"
        size = 0.03
        factors = { aslr = 0.5 }
        with = [
          { set = { aslr = "off", turbo = "off" }, factor = 0.5 },
          { set = { governor = "schedutil" }, adds = 0.01 },
        ]
        [[noise]]
        name = "rest"
        kind = "heavy"
        size = 0.004
        [[failing]]
        set = { swap = "off", transparent_hugepages = "never" }
        share = 0.5
        """
    )
    mine = machine.read(path)
    assert mine.state(Settings()).spread == pytest.approx(0.0302655, rel=1e-4)
    both = mine.state(settings("aslr", "turbo"))
    assert both.spread == pytest.approx(math.hypot(0.0075, 0.004))
    assert both.time == 1.5
    assert mine.state(Settings.of({"governor": "schedutil", "aslr": "off"})).sizes[0] == pytest.approx(0.025)
    assert mine.state(settings("swap")).fails == 0
    with hosts.open(f"sim:{path}:3") as host:
        assert host.name == "sim:mine"
        rows = {row.name: row for row in host.knobs()}
        assert (rows["smt"].supported, rows["smt"].reason) == (False, "this processor has no SMT")
        host.define([Workload.of("x")], [settings("swap", "transparent_hugepages")])
        block = [Step(0, 0, 0, i) for i in range(400)]
        runs = ran(host, *block, stop_on_failure=False)
        failed = [run for run in runs if run.outcome == "failed"]
        assert 150 < len(failed) < 250
        assert {run.status for run in failed} == {1}
        cut = ran(host, *block)
        assert [run.outcome == "failed" for run in cut] == [False] * (len(cut) - 1) + [True]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("noise = 3", "what"),
        ('what = "x"\nnoise = []\ntypo = 1', "typo"),
        ('what = "x"\n[[noise]]\nname = "n"\nkind = "pink"\nsize = 0.1', "pink"),
        ('what = "x"\n[[noise]]\nname = "n"\nkind = "normal"\nsize = 5', "not a fraction"),
        ('what = "x"\n[[noise]]\nname = "n"\nkind = "normal"\nsize = 0.1\nfactors = { trubo = 1 }', "trubo"),
        ('what = "x"\n[[noise]]\nname = "n"\nkind = "normal"\nsize = 0.1\nwith = [{ set = { q = 1 } }]', "q"),
        ('what = "x"\nnoise = []\n[unsupported]\nq = "no"', "q"),
        ("what = [", "mine.toml"),
    ],
)
def test_a_wrong_file_is_reported(tmp_path, text, says):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=says):
        hosts.open(f"sim:{path}")


def test_a_missing_file_and_an_unknown_name_are_reported(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        hosts.open(f"sim:{tmp_path}/none.toml")
    with pytest.raises(UsageError, match="Did you mean 'sim:laptop-a'"):
        hosts.open("sim:laptop")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"niec": 1}, "no setting 'niec'"),
        ({"nice": -30}, "out of its domain"),
        ({"nice": "low"}, "out of its domain"),
        ({"transparent_hugepages": "sometimes"}, "always, madvise"),
        ({"services": "pause"}, "no service that rewrites"),
        ({"turbo": "off"}, "has one frequency"),
    ],
)
def test_unsuitable_settings_are_reported(values, says):
    with hosts.open("sim:f") as host, pytest.raises(UsageError, match=says):
        host.define([Workload.of("x")], [Settings.of(values)])


def test_the_models_without_settings_know_one_program():
    with hosts.open("sim:calm") as host, pytest.raises(WorkloadError, match="spin DURATION"):
        host.define([Workload.of("hmmsearch")], [Settings()])


@pytest.mark.parametrize("name", machine.names())
def test_shipped_machines_have_words_and_a_complete_catalogue(name):
    with hosts.open(f"sim:{name}") as host:
        assert len(host.machine.what) > 20
        rows = host.knobs()
    assert [row.name for row in rows] == [row.name for row in catalogue()]
    assert all(row.supported is not bool(row.reason) for row in rows)


def test_a_setting_of_the_boot_does_what_the_live_one_does_and_both_do_it_once():
    model = shipped("laptop-a")
    alone, at_boot, both = (model.state(settings(*names)) for names in (["isolation"], ["isolcpus"], SAME_TWICE))
    assert alone.spread == at_boot.spread == both.spread < model.state(Settings()).spread
    assert model.state(Settings.of({"isolcpus": "first-core"})).spread == alone.spread, "one core is like the other"
    assert model.state(Settings.of({"isolcpus": "0"})).spread == model.state(Settings()).spread
