"""The parts of the benches that measure nothing: log of trials, intervals, pacing, the loop's arithmetic, filling."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scipy import stats

import all as all_benches
import campaign
import fill
import loop
import tools
from replay_rows import ROWS


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (5, 100), (3, 7), (20, 20)])
def test_clopper_pearson_is_the_exact_interval(hits: int, trials: int) -> None:
    expected = stats.binomtest(hits, trials).proportion_ci(0.95, method="exact")
    assert campaign.clopper_pearson(hits, trials) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_clopper_pearson_refuses_what_is_no_share() -> None:
    with pytest.raises(ValueError, match="11 of 10"):
        campaign.clopper_pearson(11, 10)


def test_a_log_is_continued_where_it_was_left(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "trials.jsonl"
    campaign.Log(path, {"seed": 1}).add({"index": 0})
    again = campaign.Log(path, {"seed": 1})
    again.add({"index": 1})
    assert [r["index"] for r in again.records] == [0, 1]
    assert [r["index"] for r in campaign.read_log(path)[1]] == [0, 1]


def test_a_line_cut_short_by_a_kill_costs_only_that_trial(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    campaign.Log(path, {"seed": 1}).add({"index": 0})
    with path.open("a") as file:
        file.write('{"index": 1, "to')
    campaign.Log(path, {"seed": 1}).add({"index": 2})
    assert [r["index"] for r in campaign.read_log(path)[1]] == [0, 2]


def test_a_log_of_another_configuration_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    campaign.Log(path, {"seed": 1, "budget": 4})
    before = path.read_bytes()
    with pytest.raises(SystemExit, match="another seed"):
        campaign.Log(path, {"seed": 2, "budget": 4})
    assert path.read_bytes() == before


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path) -> None:
    log = campaign.Log(tmp_path / "trials.jsonl", {})

    def interrupted() -> campaign.Record:
        raise KeyboardInterrupt

    def trials() -> Iterator[Callable[[], campaign.Record]]:
        yield lambda: {"index": 0}
        yield interrupted
        yield lambda: {"index": 2}

    campaign.work_off(trials(), log, 3)
    assert campaign.read_log(log.path)[1] == [{"index": 0}]


def test_the_machine_is_described_in_one_sentence() -> None:
    summary = campaign.describe(campaign.machine())
    assert "kernel" in summary
    assert "\n" not in summary


def test_jump_ahead_equals_stepping() -> None:
    state = 1
    for count in range(200):
        assert loop.state_after(count) == state
        state = (state * loop.MULTIPLIER + loop.INCREMENT) & loop.MASK


def test_differences_are_exact_or_refused() -> None:
    assert loop.longer(18_329_000, 0.003) - 18_329_000 == 54_987
    assert loop.longer(18_329_000, 0.0) == 18_329_000
    with pytest.raises(ValueError, match="exactly"):
        loop.longer(1001, 0.003)


def test_every_count_is_written_with_equally_many_digits() -> None:
    program = loop.Loop(Path("loop"))
    assert len(program.argv(7)[1]) == len(program.argv(19_000_000)[1])


def test_pace_fills_the_time_it_is_given() -> None:
    pace = tools.Pace((4, 0.3 + 4 * 0.02), (24, 0.3 + 24 * 0.02))
    assert pace.each == pytest.approx(0.02)
    assert pace.runs(2.31) == 100
    assert pace.runs(0.1, least=3) == 3


def test_pace_follows_a_machine_that_slows_down() -> None:
    pace = tools.Pace((4, 0.08), (24, 0.48))
    for _ in range(20):
        pace.correct(100, 100 * 0.04)
    assert pace.each == pytest.approx(0.04, rel=0.01)


def test_pace_refuses_nonsense() -> None:
    with pytest.raises(SystemExit, match="too busy"):
        tools.Pace((4, 1.0), (24, 0.5))


@pytest.mark.parametrize(("shift", "answer"), [(1.0, 1), (-1.0, -1), (0.0, 0)])
def test_welch_has_the_sign_of_the_second_program(shift: float, answer: int) -> None:
    first = [10.0, 10.1, 9.9, 10.05, 9.95, 10.02]
    reading = tools.welch(first, [value + shift for value in first])
    assert reading.answer == answer
    assert reading.estimate == pytest.approx(shift / 10.0, rel=0.01)


def test_pyperf_values_leave_out_warmups_and_calibration(tmp_path: Path) -> None:
    file = tmp_path / "first.json"
    runs = [{"warmups": [[1, 9.0]]}, {"warmups": [[1, 8.0]], "values": [1.0, 2.0]}, {"values": [3.0]}]
    file.write_text(json.dumps({"benchmarks": [{"runs": runs}]}))
    assert tools.pyperf_values(file) == [1.0, 2.0, 3.0]


def test_an_unknown_tool_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="'perf'"):
        tools.make_tools(["auto", "perf"], tmp_path)


def test_filling_replaces_one_block_and_nothing_else() -> None:
    text = "a\n<!-- aa -->\nold\n<!-- /aa -->\nb\n<!-- scale -->\nkept\n<!-- /scale -->\n"
    filled = fill.fill(text, "aa", r"new \1")
    assert filled == text.replace("old", r"new \1")
    assert fill.fill(filled, "aa", r"new \1") == filled


def test_filling_a_document_without_the_block_is_refused() -> None:
    with pytest.raises(SystemExit, match="0 blocks"):
        fill.fill("nothing here", "aa", "new")


def test_the_document_has_a_block_for_every_bench() -> None:
    for name, place in fill.BENCHES.items():
        text = (fill.DOCS / place).read_text(encoding="utf-8")
        for block in [f"{name}_{row}" for row in ROWS] if name == "replay" else [name]:
            fill.fill(text, block, "")


def test_the_readme_has_a_block_for_each_summary() -> None:
    for name, place in fill.SUMMARIES.items():
        fill.fill((fill.DOCS / place).read_text(encoding="utf-8"), f"{name}_summary", "")
        assert name in fill.BENCHES


def test_every_bench_is_run_for_the_documents_and_fills_a_block_that_is_there() -> None:
    folder = Path(fill.__file__).parent
    rows = {bench.name: bench for bench in all_benches.TABLE}
    helpers = {"all", "campaign", "disturbance", "fill", "kill_effects", "kill_victims", "loop", "model_tree", "tools"}
    helpers |= {"simulate_real_report", "simulate_real_settings"}
    # It needs data that others recorded, which a person names.
    by_hand = {"replay"}
    assert set(rows) == {path.stem for path in folder.glob("*.py")} - helpers - by_hand
    assert sum(bench.minutes for bench in all_benches.chosen_benches([])) <= all_benches.LIMIT_MINUTES
    for name, row in rows.items():
        ways = [row.document is not None, name in fill.BENCHES, row.printed]
        assert ways.count(True) == 1, "its result comes into a document in one way, or is printed"
        assert '"--quick"' in (folder / f"{name}.py").read_text(encoding="utf-8")


def test_a_result_names_the_command_that_made_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "argv", ["/anywhere/bench/aa.py", "--budget", "2", "--programs", "two words"])
    message = "python bench/aa.py --budget 2 --programs 'two words'"
    assert campaign.Log(tmp_path / "trials.jsonl", {}).header["command"] == message
    monkeypatch.setattr(sys, "argv", ["aa.py", "--report"])
    assert campaign.Log(tmp_path / "trials.jsonl", {}).header["command"] == message, "not the command that looks at it"
    document = tmp_path / "page.md"
    document.write_text("before\n<!-- aa -->\nold\n<!-- /aa -->\nafter\n")
    fill.put(document, "aa", "new")
    assert "python bench/aa.py --report" in document.read_text()
    assert document.read_text().endswith("new\n<!-- /aa -->\nafter\n")


def test_a_bench_that_is_none_is_refused() -> None:
    assert [bench.name for bench in all_benches.chosen_benches(["scale", "startup"])] == ["startup", "scale"]
    with pytest.raises(SystemExit, match="There is no bench 'speed'"):
        all_benches.chosen_benches(["speed"])


def test_documents_have_results_without_goals():
    text = (
        "- 39 ms, wanted at most 52: met\n- share 0.1 %: not met\n| wanted, a: met | b |\nN = 5, published 4: not met"
    )
    assert fill.without_goals(text) == "- 39 ms\n- share 0.1 %\n| wanted, a: met | b |\nN = 5, published 4"
    for document in sorted(fill.DOCS.rglob("*.md")):
        page = document.read_text(encoding="utf-8")
        assert fill.without_goals(page) == page, document
