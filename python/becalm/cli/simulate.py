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
    "--host", default="sim:eevdf", show_default=True, help="sim:cfs or sim:eevdf: sim:eevdf?cpus=4&hz=1000&jitter=0.02"
)
@click.option("--set", "settings", type=options.Setting(), multiple=True, help="A knob, as `becalm knobs` has it.")
@click.option("--seeds", default=1, show_default=True, metavar="N", help="So many simulations with different seeds.")
@click.option("--until", type=options.CheckedText("until", duration_ns), help="Stop after so much simulated time: 10s.")
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
@click.option("--budget", metavar="TIME", help="No further run on a real host after so long: 5min.")
@click.option("--runs", default=8, show_default=True, metavar="N", help="Runs of each size or program on a real host.")
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
    if len([each for each in (measure, calibrate, validate) if each]) > 1:
        raise UsageError("--measure, --calibrate and --validate run different things on a real host: one of them.")
    out = output.OutputForm.of(given)
    if (measure or calibrate or validate) and (out.markdown or out.report is not None):
        raise UsageError("--markdown and --report are of simulations. Here there is --json.")
    if measure is not None:
        _refuse_given("--measure", "loops", "budget")
        programs = becalm.measure_programs(command, host=measure, save=str(save), runs=runs, say=output.warned)
        _show(out, "profile", programs.to_json(), profile(programs, str(save)))
    elif calibrate or validate:
        if command:
            raise UsageError("--calibrate and --validate run hackbench themselves: one of them, and no command.")
        chosen = {"validate": bool(validate), "loops": loops, "runs": runs, "budget": budget}
        _calibrate(calibrate or validate or "", given["host"], chosen, out)
    else:
        _refuse_given("A simulation", "loops", "runs", "budget")
        _simulate(command, given, out)


def _refuse_given(what: str, *names: str) -> None:
    """Raise UsageError for an option that has no effect here."""
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise UsageError(f"{what} does nothing with --{name}. Leave it out.")


def _simulate(command: tuple[str, ...], chosen: dict[str, Any], out: output.OutputForm) -> None:
    if not command:
        raise UsageError("What is to be simulated? For example: becalm simulate -- hackbench -g 5")
    from becalm.report.simulate_progress import progress_of_simulation

    chosen["settings"] = options.once(chosen["settings"])
    lines = not (out.as_json or out.markdown)
    with progress_of_simulation(quiet=out.quiet, lines=lines, plain=out.plain) as tolds:
        found = becalm.simulate(output.words(command), timeline=out.report is not None, progress=tolds, **chosen)
    out.show(found)
    if chosen["trace"]:
        echo(f"Trace: {chosen['trace']} (open it in ui.perfetto.dev)", err=True)
        if found.timeline is not None and found.timeline.dropped:
            output.warned(dropped(found.timeline.dropped, len(found.timeline.spans)))
    out.leave(found)


def _calibrate(host: str, simulator: str, chosen: dict[str, Any], out: output.OutputForm) -> None:
    calibration = becalm.calibrate_simulation(host, simulator=simulator, say=output.warned, **chosen)
    from becalm.report import simulate

    shown = simulate.calibration_on_terminal(calibration)
    _show(out, "calibration", calibration.to_json(), calibrated(calibration) if out.quiet else shown)
    out.leave(calibration)


def _show(out: output.OutputForm, kind: str, value: dict[str, Any], shown: Any) -> None:
    """Print what was measured; it has neither Markdown nor pages."""
    if out.as_json:
        output.print_json(kind, value)
    else:
        from becalm.report.terminal import console

        console(plain=out.plain).print(shown)
