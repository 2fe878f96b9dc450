"""`becalm list`, `show`, `export`, `import`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from becalm.cli import options
from becalm.errors import UsageError

KINDS = ("run", "compare", "tune", "watch", "survey", "suite", "explain", "import")


@click.command("list")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many, newest first.")
@click.option("--all", "everything", is_flag=True, help="All of them.")
@click.option("--kind", type=click.Choice(KINDS), help="Only those of one kind.")
@options.store
@options.as_json
@options.plain
def command_list(limit: int, everything: bool, kind: str | None, store: str | None, as_json: bool, plain: bool) -> None:
    """List what was measured, newest first.

    \b
    becalm list
    becalm list --all --kind compare
    """
    from becalm.verbs.records import list_studies
    from becalm.wording.measurement import recovered

    found = list_studies(store, limit=None if everything else limit, kind=kind)
    for each in found.recovered:
        _warned(recovered(each.study_id, each.runs, each.aside))
    if as_json:
        click.echo(json.dumps(_listing(found), indent=2))
        return
    from becalm.report import terminal

    if not found.studies:
        click.echo(f"The store {found.store} is empty. Measure something: becalm run -- true")
        return
    terminal.console(plain=plain).print(terminal.listing(found.studies))


def _warned(sentence: str) -> None:
    click.echo(f"becalm: {sentence}", err=True)


def _header(kind: str) -> dict[str, Any]:
    from becalm._version import VERSION
    from becalm.nouns.verdict import SCHEMA

    return {"becalm": VERSION, "schema": SCHEMA, "kind": kind}


def _listing(found: Any) -> dict[str, Any]:
    return {
        **_header("list"),
        "store": found.store,
        "studies": [
            {
                "study": each.number,
                "kind": each.study.kind,
                "title": each.study.title,
                "created_ns": each.created_ns,
                "runs": each.runs,
                "host": each.study.host,
                "environment": each.environment,
                "programs": [workload.name for workload in each.study.workloads],
            }
            for each in found.studies
        ],
    }


@click.command("show")
@click.argument("study", default="last")
@click.option("--together", is_flag=True, help="With all hosts that were measured together with it.")
@options.store
@options.as_json
@options.plain
def command_show(study: str, together: bool, store: str | None, as_json: bool, plain: bool) -> None:
    """Show a study again: its number, or `last`.

    \b
    becalm show
    becalm show 12 --json
    becalm show 12 --together
    """
    if together:
        from becalm.cli.show import regrouped

        regrouped(study, store, as_json=as_json, plain=plain, warned=_warned)
        return
    from becalm.load.run_report import Watched
    from becalm.nouns.rating import Ratings
    from becalm.nouns.tune_verdict import TuneVerdict
    from becalm.study.review import review
    from becalm.verbs.records import show

    document = show(study, store, warned=_warned)
    verdict = review(document)
    if as_json:
        from becalm.nouns.run import COLUMNS
        from becalm.report.formats.becalm_json import loads_to_json

        value = verdict.to_json()
        if isinstance(verdict, Ratings):
            # As `becalm suite --json`, where `runs` is the number of rounds; `becalm export` has the runs.
            click.echo(json.dumps(value, indent=2, allow_nan=False))
            return
        value["runs"] = {"columns": list(COLUMNS), "rows": [list(run) for run in document.runs]}
        value["loads"] = loads_to_json(document.loads)
        click.echo(json.dumps(value, indent=2, allow_nan=False))
        return
    from becalm.report import terminal

    out = terminal.console(plain=plain)
    if isinstance(verdict, Watched):
        from becalm.report.watch.terminal import watched

        out.print(watched(verdict, plain=plain, columns=out.width))
        return
    if isinstance(verdict, TuneVerdict):
        from becalm.report.tune.terminal import steadiness

        out.print(steadiness(verdict, plain=plain))
        return
    if isinstance(verdict, Ratings):
        from becalm.report.suite import terminal as suite

        out.print(suite(verdict, plain=plain))
        return
    if document.environment == "unknown":
        out.print("Imported from another tool: machine, order and conditions of these runs are unknown.")
    out.print(terminal.verdict(verdict, plain=plain))


@click.command("export")
@click.argument("study", default="last")
@click.option("--format", "format_", help="json, csv, markdown, html, hyperfine or pyperf  [default: json].")
@click.option("--to", metavar="FILE", help="Write there [default: standard output].")
@click.option("--series", metavar="FILE", help="Write the load over time instead: .csv or .parquet.")
@options.store
@options.as_json
def command_export(
    study: str, format_: str | None, to: str | None, series: str | None, store: str | None, as_json: bool
) -> None:
    """Write a study (its number, or `last`) as a file of another kind.

    \b
    becalm export 12 --format csv --to runs.csv
    becalm export 12 --series load.parquet
    becalm export --format markdown | xclip
    """
    if as_json and format_ not in (None, "json"):
        raise UsageError(f"--json and --format {format_} contradict each other. Leave one out.")
    from becalm.verbs.records import export, export_series

    if series is not None:
        if as_json or format_ or to:
            raise UsageError("--series names its own file and format. Leave --format, --to and --json out.")
        click.echo(f"becalm: {export_series(series, study, store=store, warned=_warned)} samples in {series}", err=True)
        return
    text = export(study, format=format_ or "json", store=store, warned=_warned)
    if to is None:
        click.echo(text, nl=False)
        return
    try:
        Path(to).write_text(text)
    except OSError as error:
        raise click.ClickException(f"{to} cannot be written: {error.strerror}.") from error


@click.command("import")
@click.argument("files", nargs=-1, required=True)
@click.option("--study", metavar="NUMBER|last", help="The files are load of this study's time, written by sadf -j.")
@options.store
@options.as_json
def command_import(files: tuple[str, ...], study: str | None, store: str | None, as_json: bool) -> None:
    """Read runs of hyperfine, pyperf or another becalm (JSON, also gzipped) into the store.

    With --study: give runs that have no record of load the one that sysstat made meanwhile.

    \b
    hyperfine --export-json old.json './old input'
    becalm import old.json
    sadf -j /var/log/sysstat/sa21 -- -A > sa.json
    becalm import --study 12 sa.json
    """
    if study is not None:
        _import_load(files, study, store, as_json)
        return
    from becalm.verbs.records import import_file

    numbers = {file: list(import_file(file, store)) for file in files}
    if as_json:
        click.echo(json.dumps({**_header("import"), "studies": numbers}, indent=2))
        return
    for file, made in numbers.items():
        for number in made:
            click.echo(f"{file} is study {number} now. See it with: becalm show {number}")


def _import_load(files: tuple[str, ...], study: str, store: str | None, as_json: bool) -> None:
    from becalm.verbs.records import import_load

    if len(files) > 1:
        raise UsageError("One file at a time: a study has one record of load.")
    number, covered, total = import_load(files[0], study, store)
    if as_json:
        click.echo(json.dumps({**_header("import"), "study": number, "covered": covered, "runs": total}, indent=2))
        return
    click.echo(
        f"{covered} of the {total} runs of study {number} have a record of load now. "
        f"What it made of them: becalm explain {number}"
    )
