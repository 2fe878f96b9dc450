"""Competitors of a program: others on the CPUs that it may use, and nobody on other ones."""

import pytest
from msgspec.structs import replace

from becalm.analysis.contamination import DEFAULT_RULE, judge_rounds, parse_rule
from becalm.load.background_load import observed, others, pooled, unloaded
from becalm.load.cpu_competition import circumstances, confined, others_share, quota_cpus, stolen_share
from becalm.load.delay import Competition
from becalm.load.record import Load
from becalm.load.run_report import watched
from becalm.load.time_accounting import of
from becalm.nouns.run import Run
from becalm.nouns.settings import Settings

MS = 10**6


def run(seq=0, wall=1000, wait=0):
    ns = (wall * MS, (wall - wait) * MS, 0, wait * MS)
    return Run(seq, 0, 0, seq, 0, seq * 10**10, *ns, 1 << 20, 0, 0, 0, 0, "ok", 0, 0)


def load(seq=0, *, cpus=2, busy=2000, queue=4.0, own=(1, 1000, 0), steal=0, **more):
    """Return a load of a second on two busy CPUs, of which the program may use one, by default nobody else's."""
    count, own_busy, own_steal = (None, None, None) if own is None else (own[0], own[1] * MS, own[2] * MS)
    return Load(
        seq, seq, seq * 10**10, 1000 * MS, cpus=cpus, busy_ns=busy * MS, queue=queue, samples=9, steal_ns=steal * MS,
        own_cpus=count, own_cpus_busy_ns=own_busy, own_cpus_steal_ns=own_steal, level=2, scope="tree", tasks=1,
        exec_ns=1000 * MS, wait_ns=0, **more,
    )  # fmt: skip


def around(record, **values):
    return circumstances(record, Settings.of(values), {"scheduler": {"autogroup": False}})


def test_others_are_counted_on_its_own_cpus_alone():
    assert others_share(load(), 1000.0 * MS) == 0
    assert others_share(load(own=(1, 1600, 0)), 1000.0 * MS) == pytest.approx(0.6)
    assert others_share(load(own=None), 1000.0 * MS) == pytest.approx(0.5), "of all CPUs where these are not known"
    assert others_share(load(own=(2, 2000, 0)), 1000.0 * MS) == pytest.approx(0.5)
    assert (stolen_share(load(own=(1, 1, 100), steal=900)), stolen_share(load(own=None, steal=900))) == (0.1, 0.45)


@pytest.mark.parametrize("knobs", [{}, {"nice": "-20"}, {"cpus": "1"}])
def test_isolated_from_three_spinners_a_delay_of_one_is_expected(knobs):
    competition = watched(run(), load(), None, around(load(), **knobs))
    assert (competition.cpus, competition.queue) == (1, 1.0)
    assert (competition.delay.mund, competition.delay.exact, competition.delay.failed) == (1.0, 1.0, ())


def test_the_queue_of_shared_cpus_of_its_own_is_unknown():
    """Four tasks want two CPUs; how many of them want this one the kernel does not tell."""
    record = load(own=(1, 1500, 0))
    competition = watched(run(), record, None, around(record))
    delay = competition.delay
    assert (competition.cpus, competition.queue) == (1, None)
    assert (delay.mund, delay.shared, delay.failed) == (None, None, ())


def test_the_queue_of_the_machine_is_that_of_a_program_that_may_use_all_of_it():
    for own in (None, (2, 2000, 0)):
        competition = watched(run(), load(own=own), None, around(load(own=own)))
        assert (competition.queue, competition.delay.mund) == (4.0, 2.0)


def test_without_a_record_of_its_cpus_the_settings_tell_that_they_are_fewer():
    competition = watched(run(), load(own=None), None, around(load(own=None), cpus="1"))
    assert (competition.cpus, competition.queue, competition.delay.mund) == (1, None, None)


def test_measures_of_others_are_of_its_own_cpus():
    (isolated,) = observed(1, "vm", ["p"], [run()], [load()])
    table = others([isolated])
    assert (table["queue"], table["cpu_use"], table["cpu"]) == ([0.0], [0.0], [None])
    assert isolated.around.queue == 1.0
    runs = [run(seq) for seq in range(4)]
    quiet = observed(1, "vm", ["p"], runs, [load(seq) for seq in range(4)])
    assert unloaded(quiet).wall_ns == 1000 * MS
    assert pooled(quiet).around.queue == 1.0


def test_stolen_time_of_other_cpus_is_not_stolen_of_the_program():
    assert of([run()], load(own=(1, 1000, 10), steal=800)).steal_ns == 10 * MS
    assert of([run()], load(own=None, steal=800)).steal_ns == 800 * MS


def test_an_isolated_program_is_not_contaminated_by_others_elsewhere():
    runs = [run(seq) for seq in range(3)]
    isolated = [load(seq, steal=900) for seq in range(3)]
    assert judge_rounds(runs, isolated, DEFAULT_RULE).contaminated == {}
    assert judge_rounds(runs, isolated, parse_rule("queue>1.5")) == judge_rounds(runs, isolated, parse_rule("cpu>20%"))
    alongside = [load(seq, own=(1, 1500, 0)) for seq in range(3)]
    assert set(judge_rounds(runs, alongside, DEFAULT_RULE).contaminated) == {0, 1, 2}
    assert set(judge_rounds(runs, alongside, parse_rule("queue>1.5")).unknown) == {0, 1, 2}
    anywhere = [load(seq, own=None) for seq in range(3)]
    assert set(judge_rounds(runs, anywhere, DEFAULT_RULE).contaminated) == {0, 1, 2}


def test_circumstances_known_without_a_load_stay():
    bare = Competition(None, None)
    assert confined(bare, Load(0, 0, 0, 1), of([run()]), None) == bare


@pytest.mark.parametrize(
    ("limit", "cpus"),
    [("50000 100000", 0.5), ("300000 100000", 3.0), ("max 100000", None), (None, None), ("0 0", None), ("", None)],
)
def test_a_quota_is_so_many_cpus_in_either_version_of_cgroups(limit, cpus):
    facts = {"cgroups": {"cpu_limit": limit}}
    assert quota_cpus(facts) == cpus
    assert circumstances(None, Settings(), facts).quota_cpus == cpus
    assert quota_cpus({}) is None


def test_the_delay_that_shares_allow_takes_the_quota_into_account():
    facts = {"scheduler": {"autogroup": False}, "cgroups": {"cpu_limit": "50000 100000"}}
    alone = replace(circumstances(None, Settings(), facts), queue=1.0, cpus=2.0)
    assert alone.shared() == pytest.approx((2.0, 2.0)), "half a CPU: twice as long without anybody else"
