"""The sentence of a simulation."""

from __future__ import annotations

from becalm.results.simulate import Simulation
from becalm.results.simulate_measured import MeasuredPrograms
from becalm.wording.numbers import counted, duration


def sentence(simulation: Simulation) -> str:
    """Return the sentence about the simulated time and the messages per second."""
    first, last = simulation.runs[0], simulation.runs[-1]
    chosen = ", ".join(f"{name}={value}" for name, value in simulation.settings.values)
    under = f" with {chosen}" if chosen else ""
    where = f"on {simulation.host}{under}"
    if not last.finished:
        ended = f"{last.tasks_ended} of {counted(last.tasks, 'task')} had ended"
        return f"{simulation.program} {where} was stopped after {duration(last.end_ns)} of simulated time: {ended}."
    seeds = counted(len(simulation.runs), "seed")
    if simulation.spread is None:
        spread = ""
    elif simulation.spread == 0.0:
        spread = f" with each of {seeds} (a host such as sim:eevdf?jitter=0.02 makes them differ)"
    else:
        spread = f" on average of {seeds} ({100 * simulation.spread:.2f} % spread)"
    rate = f", {first.messages / simulation.end_ns * 1e9:,.0f} messages a second" if first.messages else ""
    return (
        f"{simulation.program} {where} takes {duration(simulation.end_ns)}{spread}: "
        f"{counted(first.tasks, 'task')}{rate}."
    )


def progress(now_ns: int, ended: float) -> str:
    """Return the line about the progress, with what Ctrl-C does."""
    return (
        f"{duration(now_ns)} simulated, {100 * ended:.0f} % of the tasks have ended; Ctrl-C shows what there is by then"
    )


def dropped(count: int, turns: int) -> str:
    """Return the sentence about turns that a trace or a plot leaves out."""
    return f"It has the first {counted(turns, 'turn')}; {counted(count, 'turn')} later on are left out."


def profile(programs: MeasuredPrograms, path: str) -> str:
    """Return the speeds of programs alone and next to each other, with how to use the file."""
    lines = []
    for row in programs.programs:
        speeds = (f"{100 * speed:.0f} % next to {name}" for name, speed in row.alongside.items())
        alone = row.solo[len(row.solo) // 2]
        lines.append(f"{row.name}: {duration(alone)} alone, {row.busy:.2g} CPUs busy; its speed {', '.join(speeds)}.")
    return "\n".join([*lines, f"Play it: becalm simulate -- {path} (count = 8 in it makes eight copies of a program)"])
