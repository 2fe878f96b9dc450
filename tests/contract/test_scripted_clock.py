"""The agent's scripted clock and counters: exact figures of runs and of records of load, and when they are refused."""

import subprocess

import pytest
from tests.contract.conversation import Agent, sh
from tests.contract.scripted import MS, START_NS, UNIX_NS, run_row, scripted_agent, scripted_becalm, write_script
from tests.support.laptop import laptop

import becalm
from becalm.errors import MachineError
from becalm.hosts.agent import AgentHost, agent_path
from becalm.hosts.protocol import Access
from becalm.hosts.transport import ProcessLink
from becalm.store import Store

CPU_LINE = "cpu {user} 0 0 {idle} 0 0 0 0 0 0\ncpu0 {user} 0 0 {idle} 0 0 0 0 0 0\nintr 0\nctxt {switches}\n"
"""A /proc/stat of one CPU, in ticks of 10 ms."""

USAGE = {
    "user_ns": 3 * MS,
    "system_ns": 2 * MS,
    "max_rss_bytes": 4096,
    "minor_faults": 5,
    "major_faults": 6,
    "voluntary": 7,
    "involuntary": 8,
}


@pytest.fixture
def script_path(tmp_path):
    return tmp_path / "script.json"


@pytest.fixture
def stat_tree(tmp_path):
    """A machine that has nothing but /proc/stat."""
    root = tmp_path / "machine"
    (root / "proc").mkdir(parents=True)
    (root / "proc/stat").write_text(CPU_LINE.format(user=100, idle=1000, switches=50))
    return root


def loads_of(agent, argv, steps, detail="totals"):
    """Return records of load (as dictionaries) and all events of a block."""
    defined = agent.define(*argv)
    assert defined["event"] == "done", defined
    events = agent.answer(agent.send("measure", first=0, steps=[[0, 0, 0, i] for i in range(steps)], load=detail))
    columns = agent.greeting["load_columns"]
    rows = [row for event in events if event["event"] == "loads" for row in event["rows"]]
    return [dict(zip(columns, row, strict=True)) for row in rows], events


def test_a_run_has_exactly_the_scripted_figures(script_path):
    queue = {"exec_ns": 5 * MS, "wait_ns": MS}
    with scripted_agent(write_script(script_path, [run_row(10, queue=queue, **USAGE)])) as agent:
        (run,), _ = agent.run("/bin/true")
    figures = {name: run[name] for name in USAGE}
    assert figures == USAGE
    assert (run["wall_ns"], run["started_ns"], run["wait_ns"]) == (10 * MS, UNIX_NS, MS)
    assert (run["outcome"], run["status"]) == ("ok", 0)


def test_runs_follow_each_other_on_the_scripted_clock_and_begin_again_after_the_last(script_path):
    with scripted_agent(write_script(script_path, [run_row(10), run_row(25)])) as agent:
        runs, _ = agent.run("/bin/true", steps=3)
    assert [run["wall_ns"] for run in runs] == [10 * MS, 25 * MS, 10 * MS]
    assert [run["started_ns"] - UNIX_NS for run in runs] == [0, 10 * MS, 35 * MS]


def test_each_workload_has_figures_of_its_own(script_path):
    with scripted_agent(write_script(script_path, [run_row(10)], [run_row(20), run_row(30)])) as agent:
        agent.ask("define", workloads=[{"argv": ["/bin/true"]}] * 2, settings=[{}])
        steps = [[workload, 0, 0, 0] for workload in (1, 0, 1)]
        events = agent.answer(agent.send("measure", first=0, steps=steps))
    place = agent.greeting["columns"].index("wall_ns")
    assert [row[place] for event in events if event["event"] == "runs" for row in event["rows"]] == [
        20 * MS,
        10 * MS,
        30 * MS,
    ]


@pytest.mark.parametrize(
    ("figures", "wall_ms"),
    [
        ({"late_ns": 3 * MS}, 7),
        ({"late_ns": 3 * MS, "queue": {"exec_ns": 6 * MS, "wait_ns": MS}}, 7),
        ({"late_ns": 3 * MS, "queue": {"exec_ns": 7 * MS, "wait_ns": MS}}, 8),
        ({"late_ns": 3 * MS, "queue": {"exec_ns": 50 * MS, "wait_ns": MS}}, 10),
        ({"late_ns": 3 * MS, "queue": {"exec_ns": 9 * MS, "wait_ns": MS}, "early_exec_ns": 2 * MS}, 8),
    ],
    ids=["late", "late, and ran less", "no shorter than it ran and waited", "no longer than was seen", "ran before"],
)
def test_the_end_of_a_run_is_as_late_as_it_was_seen_and_not_before_it_can_have_been(script_path, figures, wall_ms):
    with scripted_agent(write_script(script_path, [run_row(10, **figures)])) as agent:
        (run,), _ = agent.run("/bin/true")
    assert run["wall_ns"] == wall_ms * MS


