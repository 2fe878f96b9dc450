"""becalm explain over stored runs: which programs and machines, the two-way table, reports, and what it refuses."""

from __future__ import annotations

import html
import json
import math
import re

import numpy as np
import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from tests.support.page_elements import Page
from tests.support.pages import undrawn  # noqa: F401

from becalm.cli.main import becalm
from becalm.errors import UsageError
from becalm.load.attribution import CauseSearch
from becalm.load.record import Load
from becalm.load.simulated import Level, LoadedMachine, LoadedProgram, Sensitivity, hypercube, simulate
from becalm.nouns.codec import plain
from becalm.nouns.options.load_experiment import PlannedLoads
from becalm.nouns.run import Run
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.report.explain import figures
from becalm.report.explain.diagram import diagram
from becalm.report.explain.html import page
from becalm.report.explain.markdown import write
from becalm.report.explain.scale import FIRST, SECOND, delayed_from, scale, value
from becalm.report.explain.tables import machine_load, shapes
from becalm.store import Store
from becalm.verbs.explain import explain
from becalm.verbs.load_experiment import load_experiment
from becalm.wording import explain as sentences

LOADS = ("spinners", "page_outs", "disk", "network")
CASES = (
    ("gzip -9 big", Sensitivity(spinners=1), "vm"),
    ("sort huge", Sensitivity(disk=0.6), "vm"),
    ("gzip -9 big", Sensitivity(page_outs=0.6), "box"),
    ("quiet", Sensitivity(), "box"),
)


def plan(steps):
    return plain(PlannedLoads({}, {}, tuple(steps)))


def fill(store, name, sensitive, hostname, seed, *, planned=True, emulated="", sampled=True):
    rng = np.random.default_rng(seed)
    levels = hypercube(30, rng, LOADS)
    runs, loads = simulate(levels, LoadedProgram(sensitive=sensitive), LoadedMachine(), rng)
    steps = [{**level._asdict(), "cpu": level.spinners} if any(level) else {} for level in levels]
    options = {"design": plan(steps)} if planned else {}
    options |= {"emulated": emulated} if emulated else {}
    loads = loads if sampled else [load._replace(queue=None) for load in loads]
    study = Study("explain" if planned else "run", (Workload(argv=(name,), name=name),), options=options)
    number = store.begin(study, {"host": {"hostname": hostname}, "scheduler": {"autogroup": False}})
    store.append(number, runs)
    store.append_loads(number, loads)
    return number


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("explain") / "store.db")
    with Store.open(path) as store:
        for seed, (name, sensitive, hostname) in enumerate(CASES):
            fill(store, name, sensitive, hostname, seed)
    return path


@pytest.fixture(scope="module")
def everything(place):
    return explain(1, 2, 3, 4, store=place)


def test_each_program_on_each_machine_is_a_case_with_its_cause(everything):
    causes = {(case.program, case.machine): case.attribution.cause for case in everything.cases}
    assert causes == {
        ("gzip -9 big", "vm"): "CPU",
        ("sort huge", "vm"): "disk",
        ("gzip -9 big", "box"): "memory",
        ("quiet", "box"): None,
    }
    assert all(case.designed and case.reference == "unloaded run" for case in everything.cases)


def test_the_two_way_table(everything):
    cells = {(bottleneck.program, bottleneck.machine): bottleneck for bottleneck in everything.bottlenecks}
    assert cells["gzip -9 big", "vm"].bar == "run-queue wait"
    assert cells["gzip -9 big", "box"].bar == "swap and reclaim"
    assert cells["quiet", "box"].bar is None or cells["quiet", "box"].delay < 1.05
    assert cells[None, "vm"].runs == 60
    assert cells["gzip -9 big", None].cause is None, "two machines, two causes"
    assert (None, None) not in cells


