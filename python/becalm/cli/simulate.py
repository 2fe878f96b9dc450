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
from becalm.wording.simulation import dropped, profile


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
@click.option(
    "--measure", metavar="HOST", help="Measure programs alone and beside each other on a real host, for --save."
)
@click.option("--save", metavar="FILE.toml", help="Where --measure writes what `becalm simulate -- FILE.toml` plays.")
@click.option(
    "--loops",
    default=100,
    show_default=True,
    metavar="N",
    help="Messages of each pair of hackbench.",
)
@click.option("--budget", metavar="TIME", help="No further round on a real host after so long: 5min.")
@click.option("--runs", default=8, show_default=True, metavar="N", help="Runs of each size or program on a real host.")
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
    measure: str | None,
    save: str | None,
    loops: int,
    runs: int,
    budget: str | None,
    **given: Any,
) -> None:
    """Play a workload under a simulated scheduler (docs/how-to/simulate.md).

    \b
    becalm simulate -- hackbench -g 20 -l 1000
    becalm simulate --host 'sim:cfs?cpus=4' --set sched_latency_ns=24000000 -- hackbench -g 5
    becalm simulate --trace trace.json --report page.html -- clients.toml
    becalm simulate --host sim:cfs --validate guest:6.1
    becalm simulate --measure local --save programs.toml -- 'xz -9 -k -c FILE' 'gzip -9 -c FILE'
    """
    if (measure is None) != (save is None):
        raise UsageError("--measure HOST and --save FILE.toml belong together.")
    if measure is not None:
        if calibrate or validate:
            raise UsageError("--measure measures programs, --calibrate and --validate hackbench: one of them.")
        _measure(command, measure, str(save), runs, as_json)
        return
    if calibrate or validate:
        if command or (calibrate and validate):
            raise UsageError("--calibrate and --validate run hackbench themselves: one of them, and no command.")
        chosen = {"validate": bool(validate), "loops": loops, "runs": runs, "budget": budget}
        _calibrate(calibrate or validate or "", given["host"], chosen, as_json, plain)
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


def _calibrate(host: str, simulator: str, chosen: dict[str, Any], as_json: bool, plain: bool) -> None:
    found = becalm.calibrate_simulation(host, simulator=simulator, say=output.warned, **chosen)
    if as_json:
        output.print_json("calibration", found.to_json())
        return
    from becalm.report import simulation
    from becalm.report.terminal import console

    console(plain=plain).print(simulation.calibration_on_terminal(found))


def _measure(programs: tuple[str, ...], host: str, save: str, runs: int, as_json: bool) -> None:
    found = becalm.measure_programs(programs, host=host, save=save, runs=runs, say=output.warned)
    if as_json:
        output.print_json("profile", found.to_json())
    else:
        echo(profile(found, save))