def test_a_scripted_exit_status_decides_the_outcome(script_path):
    with scripted_agent(write_script(script_path, [run_row(1, status=-11), run_row(1, status=3), run_row(1)])) as agent:
        runs, _ = agent.run("/bin/true", steps=3)
    assert [(run["status"], run["outcome"]) for run in runs] == [(-11, "failed"), (3, "failed"), (0, "ok")]


def test_programs_really_run(script_path, tmp_path):
    with scripted_agent(write_script(script_path, [run_row(10)])) as agent:
        (run,), texts = agent.run(*sh(f"echo yes > {tmp_path}/ran; echo no >&2; exit 5"))
    assert (tmp_path / "ran").read_text() == "yes\n"
    assert (run["status"], run["outcome"], texts[0]["stderr"]) == (5, "failed", "no\n")


def test_the_time_of_switching_is_measured_by_the_clock(script_path):
    with scripted_agent(write_script(script_path, [run_row(10)], step_ns=1000)) as agent:
        agent.define("/bin/true")
        done = agent.ask("measure", first=0, steps=[[0, 0, 0, 0]] * 4)
    assert done["switching_ns"] == 4 * 1000


def test_memory_over_time_is_scripted(script_path):
    resident = [[10 * MS, 1000], [20 * MS, 3000], [30 * MS, 3000], [40 * MS, 1000]]
    metrics = [{"quantity": "memory:average"}, {"quantity": "memory:peak"}]
    with scripted_agent(write_script(script_path, [run_row(50, resident=resident, max_rss_bytes=2000)])) as agent:
        (run,), _ = agent.run("/bin/true", metrics=metrics)
    assert run["metrics"] == [7000 / 3, 3000]


def test_a_record_of_load_has_exact_times_and_counts(script_path, stat_tree):
    after = CPU_LINE.format(user=125, idle=1075, switches=53)
    (stat_tree / "after").write_text(after)
    change = sh(f"cp {stat_tree}/after {stat_tree}/proc/stat")
    with scripted_agent(write_script(script_path, [run_row(1000, **USAGE)]), "--root", str(stat_tree)) as agent:
        (load,), _ = loads_of(agent, change, 1)
    times = {name: load[name] for name in ("first", "last", "started_ns", "interval_ns", "cost_ns")}
    assert times == {"first": 0, "last": 0, "started_ns": UNIX_NS, "interval_ns": 1000 * MS, "cost_ns": 0}
    assert (load["cpus"], load["busy_ns"], load["idle_ns"], load["switches"]) == (1, 250 * MS, 750 * MS, 3)
    assert (load["samples"], load["quota_ns"], load["level"]) == (0, None, 0)


def test_records_cover_runs_of_a_tenth_of_a_second_and_follow_each_other(script_path, stat_tree):
    with scripted_agent(write_script(script_path, [run_row(60)]), "--root", str(stat_tree)) as agent:
        loads, _ = loads_of(agent, ["/bin/true"], 5)
    assert [(load["first"], load["last"]) for load in loads] == [(0, 1), (2, 3), (4, 4)]
    assert [load["interval_ns"] for load in loads] == [120 * MS, 120 * MS, 60 * MS]
    assert [load["started_ns"] - UNIX_NS for load in loads] == [0, 120 * MS, 240 * MS]


def test_exit_records_of_programs_are_summed(script_path, stat_tree):
    def told(**counts):
        return {"level": 3, "scope": "tree", "tasks": 2, "lost": 0, "counts": counts}

    rows = [
        run_row(10, exit=told(exec_ns=4, wait_ns=1, block_ns=7, cycles=100)),
        run_row(10, exit=told(exec_ns=5, wait_ns=2, cycles=200), early_wait_ns=1),
    ]
    with scripted_agent(write_script(script_path, rows), "--root", str(stat_tree)) as agent:
        (load,), _ = loads_of(agent, ["/bin/true"], 2)
    assert (load["level"], load["scope"], load["tasks"], load["lost"]) == (3, "tree", 4, 0)
    assert (load["exec_ns"], load["wait_ns"], load["block_ns"]) == (9, 2, None)
    assert (load["cycles"], load["instructions"]) == (300, None)


def test_a_series_has_both_ends_of_its_record(script_path, stat_tree):
    with scripted_agent(write_script(script_path, [run_row(200)]), "--root", str(stat_tree)) as agent:
        _, events = loads_of(agent, ["/bin/true"], 1, detail="series")
    (series,) = [event for event in events if event["event"] == "series"]
    assert [row[0] for row in series["rows"]] == [0, 200 * MS]


def test_readings_are_dated_by_the_clock(script_path, stat_tree):
    script = write_script(script_path, [run_row(1)], step_ns=MS)
    with scripted_agent(script, "--root", str(stat_tree)) as agent:
        first = agent.ask("read", sources=["stat"], changes=True)["sources"]["stat"]
        second = agent.ask("read", sources=["stat"], changes=True)["sources"]["stat"]
    assert first["took_ns"] == second["took_ns"] == MS
    assert second["at_ns"] - first["at_ns"] == second["interval_ns"] == 2 * MS
    assert START_NS <= first["at_ns"] < START_NS + 10 * MS


