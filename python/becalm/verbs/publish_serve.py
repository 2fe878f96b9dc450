"""`becalm publish --serve`: the site of a store for a browser on this machine, which follows the store."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from becalm import system_clock
from becalm.report.site.server import served
from becalm.results.publish import Published
from becalm.study.stored import Warned
from becalm.verbs.publish import REPORTS, TITLE, publish
from becalm.wording import publish as words

EVERY_S = 2.0
"""The least time between two looks at the store."""

SHARE = 0.02
"""The share of one CPU that looks may take: they must not disturb what is measured meanwhile."""


def serve_site(
    directory: str | Path | None = None,
    *,
    title: str = TITLE,
    reports: int = REPORTS,
    links: str = "",
    repository: str | None = None,
    port: int = 0,
    store: str | None = None,
    warned: Warned | None = None,
    ready: Callable[[str], None] = lambda sentence: None,
) -> Iterator[Published]:
    """Yield a site after each look at the store, and serve it on 127.0.0.1 until the iterator is closed.

    Arguments:
        directory: as in `publish` [default: a temporary one].
        port: the port to listen on; 0 for any free one.
        ready: called with a sentence about the address of the site.
        title, reports, links, repository, store, warned: as in `publish`.

    Raises what `publish` raises, and MachineError for a port that is taken.
    """
    with ExitStack() as stack:
        if directory is None:
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="becalm-site-"))
        path = Path(directory).expanduser()

        def look(tell: Warned | None = None) -> Published:
            return publish(
                path, title=title, reports=reports, links=links, repository=repository, store=store, warned=tell
            )

        began = system_clock.monotonic()
        published = look(warned)
        server = stack.enter_context(served(path, port))
        ready(words.serving(f"http://127.0.0.1:{server.port}/"))
        while True:
            server.measuring = bool(published.measuring)
            yield published
            system_clock.sleep(max(EVERY_S, (system_clock.monotonic() - began) / SHARE))
            began = system_clock.monotonic()
            published = look()
