"""`becalm list`, `show`, `export`, `import`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.cli.echo import echo
from becalm.cli.shared_options import STORE, T_DIFF
from becalm.cli.workflow_commands import Guarded
from becalm.errors import UsageError
from becalm.report.formats import FORMATS
from becalm.units import join_names

MANY = 3
"""The largest number of studies of a file that are named one by one."""


@click.command("list")
@click.option(
    "--limit", type=options.Number(True, 1), default=20, show_default=True, help="Most studies to list, newest first."
)
@click.option("--all", "everything", is_flag=True, help="List all studies.")
@click.option(
    "--kind", type=click.Choice(list(becalm.kinds())), metavar="KIND", help="Only studies of this kind: run, tune, …"
)
@STORE
@output.as_json
@output.plain
def command_list(limit: int, everything: bool, kind: str | None, store: str | None, as_json: bool, plain: bool) -> None:
    """List studies, newest first.

    \b
    becalm list
    becalm list --all --kind compare
    """
    from becalm.wording.damage import recovered

    listing = becalm.list_studies(store, limit=None if everything else limit, kind=kind, outcomes=True)
    for recovery in listing.recovered:
        output.warned(recovered(recovery.study_id, recovery.runs, recovery.aside))
    if as_json:
        output.print_json("list", _listing(listing))
        return
    from becalm.report import terminal

    if not listing.studies and kind is not None:
        echo(f"The store {listing.store} has no study of the kind {kind}.")
        return
    if not listing.studies:
        echo(f"The store {listing.store} is empty. Measure something: becalm run -- true")
        return
    terminal.console(plain=plain).print(terminal.listing(listing.studies, listing.outcomes))


def _listing(listing: Any) -> dict[str, Any]:
    from becalm.wording.damage import damage

    return {
        "store": listing.store,
        "studies": [
            {
                "study": study.number,
                "kind": study.study.kind,
                "title": study.study.title,
                "created_ns": study.created_ns,
                "runs": study.runs,
                "host": study.study.host,
                "environment": study.environment,
                "programs": [workload.name for workload in study.study.workloads],
                "damaged": damage(study),
                "state": listing.outcomes[study.number].state,
                "result": listing.outcomes[study.number].result,
            }
            for study in listing.studies
        ],
    }


@click.command("delete")
@click.argument("studies", nargs=-1, required=True, metavar="NUMBER|FIRST..LAST|last …")
@click.option("--yes", "-y", is_flag=True, help="Delete without asking.")
@STORE
@output.as_json
def command_delete(studies: tuple[str, ...], yes: bool, store: str | None, as_json: bool) -> None:
    """Delete studies with all their runs, for good. `becalm export` saves a study before.

    The file of the store shrinks once a tenth of it is free and nothing is being measured.

    \b
    becalm delete 12
    becalm delete 3..7 9 --yes
    """
    from becalm.report import terminal
    from becalm.wording.numbers import counted

    chosen = becalm.delete(studies, store, dry_run=True)
    count = {1: "study", 2: "studies"}[min(len(chosen), 2)]
    if not yes:
        terminal.console(stderr=True).print(terminal.listing(chosen))
        if not sys.stdin.isatty():
            raise UsageError(f"{len(chosen)} {count} would be deleted. Nobody can be asked here: give --yes.")
        if not click.confirm(f"Delete {len(chosen)} {count}?", err=True):
            echo("Nothing was deleted.")
            return
    becalm.delete([study.number for study in chosen], store)
    if as_json:
        numbers = [study.number for study in chosen]
        output.print_json("delete", {"studies": numbers, "runs": sum(study.runs for study in chosen)})
        return
    echo(f"Deleted {len(chosen)} {count} with {counted(sum(study.runs for study in chosen), 'run')}.")


@click.command("show")
@click.argument("studies", nargs=-1, metavar="[STUDY|FILE.regions...]")
@click.option("--together", is_flag=True, help="Include all hosts that were measured together with it.")
@STORE
@output.options
@output.sort
def command_show(studies: tuple[str, ...], together: bool, store: str | None, **keywords: Any) -> None:
    """Show a study again (its number, or `last`), or files of timed regions side by side, without storing them.

    \b
    becalm show
    becalm show 12 --json
    becalm show 12 --together
    becalm show parse.*.regions
    """
    out = output.OutputForm.of(keywords)
    if any(Path(study).is_file() and not study.isdigit() for study in studies):
        out.show(becalm.show_regions(studies))
        return
    if len(studies) > 1:
        raise UsageError("One study is shown at a time; several files of timed regions are shown side by side.")
    study = studies[0] if studies else "last"
    if together:
        out.show(becalm.show_together(study, store, warned=output.warned), store)
        return
    document = becalm.show(study, store, warned=output.warned)
    if out.as_json:
        output.print_result(document)
        return
    out.show(document.verdict)


@click.command("export")
@click.argument("study", default="last")
@click.option("--format", "format_", help=f"{', '.join(row.name for row in FORMATS)}.  [default: json]")
@click.option("--to", metavar="FILE", help="Write to this file.  [default: standard output]")
@click.option("--series", metavar="FILE", help="Write the load over time instead: .csv or .parquet.")
@options.raw
@output.overwrite
@STORE
@output.as_json
def command_export(
    study: str, format_: str | None, to: str | None, series: str | None, raw: bool, store: str | None, as_json: bool
) -> None:
    """Write a study (its number, or `last`) as a file of another kind.

    \b
    becalm export 12 --format csv --to runs.csv
    becalm export 12 --series load.parquet
    becalm export --format markdown | xclip
    """
    if as_json and format_ not in (None, "json"):
        raise UsageError(f"--json and --format {format_} contradict each other. Leave one out.")
    if series is not None:
        if as_json or format_ or to:
            raise UsageError("--series names its own file and format. Leave --format, --to and --json out.")
        output.warned(
            f"{becalm.export_series(series, study, raw=raw, store=store, warned=output.warned)} samples in {series}"
        )
        return
    if to is not None:
        becalm.target(to)
    text = becalm.export(study, format=format_ or "json", raw=raw, store=store, warned=output.warned)
    if to is None and (sys.stdout.isatty() or isinstance(sys.stdout, Guarded)):
        # A terminal, or the runner of a workflow, would interpret control characters in it.
        echo(text, nl=False)
        return
    # A file or a program gets names as they were measured, also those that are not UTF-8.
    data = text.encode("utf-8", "surrogateescape")
    if to is None:
        sys.stdout.buffer.write(data)
        return
    try:
        with becalm.writing(to) as file:
            file.write(data)
    except OSError as error:
        raise click.ClickException(f"{to} cannot be written: {error.strerror}.") from error


@click.command("import")
@click.argument("files", nargs=-1, required=True)
@click.option("--study", metavar="NUMBER|last", help="The files are the load during this study, by sadf -j.")
@click.option("--machine", metavar="NAME", help="With --study: machine of the record; with --project: its name.")
@click.option("--t-diff", metavar="TIME|FILE", help=T_DIFF)
@click.option("--project", metavar="NAME", help="Import into the history of this project (becalm history).")
@click.option("--commit", metavar="REV", help="Commit that was measured.  [default: the file's]")
@click.option("--date", help="Date of the commit, if no repository has it: 2026-11-28.")
@click.option("--branch", metavar="NAME", help="Branch of the commit.  [default: the file's]")
@click.option("--repository", metavar="DIR", help="Git repository.  [default: that of the working directory]")
@click.option("--alongside", metavar="NUMBER|last", help="Study whose record of load may explain outliers of regions.")
@STORE
@output.as_json
def command_import(
    files: tuple[str, ...],
    study: str | None,
    machine: str | None,
    t_diff: str | None,
    alongside: str | None,
    store: str | None,
    as_json: bool,
    **place: str | None,
) -> None:
    """Read runs of other tools or another becalm, or timed regions, into the store (docs/reference/formats.md).

    With --project, results become sessions of a project's history. Files of pyperformance, pytest-benchmark, Go and asv
    and CSV tables (commit, benchmark, value) name the commit.

    With --study, runs without a record of load get the record that sysstat made at that time.

    Files of timed regions are written by becalm-clock and becalm_regions.h (docs/how-to/regions.md).

    \b
    hyperfine --export-json old.json './old input'
    becalm import old.json
    becalm import .asv/results; becalm history
    becalm import --project parser --commit v1.2 benchmarks.json
    sadf -j /var/log/sysstat/sa21 -- -A > sa.json
    becalm import --study 12 sa.json
    becalm import --t-diff 5ns parse.regions
    """
    named = [f"--{name}" for name, value in place.items() if value is not None]
    if named and (study, t_diff, alongside) != (None, None, None):
        raise UsageError(f"{join_names(named)} is only for results in a history. Leave it out, or the other options.")
    if machine is not None and study is None and not named:
        raise UsageError("--machine is for records of sysstat and for histories: give --study or --project, too.")
    if t_diff is not None or alongside is not None:
        if study is not None:
            raise UsageError(
                "--study is for records of sysstat, --t-diff and --alongside for timed regions. Leave one out."
            )
        timed = {file: becalm.import_file(file, store, t_diff=t_diff, alongside=alongside) for file in files}
        _print_imported(timed, as_json, store)
        return
    if study is not None:
        _import_load(files, study, machine, store, as_json)
        return
    if named:
        place["machine"] = machine
    _print_imported({file: becalm.import_file(file, store, **place) for file in files}, as_json, store)


def _print_imported(imported: dict[str, becalm.Imported], as_json: bool, store: str | None) -> None:
    if as_json:
        known = {file: list(entry.known) for file, entry in imported.items() if entry.known}
        left_out = {
            file: [finding.kept() for finding in entry.left_out] for file, entry in imported.items() if entry.left_out
        }
        studies = {file: list(entry.studies) for file, entry in imported.items()}
        output.print_json("import", {"studies": studies, "known": known, "left_out": left_out})
        return
    # With many studies, no file has a line for each of its studies.
    listed = any(len(imported.studies) <= MANY for imported in imported.values())
    newest = becalm.list_studies(store, limit=sum(len(imported.studies) for imported in imported.values())).studies
    # A study of timed regions has no runs.
    runs = {row.number: f", {_runs(row.runs)}" for row in newest if listed and row.study.kind != "regions"}
    for file, entry in imported.items():
        for line in _import_lines(file, entry, runs):
            echo(line)


def _import_lines(file: str, imported: becalm.Imported, runs: Mapping[int, str]) -> Iterator[str]:
    """Yield a line for each study of an imported file, then one for each omission."""
    from becalm.wording.findings import sentence

    new = [number for number in imported.studies if number not in imported.known]
    if imported.project and new:
        count = "1 session" if len(new) == 1 else f"{len(new):,} sessions"
        yield f"{file}: imported as {count} of {imported.project}. Show them: becalm history {imported.project}"
    elif len(new) > MANY:
        yield f"{file}: imported as studies {new[0]} to {new[-1]}. List them: becalm list"
    else:
        for number in new:
            yield f"{file}: imported as study {number}{runs.get(number, '')}. Show it: becalm show {number}"
    if len(imported.known) > MANY:
        known, total = len(imported.known), len(imported.studies)
        yield f"{known} of the {total} studies in {file} were stored before; they did not change."
    else:
        for number in imported.known:
            yield f"{file} holds the same as study {number}, which did not change: becalm show {number}"
    yield from (sentence(finding.kind, {**finding.numbers, "of": file}) for finding in imported.left_out)


def _runs(count: int) -> str:
    return "with 1 run" if count == 1 else f"with {count:,} runs" if count else "without any run"


def _import_load(files: tuple[str, ...], study: str, machine: str | None, store: str | None, as_json: bool) -> None:
    if len(files) > 1:
        raise UsageError("One file at a time: a study has one record of load.")
    load = becalm.import_load(files[0], study, store, machine=machine)
    if as_json:
        output.print_result(load)
        return
    echo(f"{load.sentence} To see its effect on the runs: becalm explain {load.study}")
    for sentence in load.left_out:
        echo(f"• {sentence}")
