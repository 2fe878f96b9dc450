"""The program `becalm-sim`, with requests and answers as lines of JSON (crates/becalm-sim/src/request.rs)."""

from __future__ import annotations

import contextlib
import importlib.resources
import json
import os
import subprocess
import threading
from collections.abc import Callable, Mapping
from typing import Any

from becalm.errors import MachineError, UsageError

Progress = Callable[[int, float], None]
"""A callback for the simulated time, ns, and the share of the tasks that have ended."""


def simulator_path() -> str:
    """Return the executable inside the installed package. Raises MachineError when it is not there."""
    path = str(importlib.resources.files("becalm") / "becalm-sim")
    if not os.access(path, os.X_OK):
        raise MachineError(
            f"The simulator is missing: {path} is not an executable file. Install becalm with `pip install .`, which "
            "builds it (Rust is needed)."
        )
    return path


def ask(family: str, request: Mapping[str, Any], engine: str, less: str) -> dict[str, Any]:
    """Return the answer of `becalm-sim FAMILY` to a request. `engine`: its name in error messages; `less`: advice for
    the case of too little memory.

    Raises UsageError for a request that cannot be answered, MachineError if the program is missing or was ended.
    """
    line = json.dumps(request) + "\n"
    done = subprocess.run([simulator_path(), family], input=line, capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout:
        why = f"ended with {done.returncode}"
        if done.returncode == -9:
            why = f"was killed, probably for want of memory: {less}"
        raise MachineError(f"{engine} {why}.")
    answer: dict[str, Any] = json.loads(done.stdout)
    if "error" in answer:
        raise UsageError(answer["error"])
    (result,) = answer.values()
    return dict(result)


class Engine:
    """A running simulator, which answers requests one after the other; `stop` ends the current one."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [simulator_path()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            # On Ctrl-C, becalm requests the results so far, or ends the simulator.
            start_new_session=True,
        )
        self._busy = threading.Event()

    def simulate(self, request: Mapping[str, Any], progress: Progress | None = None) -> dict[str, Any]:
        """Return the summary of a simulation, also of a stopped one (crates/becalm-sim/src/summary.rs).

        Raises UsageError for an invalid request, MachineError if the simulator has ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        message = {**request, "progress": progress is not None}
        self._busy.set()
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
            while True:
                line = self._process.stdout.readline()
                answer = json.loads(line) if line else {}
                if progress is not None and "progress" in answer:
                    progress(answer["progress"]["now_ns"], answer["progress"]["ended"])
                    continue
                break
        except BrokenPipeError:
            answer = {}
        finally:
            self._busy.clear()
        if "error" in answer:
            raise UsageError(answer["error"])
        if "summary" not in answer:
            code = self._process.wait()
            why = (
                "was killed, probably for want of memory: simulate fewer tasks" if code == -9 else f"ended with {code}"
            )
            raise MachineError(f"The simulator {why}.")
        result: dict[str, Any] = answer["summary"]
        return result

    def stop(self) -> None:
        """End the current simulation, whose summary is then returned."""
        if self._busy.is_set():
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(2)

    def close(self) -> None:
        """End the simulator."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process.terminate()
        self._process.wait()
