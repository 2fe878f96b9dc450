"""`becalm mcp`: a Model Context Protocol server on standard input and output, for coding agents.

The official Python SDK (`mcp`) implements the protocol (https://modelcontextprotocol.io); `becalm.verbs.mcp_tools` has
the tools. A call runs in a thread. When it is cancelled, or the client disconnects, its measurement is stopped as by
Ctrl-C, and settings are restored.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Unpack

from becalm._version import VERSION
from becalm.errors import UsageError, install
from becalm.nouns.option import parse_keywords, refuse_unknown
from becalm.nouns.options.mcp import McpOptions
from becalm.nouns.signature import takes
from becalm.results.mcp import ToolAnswer
from becalm.results.progress import Progress, ProgressListener, Quiet, SearchProgress
from becalm.study.session_options import SessionOptions
from becalm.verbs.mcp_parameters import schema
from becalm.verbs.mcp_toolbox import Toolbox, ToolCall
from becalm.verbs.mcp_tools import TABLE, call, text_of
from becalm.wording import mcp as words

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

    from becalm.verbs.keywords import ServeMcpKeywords

POLL_S = 0.05
"""The interval between attempts to stop a cancelled call, which may not have begun to measure yet, s."""


SENTENCE_STEP = 1e-6
"""The growth of the progress number for a report that only has a sentence."""


WITHOUT = ("settings", "seed", "title", "user", "allow_reboot", "load", "listener")
"""The options of a session that a server does not take."""


@takes(McpOptions, SessionOptions, without=WITHOUT)
def serve_mcp(**keywords: Unpack[ServeMcpKeywords]) -> None:
    """Serve the Model Context Protocol on standard input and output, until the client closes them.

    What the server changed is restored however it ends. Raises UsageError where the SDK is missing.
    """
    try:
        import anyio
        from mcp.server.stdio import stdio_server
    except ImportError:
        raise UsageError(f"becalm mcp needs the Python SDK of the protocol: {install('mcp')}") from None
    refuse_unknown(keywords, McpOptions, SessionOptions)
    box = Toolbox(McpOptions(**parse_keywords(McpOptions, keywords)), SessionOptions.of(keywords))

    async def serve() -> None:
        server = server_of(box)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    try:
        anyio.run(serve)
    finally:
        box.close()


def server_of(box: Toolbox) -> Server[Any]:
    """Return the protocol's server for a toolbox. When a connection ends, applied settings are restored."""
    import mcp_types as types
    from mcp.server.lowlevel.server import Server

    tools = [
        types.Tool(
            name=tool.name,
            description=tool.what,
            input_schema=schema(tool.parameters),
            output_schema=OUTPUT,
            annotations=types.ToolAnnotations(read_only_hint=not tool.changes, destructive_hint=False),
        )
        for tool in TABLE
    ]

    async def list_tools(context: Any, parameters: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(context: Any, parameters: types.CallToolRequestParams) -> types.CallToolResult:
        arguments = parameters.arguments or {}

        async def report(fraction: float, total: float | None, message: str) -> None:
            await context.session.report_progress(fraction, total, message)

        answer = await _called(box, lambda *rest: call(box, parameters.name, arguments, *rest), report)
        content = answer.to_json()
        return types.CallToolResult(
            content=[
                types.TextContent(type="text", text=answer.sentence),
                types.TextContent(type="text", text=text_of(answer)),
            ],
            structured_content=content,
            is_error=answer.error,
        )

    @asynccontextmanager
    async def lifespan(server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        import anyio

        try:
            yield {}
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(box.close)

    return Server(
        "becalm",
        version=VERSION,
        instructions=words.INSTRUCTIONS,
        lifespan=lifespan,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


OUTPUT = {
    "type": "object",
    "properties": {
        "sentence": {"type": "string", "description": "The result in words, with its uncertainty."},
        "result": {"type": "object", "description": "The numbers (docs/reference/json.md)."},
        "study": {"type": "integer", "description": "Number of the stored study."},
    },
    "required": ["sentence", "result"],
}
"""The JSON Schema of every answer."""


async def _called(
    box: Toolbox, work: Callable[[ProgressListener, ToolCall], ToolAnswer], report: Callable[..., Any]
) -> ToolAnswer:
    """Return the answer of a call that runs in a thread. If cancelled, stop it and wait for its end."""
    import anyio

    this, finished = ToolCall(), threading.Event()
    answers: list[ToolAnswer] = []

    def forward(*progress: Any) -> None:
        if not this.cancelled:
            anyio.from_thread.run(report, *progress)

    def act() -> None:
        try:
            answers.append(work(Reporter(forward), this))
        finally:
            finished.set()

    async def stop_when_cancelled() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                while not finished.is_set():
                    box.cancel(this)
                    await anyio.sleep(POLL_S)

    async with anyio.create_task_group() as group:
        group.start_soon(stop_when_cancelled)
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(act)
        group.cancel_scope.cancel()
    return answers[0] if answers else ToolAnswer(words.CANCELLED, error=True)


class Reporter(Quiet):
    """A listener that reports progress as a growing number, its total where that is known, and a sentence."""

    def __init__(self, report: Callable[[float, float | None, str], None]) -> None:
        self._report, self._last = report, 0.0

    def started(self, study: int | None, names: Sequence[str], goal: Any) -> None:
        """Report the beginning of a measurement."""
        self._say(f"Measuring {', '.join(names)}.")

    def progressed(self, state: Progress) -> None:
        """Report the used share of the budget, with the present result."""
        sentence = "" if state.verdict is None else state.verdict.sentence.partition("\n")[0]
        self._more(min(1.0, state.fraction), 1.0, sentence or f"{state.runs} runs")

    def searching(self, state: SearchProgress) -> None:
        """Report the next question of a search."""
        self._more(state.elapsed_ns / 1e9, None, f"{state.phase}: {state.why}")

    def warned(self, sentence: str) -> None:
        """Report a sentence that the user should know now."""
        self._say(sentence)

    def _say(self, sentence: str) -> None:
        """Report a sentence without progress; the number grows a little, as the protocol requires."""
        self._last += SENTENCE_STEP
        self._report(self._last, None, sentence)

    def _more(self, value: float, total: float | None, sentence: str) -> None:
        """Report progress, if it has grown: the protocol requires each value to exceed the one before."""
        if value > self._last:
            self._last = value
            self._report(value, total, sentence)