def test_sentences(everything):
    sentence = everything.sentence
    assert re.search(
        r"gzip -9 big on vm: load on the CPUs made it slow\. It explains \d+ % of the differences", sentence
    )
    assert "load on the disks made it slow" in sentence
    assert "no load that was recorded explains its times" in sentence
    assert "(30 runs, unloaded" in sentence


@pytest.mark.parametrize(("reference_ns", "message"), [(2.4e9, False), (0.0, False), (1.2e6, True)])
def test_only_short_runs_are_called_mostly_start_up(everything, reference_ns, message):
    case = everything.cases[0]
    refused = replace(
        case, attribution=replace(case.attribution, answer=CauseSearch.REFUSED), reference_ns=reference_ns
    )
    sentence = sentences.case(refused)
    assert "add up to more than the runs took" in sentence
    assert ("A run of 1.200 ms is mostly start-up: let one run do more." in sentence) == message


def test_a_plan_of_few_runs_is_refused_before_a_machine_is_asked(monkeypatch):
    monkeypatch.setattr("becalm.verbs.load_experiment.open_session", None)
    with pytest.raises(UsageError, match="A designed campaign has 20 to 60 runs, not 6"):
        load_experiment("true", steps=6)


def test_the_last_study_is_what_is_explained_without_more(place):
    assert explain(store=place).studies == (4,)
    assert explain(last=True, store=place).studies == (4,)
    assert explain("last", 2, store=place).studies == (2, 4)


def test_guests_without_a_processor_of_their_own_are_named_once(tmp_path):
    path = str(tmp_path / "store.db")
    with Store.open(path) as store:
        for seed in (1, 2):
            fill(store, "gzip", Sensitivity(spinners=1), "guest", seed, emulated="no KVM")
    (finding,) = explain(1, 2, store=path).findings
    assert finding.sentence == "Times on this host are emulated (no KVM): they say nothing about a real processor."
    done = CliRunner().invoke(becalm, ["explain", "1", "--store", path, "--plain"])
    assert "Times on this host are emulated (no KVM)" in " ".join(done.output.split())


def test_a_run_queue_that_was_not_sampled_is_known_from_the_plan(tmp_path):
    path = str(tmp_path / "store.db")
    with Store.open(path) as store:
        fill(store, "gzip", Sensitivity(spinners=1), "guest", 0, sampled=False)
        fill(store, "gzip", Sensitivity(spinners=1), "guest", 0, sampled=False, planned=False)
    (planned,) = explain(1, store=path).cases
    assert (planned.attribution.cause, planned.attribution.missing) == ("CPU", ())
    assert all(point.queue is None for point in planned.points), "what was recorded is not made up"
    (unplanned,) = explain(2, store=path).cases
    assert "queue" in unplanned.attribution.missing


def test_a_program_is_found_in_all_studies(place):
    explanation = explain(program="gzip", store=place)
    assert explanation.studies == (1, 3)
    assert {case.machine for case in explanation.cases} == {"vm", "box"}
    with pytest.raises(UsageError, match="'nothing' in its name"):
        explain(program="nothing", store=place)


def test_the_same_seed_says_the_same(place):
    assert explain(2, store=place, seed=3) == explain(2, store=place, seed=3)


def test_json_is_whole_and_finite(everything):
    value = json.loads(json.dumps(everything.to_json(), allow_nan=False))
    assert value["kind"] == "explain"
    point = value["cases"][0]["points"][0]
    assert {"delay", "measures", "bars"} <= set(point)
    assert {"factor", "mund", "shared", "exact", "failed"} <= set(point["delay"])
    assert value["cases"][0]["attribution"]["shares"][0]["cause"] in ("CPU", "memory", "disk", "network")


def test_the_page_needs_nothing_else(everything):
    text = page(everything)
    seen = Page(text)
    ids = seen.values("id")
    assert len(ids) == len(set(ids))
    assert not {"script", "link", "img"} & set(seen.names)
    assert not re.search(r'(?:src|href)="(?!#)', text)
    assert seen.names.count("svg") == 4 * 4
    assert "expected" in text
    assert "Bottlenecks" in text


