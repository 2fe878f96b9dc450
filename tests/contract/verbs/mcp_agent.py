"""A scripted agent, and its end: it connects to `becalm mcp`, calls tools, and is killed, or kills the server.

    python mcp_agent.py ROOT < lines of JSON

Each line is a round: `calls` ([tool, arguments] …; the token of the last plan stands for "TOKEN"), `at` (the number of
the event at which somebody dies; events are connections, beginnings of calls, reports of progress, and answers), `who`
("agent" or "server"; null: nobody) and `log`. A round is a process of its own, which has imported the SDK already.
"""

import json
import os
import signal
import sys

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client


def children(pid):
    """Return the processes that a process has started."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


class Round:
    """An agent that counts events."""

    def __init__(self, at, who, log):
        self.at, self.who, self.log, self.events = at, who, log, 0

    def event(self, name):
        """Write an event down, and kill whoever is to die at it."""
        with open(self.log, "a") as file:
            file.write(f"{name}\n")
        if self.events == self.at and self.who is not None:
            (server,) = children(os.getpid())
            with open(self.log, "a") as file:
                file.write(f"{self.who} is killed\n")
            os.kill(server if self.who == "server" else os.getpid(), signal.SIGKILL)
        self.events += 1

    async def play(self, server, calls):
        """Make all calls."""
        token = None

        async def progress(value, total, message):
            self.event("progress")

        async with Client(stdio_client(server)) as client:
            self.event("connected")
            for tool, arguments in calls:
                arguments = {name: token if value == "TOKEN" else value for name, value in arguments.items()}
                self.event(f"calls {tool}")
                answer = await client.call_tool(tool, arguments, progress_callback=progress)
                self.event(f"{tool}: {'refused: ' if answer.is_error else ''}{answer.content[0].text.splitlines()[0]}")
                token = (answer.structured_content or {}).get("result", {}).get("token", token)


def main():
    root, store = sys.argv[1:3]
    words = ["-m", "becalm", "mcp", "--allow", "live", "--root", root, "--store", store]
    server = StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))
    for line in sys.stdin:
        plan = json.loads(line)
        if (pid := os.fork()) == 0:
            code = 1
            try:
                anyio.run(Round(plan["at"], plan["who"], plan["log"]).play, server, plan["calls"])
                code = 0
            except BaseExceptionGroup:
                # The server is gone.
                code = 2
            finally:
                os._exit(code)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
