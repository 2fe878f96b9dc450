"""`becalm publish`."""

from __future__ import annotations

import click

import becalm
from becalm.cli import options, output
from becalm.cli.echo import echo
from becalm.cli.records import STORE
from becalm.errors import UsageError


@click.command("publish")
@click.argument("directory", required=False)
@click.option("--title", default="Studies", show_default=True, help="Heading of the first page.")
@click.option(
    "--reports",
    type=options.Number(True, 0),
    default=20,
    show_default=True,
    metavar="N",
    help="Draw the full report, with all pictures, of the N newest studies.",
)
@click.option("--links", default="", metavar="URL", help="Page of a commit, with {commit} in it.")
@options.one(becalm.HistoryPlaceOptions, "repository")
@click.option("--serve", is_flag=True, help="Serve it to this machine's browsers, and follow the store.")
@click.option(
    "--port", type=options.Number(True, 0, 65535), metavar="N", help="With --serve: the port.  [default: a free one]"
)
@STORE
@output.as_json
def command_publish(
    directory: str | None,
    title: str,
    reports: int,
    links: str,
    repository: str | None,
    serve: bool,
    port: int | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Write all studies of the store as a web site into DIRECTORY (docs/how-to/publish.md).

    \b
    becalm publish site       # then open site/index.html, or copy site to a web host
    becalm publish --serve    # in a browser on this machine, while a study runs

    The site has a list of the studies with a search, a page for each with its runs as CSV, and the
    benchmarks of `becalm record` over commits. Only what changed is written again. Everything in it
    is for all who can read it: command lines, host names, paths; values of --env are left out.
    """
    if port is not None and not serve:
        raise UsageError("--port is for --serve. Leave it out, or add --serve.")
    if directory is None and not serve:
        raise UsageError("Where to? For example: becalm publish site. `becalm publish --serve` needs no directory.")
    if serve:
        if as_json:
            raise UsageError("--serve has no result to print as JSON. Leave one out.")
        for _ in becalm.serve_site(
            directory,
            title=title,
            reports=reports,
            links=links,
            repository=repository,
            port=port or 0,
            store=store,
            warned=output.warned,
            ready=echo,
        ):
            pass
        return
    assert directory is not None
    published = becalm.publish(directory, title=title, reports=reports, links=links, repository=repository, store=store)
    if as_json:
        output.print_json("publish", published.to_json())
        return
    echo(published.sentence)