def test_pictures_hold_the_points_and_say_what_they_show(everything):
    case = next(case for case in everything.cases if case.machine == "vm" and case.attribution.cause == "CPU")
    on = scale(everything.cases)
    drawn = figures.diagram(case, FIRST, on)
    assert "run queue / CPUs from" in drawn
    assert "others" in drawn
    assert drawn.count("<use") >= 3 * 30
    second = figures.diagram(case, SECOND, on)
    assert "NFS, calls/s from 0 to 0" in second, "there were no calls, and they stay in the picture"
    assert on.label("disk") in html.unescape(second)


def test_all_diagrams_are_on_one_scale(everything):
    on = scale(everything.cases)
    for case in everything.cases:
        for point in case.points:
            assert on.delay[0] <= point.delay.factor <= on.delay[1]
            for name in (*FIRST, *SECOND):
                rate = value(point, name)
                assert rate is None or rate * on.multipliers[name] <= on.top * 1.0001, name
    assert (on.multipliers["queue"], on.multipliers["cpu"]) == (1, 1)
    drawn = [diagram(case, True, on).splitlines() for case in everything.cases]
    assert len({(lines[0][:4], lines[-1]) for lines in drawn}) == 1, "those of the terminal, too"


def test_the_expectation_of_many_threads_begins_where_they_are_not_alone(everything):
    case = next(case for case in everything.cases if case.machine == "vm" and case.attribution.cause == "CPU")
    assert delayed_from(case) == pytest.approx(1)
    points = tuple(
        replace(point, queue=8 * point.delay.mund, cpus=2.0, delay=replace(point.delay, factor=point.delay.mund))
        for point in case.points
    )
    threads = replace(case, points=points)
    assert delayed_from(threads) == pytest.approx(4)
    drawn = diagram(threads, True, scale([threads]))
    assert drawn.count("o") >= 10
    assert re.search(r"o[ :]*:", drawn), "the points lie on the curve"


def test_an_interval_that_is_not_bounded_has_no_infinite_end(everything):
    case = next(case for case in everything.cases if case.attribution.shapes)
    name, text = next(iter(case.attribution.shapes.items()))
    ends = [(-math.inf, math.inf), (-math.inf, 2.0), (-1.5, math.inf), (-1.5, 2.0)]
    messages = []
    for low, high in ends:
        shown = {name: replace(text, low=low, high=high, theil_sen=1.0)}
        case = replace(case, attribution=replace(case.attribution, shapes=shown))
        messages.append(shapes(case).rows[0][3])
    assert messages == ["1 (interval not known)", "1 (at most 2)", "1 (at least -1.5)", "1 (-1.5 to 2)"]


def test_multipliers_are_round_and_use_the_axis(everything):
    for largest in (0.004, 0.7, 3.0, 41.0, 999.0, 12345.0):
        case = replace(everything.cases[0], points=tuple(_with_disk(everything.cases[0].points, largest)))
        on = scale([case])
        times = on.multipliers["disk"]
        assert f"{times:e}"[0] in "125"
        assert on.top / 2.6 < largest * times <= on.top
        assert on.label("disk") == ("disk, MiB/s" if times == 1 else f"disk, MiB/s, × {times:g}")


def _with_disk(points, largest):
    for point in points:
        yield replace(point, measures={**point.measures, "disk": largest})


def test_the_legend_takes_no_room_from_the_axes_that_both_diagrams_have(everything):
    on = scale(everything.cases)
    frames = {
        re.search(r'patch_2"[^>]*>\s*<path d="([^"]+)"', figures.diagram(case, names, on))[1]
        for case in everything.cases
        for names in (FIRST, SECOND)
    }
    assert len(frames) == 1