def test_the_journal_is_dated_by_the_clock(script_path, tmp_path):
    tree = laptop(tmp_path / "tree")
    with scripted_agent(write_script(script_path, [run_row(10)]), "--root", str(tree)) as agent:
        held = agent.ask("hold", settings={"swappiness": 10})
        status = agent.ask("status")
        released = agent.ask("release")
    assert (held["event"], held["took_ns"]) == ("done", 0)
    assert status["journal"]["at"] == UNIX_NS // 1_000_000_000
    assert released["unsettled"] == []


def test_the_greeting_says_whether_figures_are_scripted(script_path, agent):
    assert "scripted" not in agent.greeting
    with scripted_agent(write_script(script_path, [run_row(10)])) as scripted:
        assert scripted.greeting["scripted"] is True
        assert scripted.greeting["columns"] == agent.greeting["columns"]


@pytest.mark.parametrize(
    ("request_name", "fields"),
    [
        ("hold", {"settings": {"swappiness": 10}}),
        ("restore", {}),
        ("restore", {"force": True}),
        ("healthy", {}),
    ],
)
def test_no_request_changes_settings_of_the_real_machine(script_path, request_name, fields):
    with scripted_agent(write_script(script_path, [run_row(10)])) as agent:
        refused = agent.ask(request_name, **fields)
    assert (refused["event"], refused["kind"]) == ("error", "refused")
    assert "scripted clock" in refused["message"]


def test_a_block_with_settings_of_the_real_machine_is_refused(script_path):
    with scripted_agent(write_script(script_path, [run_row(10)])) as agent:
        assert agent.define("/bin/true", settings={"swappiness": 10})["event"] == "done"
        refused = agent.ask("measure", first=0, steps=[[0, 0, 0, 0]])
        planned = agent.ask("plan", settings={"swappiness": 10})
    assert (refused["event"], refused["kind"]) == ("error", "refused")
    assert planned["event"] == "done", "what would be written can be seen"


def test_settings_of_the_program_alone_are_taken(script_path):
    with scripted_agent(write_script(script_path, [run_row(10)])) as agent:
        (run,), _ = agent.run(*sh("[ $(nice) = 5 ]"), settings={"nice": 5})
    assert (run["outcome"], run["wall_ns"]) == ("ok", 10 * MS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot be read"),
        ("{", "cannot be understood"),
        ('{"runs": []}', "list of runs"),
        ('{"runs": [[{"wall_ns": 5}]]}', "wall_ns"),
        ('{"runs": [[{"exit": {"level": 1, "scope": "tree", "counts": {"heat": 5}}}]]}', "heat"),
    ],
)
def test_an_unusable_script_ends_the_agent_before_its_greeting(script_path, text, words):
    if text is not None:
        script_path.write_text(text)
    command = [agent_path(), "serve", "--script", str(script_path)]
    ended = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (3, "")
    assert words in ended.stderr
    assert str(script_path) in ended.stderr


def test_no_request_switches_a_script_on(agent, script_path):
    write_script(script_path, [run_row(10)])
    refused = agent.ask("open", protocol=agent.greeting["protocol"], directory="/", script=str(script_path))
    assert (refused["event"], refused["kind"]) == ("error", "protocol")


def test_becalm_refuses_an_agent_with_scripted_figures(script_path):
    write_script(script_path, [run_row(10)])
    process = subprocess.Popen(
        [agent_path(), "serve", "--script", str(script_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with pytest.raises(MachineError, match="figures come from a test"):
        AgentHost("local", ProcessLink(process), Access())
    assert process.poll() is not None, "it has ended"


def test_a_comparison_has_exact_figures(script_path, monkeypatch, store):
    slow, fast = ([run_row(ms, user_ns=MS) for ms in times] for times in ((40, 42, 44), (20, 21, 22)))
    scripted_becalm(monkeypatch, write_script(script_path, slow, fast))
    verdict = becalm.compare([["/bin/true"], ["/bin/false"]], expect=None, runs=12, warmup=0)
    with Store.open(store) as opened:
        runs = list(opened.runs(verdict.study))
    for workload, times in enumerate(((40, 42, 44), (20, 21, 22))):
        walls = [run.wall_ns for run in runs if run.workload == workload]
        assert walls == [times[place % 3] * MS for place in range(12)]
    assert {run.user_ns for run in runs} == {MS}
    assert [summary.min_ns for summary in verdict.summaries] == [40 * MS, 20 * MS]


def test_agents_with_the_same_script_report_the_same(script_path):
    write_script(script_path, [run_row(10), run_row(11)])

    def report():
        agent = Agent("--script", str(script_path))
        runs, _ = agent.run("/bin/true", steps=4)
        agent.close()
        return runs

    assert report() == report()
