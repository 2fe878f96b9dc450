"""Progress of a study of settings: a line for each question in a log, a few lines on a terminal."""

import contextlib
import importlib
import io

import click
import pytest
from msgspec.structs import replace
from rich.console import Console
from rich.live import Live

from becalm.cli.output import OutputForm
from becalm.nouns.stopping_rule import StoppingRule
from becalm.report import progress
from becalm.report.progress import Display, Lines
from becalm.results.progress import Progress, SearchProgress

LOOK = SearchProgress("look", "a first look at the machine as it is", 0, 0, 25, 1, {}, None, None)
RACE = SearchProgress(
    "search", "the best so far, again", 3_000_000_000, 25, 40, 3, {"aslr": "off", "nice": -20}, 0.01, 0.04
)


def shown(parts, width=100):
    out = Console(file=io.StringIO(), width=width)
    out.print(parts)
    return out.file.getvalue()


def test_a_log_has_a_line_a_question_and_the_best_only_when_it_is_another():
    out = Console(file=io.StringIO(), width=400)
    lines = Lines(out, clock=lambda: 0.0)
    for state in (LOOK, RACE, replace(RACE, spread=0.02), replace(RACE, best={"aslr": "off"}), replace(RACE, best={})):
        lines.searching(state)
    lines.close()
    message = out.file.getvalue().splitlines()
    assert message[0] == "Looking: a first look at the machine as it is"
    assert message[1].startswith("Searching: the best so far, again, 3 settings in turn; baseline: spread 4")
    assert message[1].endswith("aslr=off, nice=-20")
    assert ["(seen: " in line for line in message] == [False, True, False, True, False]


@pytest.mark.parametrize("unknown", [None, float("inf"), float("nan")])
def test_spreads_that_are_not_known_are_not_shown(unknown):
    out = Console(file=io.StringIO(), width=400)
    Lines(out, clock=lambda: 0.0).searching(replace(RACE, spread=unknown, baseline=unknown))
    assert "%" not in out.file.getvalue()
    assert "aslr=off" in out.file.getvalue()


@pytest.mark.parametrize("width", [30, 60, 100])
def test_a_terminal_has_few_lines_that_fit(width):
    display = Display(Live(console=Console(file=io.StringIO(), width=width)), clock=lambda: 0.0)
    display.searching(replace(RACE, best={f"knob-{number}": "on" for number in range(30)}))
    for done in (25, 30, 40, 400):
        display.running(done)
        lines = shown(display.draw(), width).splitlines()
        assert len(lines) <= 6
        assert all(len(line.rstrip()) <= width for line in lines)
    assert lines[0].startswith("Searching: the best so far")


def test_runs_that_nobody_planned_are_no_division_by_zero():
    display = Display(Live(console=Console(file=io.StringIO())), clock=lambda: 0.0)
    for planned in (None, 25, 0):
        display.searching(replace(RACE, planned=planned))
        display.running(25)
        assert "25 runs" in shown(display.draw())


def test_the_time_that_is_left_does_not_grow_while_no_run_ends():
    """A machine that restarts, or is lost, is waited for: what is left takes as long as before."""
    now = [0.0]
    shown = Console(file=io.StringIO(), width=100)
    display = Display(Live(console=shown), clock=lambda: now[0])
    display.started(1, ["p"], StoppingRule())
    display.searching(replace(RACE, runs=0, planned=30))
    now[0] = 20.0
    display.running(10)

    def left():
        with shown.capture() as text:
            shown.print(display.draw())
        return text.get()

    assert "about 40.0 s left of this step" in left()
    now[0] = 300.0
    assert "about 40.0 s left of this step" in left()


@pytest.mark.parametrize("verb", ["run", "clock", "load"])
def test_a_long_run_is_limited_by_an_option_that_the_command_has(verb):
    """The hint names --timeout where there is one."""
    command = importlib.import_module(f"becalm.cli.{verb}").__dict__[f"command_{verb}"]
    has = any(param.name == "timeout" for param in command.params)
    assert has == (verb == "run")
    seen = []
    with click.Context(command), pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "listener", lambda **how: contextlib.nullcontext(seen.append(how)))
        with OutputForm.of({}).listener():
            pass
    assert seen[0]["limits"] == has
    now = [0.0]
    watch = progress.Watch(lambda: now[0], has)
    watch.started(StoppingRule(budget_ns=10**9))
    now[0] = 100.0
    assert watch.hint().endswith("what is finished; --timeout limits such runs." if has else "what is finished.")


def test_a_log_does_not_repeat_a_line():
    out = Console(file=io.StringIO(), width=400)
    times = iter(range(0, 1000, 60))
    lines = Lines(out, clock=lambda: next(times))
    for rounds in (2, 3, 3, 3, 4):
        lines.progressed(Progress(7_000_000_000, rounds, 2 * rounds, 0.5, None))
    lines.close()
    assert out.file.getvalue().splitlines() == [f"{rounds} rounds, 7.0 s" for rounds in (2, 3, 4)]
