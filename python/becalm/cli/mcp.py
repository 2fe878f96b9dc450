"""`becalm mcp`."""

from __future__ import annotations

from typing import Any

import click

import becalm
from becalm.cli import options

WITHOUT = ("settings", "seed", "title", "user", "allow_reboot", "load", "by", "listener")


@click.command("mcp")
@options.of(becalm.McpOptions, becalm.SessionOptions, without=WITHOUT)
def command_mcp(**chosen: Any) -> None:
    """Serve the Model Context Protocol on standard input and output, so that coding agents can measure and tune.

    \b
    becalm mcp --allow measure
    becalm mcp --allow live --budget 1h --sudo

    The agent's program starts this server (docs/how-to/mcp.md). You decide by --allow what the agent may do, by --host
    where, and by --budget how long it may measure in all; the agent cannot change these. All settings are restored when
    the server ends, even when it is killed.

    \b
    --allow look     read the machine and the store
    --allow measure  also run any command, with your rights
    --allow process  also change settings of these programs
    --allow live     also change settings of the machine, until the server ends
    --allow boot     also prepare settings for the next start

    It needs the Python package mcp (>= 2) where becalm is installed: python -m pip install 'mcp>=2'
    """
    becalm.serve_mcp(**options.keywords(chosen, becalm.McpOptions, becalm.SessionOptions))
