"""Slow runs carry their cause; contaminated rounds are flagged, and left out by a rule fixed before looking."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec import structs

import becalm.study.session as session
from becalm.analysis.contamination import DEFAULT_RULE, contaminated_rounds, judge_rounds, parse_rule
from becalm.analysis.diagnostics import series_findings
from becalm.analysis.outlier_reasons import outlier_reason
from becalm.errors import MachineError, UsageError
from becalm.hosts import LoadDetail, Loads, Runs
from becalm.hosts.null import NullHost
from becalm.load.own_loads import OwnLoads
from becalm.load.record import Load
from becalm.nouns.run import Run
from becalm.plans.history import History
from becalm.report import forms
from becalm.study.stored import stored
from becalm.verbs.compare import compare
from becalm.verbs.records import conclude
from becalm.verbs.run import run

MS = 10**6


def a_run(seq, wall=100, cpu=95, wait=1, number=None, workload=0):
    number = seq if number is None else number
    ns = (wall * MS, cpu * MS, 0, wait * MS)
    return Run(seq, workload, 0, number, 0, seq * 10**9, *ns, 1 << 20, 0, 0, 0, 0, "ok", 0, 0)


def columns_of(runs):
    def columns(program, names):
        mine = [run for run in runs if run.workload == program]
        return {name: np.array([getattr(run, name) for run in mine], dtype=np.float64) for name in names}

    return columns


def series(slow, loads=()):
    """Return findings on 40 runs of which number 17 is slow."""
    rng = np.random.default_rng(0)
    runs = [a_run(seq)._replace(wall_ns=int(100 * MS + rng.normal() * 0.3 * MS)) for seq in range(40)]
    runs[17] = slow
    history = History(1)
    history.extend(runs)
    findings = series_findings("p", history, columns_of(runs), loads=OwnLoads.of(loads))
    return next(finding for finding in findings if finding.kind == "outliers")


def test_a_slow_run_says_how_long_it_waited_for_a_cpu():
    report = series(a_run(17, wall=112, wait=12))
    assert report.sentence.startswith("1 of 40 runs is an outlier (kept). Run 17 took 12 % longer: 11.0")
    assert "it waited for a CPU" in report.sentence
    assert report.numbers["causes"][0] == "run-queue wait"
    assert report.numbers["cause_ns"][0] == pytest.approx(11 * MS, rel=0.01)


@pytest.mark.parametrize(
    ("slow", "words"),
    [
        (a_run(17, wall=150, cpu=145), "is CPU time, so the processor ran it slower"),
        (a_run(17, wall=150, cpu=145)._replace(user_ns=95 * MS, system_ns=50 * MS), "is time inside the kernel"),
        (a_run(17, wall=150), "neither CPU time nor the run queue explains"),
        (a_run(17, wall=60, cpu=55), "took 40 % less: its CPU time differs likewise"),
        (a_run(17, wall=150)._replace(wait_ns=None), "neither"),
    ],
)
def test_other_causes(slow, words):
    assert words in series(slow).sentence


def test_a_load_tells_of_disk_and_memory():
    common = {"cpus": 2, "exec_ns": 95 * MS, "wait_ns": MS, "level": 3, "scope": "group", "tasks": 1}
    quiet = [
        Load(seq, seq, 0, 100 * MS, block_ns=0, swapin_ns=0, thrashing_ns=0, reclaim_ns=0, **common)
        for seq in range(40)
    ]
    disk = [*quiet[:17], quiet[17]._replace(block_ns=45 * MS), *quiet[18:]]
    assert "it waited for a disk" in series(a_run(17, wall=150), disk).sentence
    swap = [*quiet[:17], quiet[17]._replace(block_ns=45 * MS, swapin_ns=44 * MS), *quiet[18:]]
    assert "memory was short" in series(a_run(17, wall=150), swap).sentence
    quota = [*quiet[:17], quiet[17]._replace(wait_ns=50 * MS, quota_ns=48 * MS), *quiet[18:]]
    assert "held back by the quota" in series(a_run(17, wall=150, wait=50), quota).sentence


def test_parts_that_do_not_add_up_name_no_bar():
    runs = [a_run(seq) for seq in range(20)]
    runs[3] = a_run(3, wall=120, wait=90)
    record = columns_of(runs)(0, ("seq", "wall_ns", "user_ns", "system_ns", "wait_ns", "major_faults", "involuntary"))
    assert outlier_reason(record, 3, OwnLoads.of()).bar is None


def test_rules():
    limits = parse_rule("cpu>20%, steal > 5 %,page-outs>1,queue>1.5")
    assert [(limit.measure, limit.most) for limit in limits.limits] == [
        ("cpu", 0.2), ("steal", 0.05), ("page-outs", 1.0), ("queue", 1.5),
    ]  # fmt: skip
    for wrong in ("", "cpu", "cpu<5", "cpu>x", "cpu>1;steal>2"):
        with pytest.raises(UsageError, match="is not a valid rule"):
            parse_rule(wrong)
    with pytest.raises(UsageError, match="no measure 'wall'"):
        parse_rule("wall>5")


def test_a_load_contaminates_every_round_in_it_and_no_warm_up():
    runs = [a_run(0, number=-1), *(a_run(seq, number=seq - 1) for seq in range(1, 7))]
    loads = [
        Load(0, 2, 0, 300 * MS, cpus=2, busy_ns=285 * MS + 200 * MS, steal_ns=0, swap_out_bytes=0),
        Load(3, 4, 0, 200 * MS, cpus=2, busy_ns=190 * MS, steal_ns=50 * MS, swap_out_bytes=0),
        Load(5, 6, 0, 200 * MS, cpus=2, busy_ns=190 * MS, steal_ns=0, swap_out_bytes=10),
    ]
    assert contaminated_rounds(runs, loads, DEFAULT_RULE) == {0: ("cpu",), 1: ("cpu",), 2: ("steal",), 3: ("steal",)}
    unknown = [Load(0, 6, 0, 700 * MS)]
    assert contaminated_rounds(runs, unknown, DEFAULT_RULE) == {}


def test_page_outs_are_mib_a_second_and_a_queue_is_per_cpu():
    runs = [a_run(0)]
    written = [Load(0, 0, 0, 2 * 10**9, swap_out_bytes=3 << 20)]
    assert contaminated_rounds(runs, written, parse_rule("page-outs>1.4")) == {0: ("page-outs",)}
    assert contaminated_rounds(runs, written, parse_rule("page-outs>1.6")) == {}
    queued = [Load(0, 0, 0, 100 * MS, cpus=4, queue=6.0)]
    assert contaminated_rounds(runs, queued, parse_rule("queue>1.4")) == {0: ("queue",)}
    assert contaminated_rounds(runs, queued, parse_rule("queue>1.6")) == {}
    for unknown in (Load(0, 0, 0, 100 * MS, queue=6.0), Load(0, 0, 0, 100 * MS, cpus=4)):
        assert judge_rounds(runs, [unknown], parse_rule("queue>1")).unknown == {0: ("queue",)}


def test_runs_with_unknown_load_are_neither_clean_nor_contaminated():
    runs = [a_run(0, number=-1), *(a_run(seq, number=seq - 1) for seq in range(1, 8))]
    loads = [
        Load(0, 1, 0, 200 * MS, cpus=2, busy_ns=190 * MS),
        Load(2, 3, 0, 200 * MS, cpus=2, busy_ns=190 * MS, steal_ns=0),
        Load(4, 5, 0, 200 * MS, cpus=2, busy_ns=390 * MS),
    ]
    judgement = judge_rounds(runs, loads, parse_rule("cpu>20%,steal>5%"))
    # One measure beyond the rule is enough, whatever the others are; runs next to no load know nothing.
    assert judgement.contaminated == {3: ("cpu",), 4: ("cpu",)}
    assert judgement.unknown == {0: ("steal",), 5: ("cpu", "steal"), 6: ("cpu", "steal")}
    nothing = judge_rounds(runs[1:2], [Load(1, 1, 0, 100 * MS)], DEFAULT_RULE)
    assert nothing.unknown == {0: ("cpu", "steal", "page-outs")}
    without_cpu = [a_run(0)._replace(user_ns=None)]
    assert judge_rounds(
        without_cpu, [Load(0, 0, 0, 100 * MS, cpus=2, busy_ns=100 * MS)], parse_rule("cpu>20%")
    ).unknown == {0: ("cpu",)}


def test_rounding_and_the_agents_own_work_contaminate_nothing():
    # One tick in an interval of 4 ms is no load; nor is what starting programs takes between two short runs.
    assert (
        contaminated_rounds([a_run(0, wall=2, cpu=1)], [Load(0, 0, 0, 4 * MS, cpus=2, busy_ns=10 * MS)], DEFAULT_RULE)
        == {}
    )
    runs = [a_run(seq, wall=1, cpu=1) for seq in range(100)]
    assert contaminated_rounds(runs, [Load(0, 99, 0, 400 * MS, cpus=2, busy_ns=390 * MS)], DEFAULT_RULE) == {}
    assert len(contaminated_rounds(runs, [Load(0, 99, 0, 400 * MS, cpus=2, busy_ns=620 * MS)], DEFAULT_RULE)) == 100


def test_dropped_rounds_do_not_count():
    history = History(2)
    history.extend(a_run(seq, number=seq // 2, workload=seq % 2) for seq in range(10))
    history.drop({1, 7})
    history.extend(a_run(seq, number=seq // 2, workload=seq % 2) for seq in range(10, 20))
    assert (history.rounds, history.complete) == (8, 10)
    assert history.seqs(0).tolist() == [0, 4, 6, 8, 10, 12, 16, 18]
    assert history.pairs().rounds == 8
    assert len(history.wall_ns(1)) == 8


class Contaminated(NullHost):
    """Every fifth round lies next to a load that makes it twice as long."""

    def measure(self, request):
        for event in super().measure(request):
            slow = [run.round % self.every == min(3, self.every - 1) for run in event.rows]
            # A tenth of a second each: much more than the resolution of the counters.
            rows = [run._replace(wall_ns=100 * run.wall_ns, user_ns=100 * run.user_ns) for run in event.rows]
            rows = [run._replace(wall_ns=2 * run.wall_ns) if s else run for run, s in zip(rows, slow, strict=True)]
            yield Runs(rows)
            if request.detail is not LoadDetail.NONE:
                busy = [2 * run.wall_ns if s else run.wall_ns for run, s in zip(rows, slow, strict=True)]
                yield Loads(
                    [
                        Load(run.seq, run.seq, run.started_ns, run.wall_ns, cpus=2, busy_ns=item, steal_ns=0)
                        for run, item in zip(rows, busy, strict=True)
                    ]
                )


@pytest.fixture
def place(tmp_path, monkeypatch):
    Contaminated.every = 5
    monkeypatch.setattr(session.hosts, "open", lambda name, access: Contaminated())
    return str(tmp_path / "s.db")


def finding(verdict):
    return next(finding for finding in verdict.findings if finding.kind == "contaminated")


def test_contaminated_rounds_are_counted_and_kept(place):
    verdict = run("x", runs=50, store=place)
    assert verdict.summaries[0].runs == 50
    text = finding(verdict)
    assert text.sentence == "10 of 50 rounds were contaminated (cpu>20% in 10): see becalm explain"
    assert text.numbers["rounds"] == list(range(3, 50, 5))


def test_a_rule_leaves_whole_rounds_out_of_a_comparison(place):
    comparison = compare(["x", "y"], runs=40, store=place, drop_contaminated="cpu>30%")
    assert {summary.runs for summary in comparison.summaries} == {40}
    assert comparison.differences[0].pairs == 40
    assert max(summary.max_ns for summary in comparison.summaries) < 150 * MS
    text = finding(comparison)
    assert "rounds were contaminated (cpu>30% in " in text.sentence
    assert text.sentence.endswith(" and left out; 40 count.")
    assert text.numbers["complete"] >= 48
    assert stored(1, place).study.options["drop_contaminated"] == "cpu>30%"


def test_a_verdict_from_stored_runs_heeds_the_rule(place):
    with_all = run("x", runs=20, store=place, drop_contaminated="cpu>30%")
    document = stored(1, place)
    again = conclude(structs.replace(document, verdict=None))
    assert again.summaries[0].runs == with_all.summaries[0].runs == 20
    assert again.summaries[0].mean_ns == with_all.summaries[0].mean_ns
    assert again.summaries[0].user_ns == with_all.summaries[0].user_ns
    assert finding(again).sentence == finding(with_all).sentence


class Blind(Contaminated):
    """No record has steal in every second round."""

    def measure(self, request):
        for event in super().measure(request):
            if isinstance(event, Loads):
                round_of = {run.seq: run.round for run in self.rows}
                event = Loads([e._replace(steal_ns=None if round_of[e.first] % 2 else 0) for e in event.loads])
            else:
                self.rows = event.rows
            yield event


def unknown(verdict):
    return next((finding for finding in verdict.findings if finding.kind == "contamination_unknown"), None)


def test_unknown_rounds_are_reported_and_kept_or_left_out_as_asked(place, monkeypatch):
    monkeypatch.setattr(session.hosts, "open", lambda name, access: Blind())
    with_all = run("x", runs=20, store=place, drop_contaminated="steal>5%")
    assert with_all.summaries[0].runs == 20
    assert unknown(with_all).numbers["rounds"] == list(range(1, 20, 2))
    assert "It is not known whether 10 of 20 rounds" in unknown(with_all).sentence
    assert "lacks steal in 10. They are counted; --unknown-contamination drop" in unknown(with_all).sentence
    dropped = run("x", runs=20, store=place, drop_contaminated="steal>5%", unknown_contamination="drop")
    assert dropped.summaries[0].runs == 20
    assert unknown(dropped).numbers["complete"] >= 39
    assert "They are left out" in unknown(dropped).sentence
    again = conclude(structs.replace(stored(2, place), verdict=None))
    assert (again.summaries[0].runs, unknown(again)) == (20, unknown(dropped))
    assert unknown(run("x", runs=20, store=place)) is None, "nobody asked for a rule"


def test_where_nothing_is_known_it_ends_and_says_so(place, monkeypatch):
    with pytest.raises(MachineError, match="of them were contaminated by the rule page-outs>1"):
        run("x", runs=4, store=place, drop_contaminated="page-outs>1", unknown_contamination="drop")
    with pytest.raises(UsageError, match="needs --drop-contaminated RULE"):
        run("x", runs=4, store=place, unknown_contamination="drop")


def test_slow_runs_of_each_program_of_a_comparison_carry_their_cause(place, monkeypatch):
    class Slow(NullHost):
        def measure(self, request):
            for event in super().measure(request):
                rng = np.random.default_rng(request.first)
                rows = [
                    row._replace(wall_ns=round(100 * MS * (1 + 0.002 * rng.standard_normal()))) for row in event.rows
                ]
                rows = [row._replace(user_ns=95 * MS, system_ns=0, wait_ns=MS) for row in rows]
                slow = {0: (12, 0, 12 * MS), 1: (17, 45 * MS, MS)}
                for index, item in enumerate(rows):
                    number, cpu, wait = slow[item.workload]
                    if item.round == number:
                        took = 95 * MS + cpu
                        rows[index] = item._replace(wall_ns=took + wait + 4 * MS, user_ns=took, wait_ns=wait)
                yield Runs(rows)

    monkeypatch.setattr(session.hosts, "open", lambda name, access: Slow())
    comparison = compare(["x", "y"], runs=40, store=place, load=False)
    text = {finding.program: finding for finding in comparison.findings if finding.kind == "outliers"}
    assert set(text) == {"x", "y"}
    assert "it waited for a CPU" in text["x"].sentence
    assert "is CPU time, so the processor ran it slower" in text["y"].sentence
    assert text["x"].sentence in forms.as_markdown(comparison)
    again = conclude(structs.replace(stored(1, place), verdict=None))
    assert again.findings == comparison.findings


def test_when_every_round_is_contaminated_it_ends_and_says_so(place):
    Contaminated.every = 1
    with pytest.raises(MachineError, match="rounds were contaminated by the rule cpu>1%, so none counts"):
        run("x", runs=4, store=place, drop_contaminated="cpu>1%")


def test_the_rule_needs_the_record_of_load(place):
    with pytest.raises(UsageError, match="needs the record of load"):
        run("x", runs=4, store=place, drop_contaminated="cpu>1%", load=False)
    with pytest.raises(UsageError, match="is not a valid rule"):
        run("x", runs=4, store=place, drop_contaminated="much")
