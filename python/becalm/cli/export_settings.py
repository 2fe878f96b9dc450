"""`becalm export-settings`."""

from __future__ import annotations

from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.cli.echo import echo
from becalm.errors import UsageError
from becalm.report.export_settings.forms import FORMS

HOST = click.option("--host", default="local", show_default=True, help="Machine that will get the settings.")


@click.command("export-settings")
@click.argument("profiles", nargs=-1, metavar="[PROFILE]...")
@click.option(
    "--set", "settings", type=options.Setting(), multiple=True, help="Setting to write, with or without a profile."
)
@click.option(
    "--format",
    "format_",
    type=click.Choice([form.name for form in FORMS]),
    help="Write only this format.  [default: the best one for each setting]",
)
@click.option("--to", metavar="DIR", help="Write the files into DIR, for you to review and install.")
@HOST
@options.one(becalm.SessionOptions, "sudo")
@options.one(becalm.SessionOptions, "root")
@options.one(becalm.SessionOptions, "store")
@output.options
def command_export_settings(
    profiles: tuple[str, ...],
    settings: tuple[tuple[str, str], ...],
    format_: str | None,
    to: str | None,
    host: str,
    sudo: bool,
    root: str | None,
    store: str | None,
    **keywords: Any,
) -> None:
    """Write settings as files that hold without becalm: sysctl, tmpfiles, systemd, tuned, GRUB.

    PROFILE is what `becalm apply` takes: a name, a file, or the number of a study. The comments of each file state
    what it sets and why, what was measured, how to install it, and how to undo it. Nothing is changed on the machine.
    Exit code: 1 if no file can hold any of the settings.

    \b
    becalm export-settings 12
    becalm export-settings 12 --format tuned > tuned.conf
    becalm export-settings --sudo 12 --to ./production
    """
    if not profiles and not settings:
        raise UsageError("Which settings? Name the number of a study (becalm export-settings 12), or a profile.")
    out = output.OutputForm.of(keywords)
    production_settings = becalm.export_settings(
        *profiles, settings=options.once(settings), format=format_, host=host, sudo=sudo, root=root, store=store
    )
    if to is not None:
        for path, file in zip(becalm.write_settings(production_settings, to), production_settings.files, strict=True):
            echo(f"{path}  belongs to  {file.path}", err=out.as_json)
    redirected = format_ is not None and production_settings.files and not (out.as_json or out.markdown or out.quiet)
    if redirected and to is None:
        # The output can be redirected into the file, so nothing else is printed.
        echo("\n".join(file.content for file in production_settings.files), nl=False)
    elif to is None or out.as_json or out.report is not None:
        out.end(production_settings, store)
    for setting in production_settings.left:
        output.warned(f"{setting.knob}: {setting.reason}")
    for remark in production_settings.remarks:
        output.warned(remark)
    out.leave(production_settings)
