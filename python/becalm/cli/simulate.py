"""`becalm simulate`."""

from __future__ import annotations

import sys
from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.cli.echo import echo
from becalm.errors import UsageError
from becalm.units import duration_ns
from becalm.wording.simulation import dropped


@click.command("simulate", context_settings={"ignore_unknown_options": False})
@click.option(
    "--host", default="sim:eevdf", show_default=True, help="sim:cfs or sim:eevdf: sim:eevdf?cpus=4&hz=1000&jitter=0.02"
)
@click.option("--set", "settings", type=options.Setting(), multiple=True, help="A knob, as `becalm knobs` has it.")
@click.option("--seeds", default=1, show_default=True, metavar="N", help="So many simulations with different seeds.")
@click.option("--until", type=options.Checked("until", duration_ns), help="Stop after so much simulated time: 10s.")
@click.option("--trace", metavar="FILE", help="Who ran where, of the first one, for ui.perfetto.dev.")
@click.option("--calibrate", metavar="HOST", help="Fit the costs of --host to runs of hackbench on a real host.")
@click.option(
    "--validate", metavar="HOST", help="The same, and try how well they predict other sizes, up to 20 groups."
)
@click.option("--loops", default=100, show_default=True, metavar="N", help="Messages of each pair, for these two.")
@click.option("--runs", default=8, show_default=True, metavar="N", help="Runs of each size, for these two.")
@output.as_json
@output.plain
@output.report
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command_simulate(
    command: tuple[str, ...],
    as_json: bool,
    plain: bool,
    report: str | None,
    calibrate: str | None,
    validate: str | None,
    loops: int,
    runs: int,
    **given: Any,
) -> None:
    """Play a workload under a simulated scheduler (docs/how-to/simulate.md).

    \b
    becalm simulate -- hackbench -g 20 -l 1000
    becalm simulate --host 'sim:cfs?cpus=4' --set sched_latency_ns=24000000 -- hackbench -g 5
    becalm simulate --trace trace.json --report page.html -- clients.toml
    becalm simulate --host sim:cfs --validate guest:6.1
    """
    if calibrate or validate:
        if command or (calibrate and validate):
            raise UsageError("--calibrate and --validate run hackbench themselves: one of them, and no command.")
        _calibrate(calibrate or validate or "", given["host"], bool(validate), loops, runs, as_json, plain)
        return
    if not command:
        raise UsageError("What is to be simulated? For example: becalm simulate -- hackbench -g 5")
    given["settings"] = dict(given["settings"])
    written = None if report is None else output.checked(report)
    found = becalm.simulate(output.words(command), timeline=written is not None, **given)
    if as_json:
        output.print_json("simulate", found.to_json())
    else:
        from becalm.report import simulation
        from becalm.report.terminal import console

        console(plain=plain).print(simulation.on_terminal(found, plain=plain))
    if given["trace"]:
        echo(f"Trace: {given['trace']} (open it in ui.perfetto.dev)", err=True)
        if found.timeline is not None and found.timeline.dropped:
            output.warned(dropped(found.timeline.dropped, len(found.timeline.spans)))
    if written is not None:
        output.write(found, written)
    sys.exit(found.exit_code)


def _calibrate(host: str, simulator: str, validate: bool, loops: int, runs: int, as_json: bool, plain: bool) -> None:
    found = becalm.calibrate_simulation(
        host, simulator=simulator, validate=validate, loops=loops, runs=runs, say=output.warned
    )
    if as_json:
        output.print_json("calibration", found.to_json())
        return
    from becalm.report import simulation
    from becalm.report.terminal import console

    console(plain=plain).print(simulation.calibration_on_terminal(found))
