"""`becalm publish`."""

from __future__ import annotations

import click

import becalm
from becalm.cli import options, output
from becalm.cli.echo import echo
from becalm.cli.shared_options import STORE
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
    help="Write full reports, with all figures, of the N newest studies.",
)
@click.option("--links", default="", metavar="URL", help="URL of a commit's page, with {commit} in it.")
@options.one(becalm.HistoryPlaceOptions, "repository")
@click.option("--serve", is_flag=True, help="Serve the site to browsers on this machine, and follow the store.")
@click.option(
    "--port",
    type=options.Number(True, 0, 65535),
    metavar="N",
    help="With --serve: port to listen on.  [default: a free one]",
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
    """Write all studies of the store as a web site into DIRECTORY.

    \b
    becalm publish site       # then open site/index.html, or upload site
    becalm publish --serve    # in a browser on this machine, while a study runs

    The site lists all studies, with a search field, a page per study with its runs as CSV, and the benchmarks of
    `becalm record` over commits (docs/how-to/publish.md). When it is written again, only what changed is.

    Whoever can read the site sees command lines, host names and paths; values of --env are left out.
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
        output.print_result(published)
        return
    echo(published.sentence)
