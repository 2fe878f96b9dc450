"""`becalm mcp`."""

from __future__ import annotations

from typing import Any

import click

import becalm
from becalm.cli import options

WITHOUT = ("settings", "seed", "title", "user", "allow_reboot", "load", "listener")


@click.command("mcp")
@options.of(becalm.McpOptions, becalm.SessionOptions, without=WITHOUT)
def command_mcp(**chosen: Any) -> None:
    """Serve the Model Context Protocol on standard input and output, so that coding agents can measure and tune.

    \b
    becalm mcp --allow measure
    becalm mcp --allow live --budget 1h --sudo

    An agent's program starts it (docs/how-to/mcp.md). The agent can do what --allow permits, where --host says, for
    --budget of measuring in all, and can change none of them. What it applies is restored when the server ends, also
    when it or the agent is killed. Needs the Python SDK: pip install 'becalm[mcp]'.
    """
    becalm.serve_mcp(**options.keywords(chosen, becalm.McpOptions, becalm.SessionOptions))
