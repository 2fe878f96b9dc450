"""`becalm simulate`."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

import becalm
from becalm.cli import options, output
from becalm.cli.echo import echo
from becalm.errors import UsageError
from becalm.units import duration_ns
from becalm.wording.simulate import dropped, profile
from becalm.wording.simulate_calibration import sentence as calibrated


@click.command("simulate", context_settings={"ignore_unknown_options": False})
@click.option(
    "--host",
    default="sim:eevdf",
    show_default=True,
    help="Scheduler: sim:cfs, or sim:eevdf?cpus=4&hz=1000&jitter=0.02.",
)
@click.option(
    "--set", "settings", type=options.Setting(), multiple=True, help="Setting of the scheduler, as in `becalm knobs`."
)
@click.option(
    "--seeds", default=1, show_default=True, metavar="N", help="Number of simulations, each with another seed."
)
@click.option("--until", type=options.CheckedText("until", duration_ns), help="Stop after this simulated time: 10s.")
@click.option("--trace", metavar="FILE", help="Write a Perfetto trace of the first simulation.")
@click.option("--calibrate", metavar="HOST", help="Fit the costs of --host to runs of hackbench on a real host.")
@click.option(
    "--validate", metavar="HOST", help="Calibrate, and test the predictions for other sizes, up to 20 groups."
)
@click.option("--measure", metavar="HOST", help="Measure programs alone and co-running on a real host, for --save.")
@click.option("--save", metavar="FILE.toml", help="With --measure: write the workload for simulations.")
@click.option(
    "--loops",
    default=100,
    show_default=True,
    metavar="N",
    help="Messages per pair of hackbench tasks.",
)
@click.option("--budget", metavar="TIME", help="Time budget for runs on a real host: 5min.")
@click.option("--runs", default=8, show_default=True, metavar="N", help="Runs per size or program on a real host.")
@output.options
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command_simulate(
    command: tuple[str, ...],
    calibrate: str | None,
    validate: str | None,
    measure: str | None,
    save: str | None,
    loops: int,
    runs: int,
    budget: str | None,
    **keywords: Any,
) -> None:
    """Run a workload under a simulated scheduler (docs/how-to/simulate.md).

    \b
    becalm simulate -- hackbench -g 20 -l 1000
    becalm simulate --host 'sim:cfs?cpus=4' --set sched_nr_migrate=8 -- hackbench
    becalm simulate --trace trace.json --report page.html -- clients.toml
    becalm simulate --host sim:cfs --validate guest:6.1
    becalm simulate --measure local --save x.toml -- 'xz -c FILE' 'gzip -c FILE'
    """
    if (measure is None) != (save is None):
        raise UsageError("--measure HOST and --save FILE.toml belong together.")
    if len([host for host in (measure, calibrate, validate) if host]) > 1:
        raise UsageError("--measure, --calibrate and --validate contradict each other. Leave all but one out.")
    out = output.OutputForm.of(keywords)
    if (measure or calibrate or validate) and (out.markdown or out.report is not None):
        raise UsageError("--markdown and --report are for simulations. Use --json here.")
    if measure is not None:
        _refuse_unused("--measure", "loops", "budget")
        programs = becalm.measure_programs(command, host=measure, save=str(save), runs=runs, say=output.warned)
        _show(out, programs, profile(programs, str(save)))
    elif calibrate or validate:
        if command:
            raise UsageError("--calibrate and --validate run hackbench. Leave the command out.")
        chosen = {"validate": bool(validate), "loops": loops, "runs": runs, "budget": budget}
        _calibrate(calibrate or validate or "", keywords["host"], chosen, out)
    else:
        _refuse_unused("A simulation", "loops", "runs", "budget")
        _simulate(command, keywords, out)


def _refuse_unused(subject: str, *names: str) -> None:
    """Raise UsageError for an option that has no effect here."""
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise UsageError(f"{subject} does nothing with --{name}. Leave it out.")


def _simulate(command: tuple[str, ...], chosen: dict[str, Any], out: output.OutputForm) -> None:
    if not command:
        raise UsageError("Which workload? For example: becalm simulate -- hackbench -g 5")
    from becalm.report.simulate_progress import progress_of_simulation

    chosen["settings"] = options.once(chosen["settings"])
    lines = not (out.as_json or out.markdown)
    with progress_of_simulation(quiet=out.quiet, lines=lines, plain=out.plain) as progress:
        simulation = becalm.simulate(
            output.words(command), timeline=out.report is not None, progress=progress, **chosen
        )
    out.show(simulation)
    if chosen["trace"]:
        echo(f"Trace: {chosen['trace']} (open it in ui.perfetto.dev)", err=True)
        if simulation.timeline is not None and simulation.timeline.dropped:
            output.warned(dropped(simulation.timeline.dropped, len(simulation.timeline.spans)))
    out.leave(simulation)


def _calibrate(host: str, simulator: str, chosen: dict[str, Any], out: output.OutputForm) -> None:
    calibration = becalm.calibrate_simulation(host, simulator=simulator, say=output.warned, **chosen)
    from becalm.report import simulate

    table = simulate.calibration_on_terminal(calibration)
    _show(out, calibration, calibrated(calibration) if out.quiet else table)
    out.leave(calibration)


def _show(out: output.OutputForm, result: Any, renderable: Any) -> None:
    """Print a measurement as JSON or on the terminal."""
    if out.as_json:
        output.print_result(result)
    else:
        from becalm.report.terminal import console

        console(plain=out.plain).print(renderable)