def test_a_measure_that_is_not_known_is_named_so(everything):
    case = everything.cases[0]
    points = tuple(replace(point, measures={**point.measures, "nfs": None}) for point in case.points)
    drawn = figures.diagram(replace(case, points=points), SECOND, scale([case]))
    assert "Not known: NFS, calls/s." in drawn
    shown = page(replace(everything, cases=(replace(case, points=points),)))
    assert shown.count("one that was not there lies at zero. Not known: NFS, calls/s.") == 1, "where everybody sees it"


def test_the_load_of_the_machine_is_a_table(tmp_path):
    path = str(tmp_path / "s.db")
    with Store.open(path) as store:
        number = store.begin(Study("run", (Workload.of("x"),)), {})
        runs = [Run(n, 0, 0, n, 0, n * 10**9, 10**9, 9 * 10**8, 0, *[None] * 6, "ok", 0, 0) for n in range(2)]
        store.append(number, runs)
        moved = {"disk_read_bytes": 3 * 2**20, "disk_write_bytes": 2**20, "disk_transfers": 64}
        moved |= {"net_in_bytes": 2**20, "net_out_bytes": 0, "net_mtu_bytes": 2**21}
        moved |= {"interrupts": 1500, "device_interrupts": 500}
        loads = [Load(n, n, n * 10**9, 10**9, cpus=2, **moved) for n in range(2)]
        store.append_loads(number, loads)
    (case,) = explain(store=path).cases
    rows = {row[0]: row[1:] for row in machine_load(case).rows}
    assert rows["transfers"][0] == "64/s"
    assert rows["transfer size"][0] == "64.0 KiB"
    assert rows["packets × MTU"] == ("2.0 MiB/s",) * 3
    assert rows["network in"][0] == "1.0 MiB/s"
    assert (rows["interrupts"][0], rows["from devices"][0]) == ("1.5 k/s", "500/s")
    assert "of timers" not in rows, "not known is no zero"


def test_markdown(everything):
    text = write(everything)
    assert "## Bottlenecks" in text
    assert text.count("## Shapes") == 4
    assert "| CPU |" in text


def test_names_are_never_markup(tmp_path):
    path = str(tmp_path / "s.db")
    with Store.open(path) as store:
        fill(store, "<script>alert(1)</script> | x", Sensitivity(spinners=1), "vm", 1)
    explanation = explain(store=path)
    assert "<script>" not in page(explanation)
    assert "<script>" not in write(explanation).replace("\\<script\\>", "")


def test_loads_that_nobody_planned(tmp_path):
    path = str(tmp_path / "s.db")
    with Store.open(path) as store:
        fill(store, "gzip", Sensitivity(spinners=1), "vm", 1, planned=False)
        fill(store, "gzip", Sensitivity(spinners=1), "vm", 2)
    case = explain(1, store=path).cases[0]
    assert (case.designed, case.attribution.cause) == (False, "CPU")
    assert explain(2, store=path).cases[0].designed
    for both in ((1, 2), (2, 1)):
        assert not explain(*both, store=path).cases[0].designed, "some of them nobody planned"


@pytest.mark.parametrize(
    ("wall_ms", "parts"),
    [((120, 60), [2]), ((60, 60, 60), [3]), ((120, 60, 60, 60), [1, 3]), ((120, 120, 120, 60), [1, 1, 2])],
)
def test_short_runs_are_pooled_each_once(tmp_path, wall_ms, parts):
    """A rest at the end that is too short to stand alone belongs to the observation before it."""
    path = str(tmp_path / "s.db")
    with Store.open(path) as store:
        number = store.begin(Study("run", (Workload.of("x"),)), {})
        ns = [wall_m * 10**6 for wall_m in wall_ms]
        store.append(
            number, [Run(n, 0, 0, n, 0, n * 10**9, t, t, 0, *[None] * 6, "ok", 0, 0) for n, t in enumerate(ns)]
        )
        store.append_loads(number, [Load(n, n, n * 10**9, t, cpus=2, queue=1.0) for n, t in enumerate(ns)])
    (case,) = explain(store=path).cases
    assert case.runs == len(wall_ms)
    assert [point.runs for point in case.points] == parts
    assert [point.first for point in case.points] == [sum(parts[:n]) for n in range(len(parts))]


def test_a_delay_factor_is_never_below_zero_on_its_axis(everything):
    case = everything.cases[0]
    points = tuple(replace(run, delay=replace(run.delay, factor=500.0 + n)) for n, run in enumerate(case.points))
    assert scale([replace(case, points=points)]).delay[0] == 0.0


def test_runs_of_one_round_are_one_observation(tmp_path):
    """Twenty runs next to one load tell as much of it as one: they must not count as twenty."""
    path = str(tmp_path / "s.db")
    rng = np.random.default_rng(2)
    levels = hypercube(20, rng, LOADS)
    many = [level for level in levels for _ in range(3)]
    runs, loads = simulate(many, LoadedProgram(sensitive=Sensitivity(spinners=1)), LoadedMachine(), rng)
    runs = [run._replace(round=run.seq // 3) for run in runs]
    with Store.open(path) as store:
        options = {"design": plan([level._asdict() if any(level) else {} for level in levels])}
        number = store.begin(Study("explain", (Workload.of("gzip"),), options=options), {})
        store.append(number, runs)
        store.append_loads(number, loads)
    case = explain(store=path).cases[0]
    assert (len(case.points), case.runs, case.attribution.runs) == (20, 60, 20)
    assert {point.runs for point in case.points} == {3}


def test_settings_make_another_program(tmp_path):
    path = str(tmp_path / "s.db")
    rng = np.random.default_rng(4)
    runs, loads = simulate([Level()] * 20, LoadedProgram(), LoadedMachine(), rng)
    runs = [run._replace(settings=run.seq % 2) for run in runs]
    with Store.open(path) as store:
        study = Study("run", (Workload.of("gzip"),), (Settings(), Settings.of({"nice": 5})))
        number = store.begin(study, {})
        store.append(number, runs)
        store.append_loads(number, loads)
    explanation = explain(store=path)
    assert [case.program for case in explanation.cases] == ["gzip", "gzip [nice=5]"]
    assert all(case.runs == 10 for case in explanation.cases)


def test_studies_that_cannot_be_explained_are_refused(tmp_path, place):
    path = str(tmp_path / "s.db")
    with Store.open(path) as store:
        runs, loads = simulate([Level()] * 3, LoadedProgram(), LoadedMachine(), np.random.default_rng(0))
        bare = store.begin(Study("run", (Workload.of("gzip"),)), {})
        store.append(bare, runs)
        few = store.begin(Study("run", (Workload.of("gzip"),)), {})
        store.append(few, runs)
        store.append_loads(few, loads)
        failed = store.begin(Study("run", (Workload.of("gzip"),)), {})
        store.append(failed, [run._replace(outcome="failed") for run in runs])
        store.append_loads(failed, loads)
    with pytest.raises(UsageError, match="has no record of load"):
        explain(bare, store=path)
    explanation = explain(bare, few, store=path)
    assert [finding.kind for finding in explanation.findings] == ["no_load"]
    assert explanation.cases[0].attribution.answer is CauseSearch.FEW
    with pytest.raises(UsageError, match="no finished run"):
        explain(failed, store=path)
    with pytest.raises(UsageError, match="no study 99"):
        explain(99, store=place)


def test_runs_without_cpu_time_and_reference(tmp_path):
    path = str(tmp_path / "s.db")
    with Store.open(path) as store:
        number = store.begin(Study("run", (Workload.of("x"),)), {})
        run = Run(0, 0, 0, 0, 0, 0, 10**8, *[None] * 8, "ok", 0, 0)
        store.append(number, [run])
        store.append_loads(number, [Load(0, 0, 0, 10**8)])
    explanation = explain(store=path)
    assert explanation.cases == ()
    assert "no delay can be computed" in explanation.sentence


def call(*arguments):
    return CliRunner().invoke(becalm, ["explain", *map(str, arguments)], standalone_mode=False)


@pytest.mark.usefixtures("undrawn")
def test_the_command(place, tmp_path):
    result = call(1, "--store", place, "--plain", "--report", tmp_path / "r.html")
    assert result.exception is None
    assert "Delay factor and run queue" in result.output
    assert "What explains the differences" in result.output
    assert result.output.isascii() or set(re.findall(r"[^\x00-\x7f]", result.output)) <= set("×²µ")
    assert (tmp_path / "r.html").read_text().startswith("<!DOCTYPE html>")
    assert call(1, "--store", place, "--markdown").output.startswith("**gzip")
    assert json.loads(call(1, "--store", place, "--json").output)["studies"] == [1]
    assert call(1, "--store", place, "--quiet").output.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((1, "--last"), "contradict"),
        (("--json", "--quiet"), "contradict"),
        (("--report", "/no/such/place/r.html"), "no directory"),
        (("--host", "null"), "--host is for a plan of loads"),
        (("--designed", "--host", "null", "--", "true"), "Not available on null: known load"),
    ],
)
def test_invalid_arguments_are_refused(place, arguments, words):
    result = call("--store", place, *arguments)
    assert words in str(result.exception)


def test_observations_that_were_too_short_for_a_sample_do_not_cost_the_run_queue(tmp_path):
    """The run queue is sampled. Neighbours of one step speak for it, and a step without any is left out, up to a
    quarter of them."""
    path = str(tmp_path / "store.db")
    with Store.open(path) as store:
        rng = np.random.default_rng(3)
        levels = hypercube(40, rng, LOADS)
        for lost in (6, 20):
            runs, loads = simulate(levels, LoadedProgram(sensitive=Sensitivity(spinners=1)), LoadedMachine(), rng)
            loads = [load._replace(queue=None) if place < lost else load for place, load in enumerate(loads)]
            design = {"design": plan([level._asdict() if any(level) else {} for level in levels])}
            number = store.begin(Study("explain", (Workload.of("spin"),), options=design), {})
            store.append(number, runs)
            store.append_loads(number, loads)
    (some,) = explain(1, store=path).cases
    assert (some.attribution.cause, some.attribution.runs, len(some.points)) == ("CPU", 34, 40)
    (many,) = explain(2, store=path).cases
    assert "queue" in many.attribution.missing
    assert many.attribution.cause == "CPU" or "could not be judged" in many.sentence


def test_errors_and_retransmissions_beyond_their_limits_are_told_of_the_machine(tmp_path):
    path = str(tmp_path / "store.db")
    with Store.open(path) as store:
        number = fill(store, "p", Sensitivity(), "vm", 1, planned=False)
        study = Study("run", (Workload.of("q"),))
        other = store.begin(study, {"host": {"hostname": "box"}})
        ns = 100 * 10**6
        runs = [Run(seq, 0, 0, seq, 0, seq * 10**9, ns, ns, 0, 0, 1, 0, 0, 0, 0, "ok", 0, 0) for seq in range(30)]
        store.append(other, runs)
        bad = {"net_errors": 1, "net_packets": 100, "nfs_calls": 10, "nfs_retransmissions": 1}
        store.append_loads(other, [Load(run.seq, run.seq, run.started_ns, ns, cpus=2, **bad) for run in runs])
    explanation = explain(number, other, store=path)
    by_kind = {finding.kind: finding for finding in explanation.findings}
    assert set(by_kind) >= {"network_errors", "nfs_retransmissions"}
    assert by_kind["network_errors"].numbers == {"machine": "box", "events": 30, "of": 3000, "limit": 0.00025}
    assert "30 errors, drops or collisions for 3,000 packets" in by_kind["network_errors"].sentence
    assert "30 of 300 NFS calls were sent again" in by_kind["nfs_retransmissions"].sentence
