"""The progress of several hosts merged into that of one, for the listener that displays it."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from msgspec.structs import replace

from becalm.nouns.stopping_rule import StoppingRule
from becalm.results.compare import Verdict
from becalm.results.progress import Progress, ProgressListener, Quiet, SearchProgress


class MergedProgress:
    """The progress of all hosts; `of` returns the listener of one. Safe to use from several threads."""

    def __init__(self, listener: ProgressListener, hosts: int) -> None:
        self.listener = listener
        self.hosts = hosts
        self._lock = threading.Lock()
        self._started = False
        self._done: dict[str, int] = {}
        self._states: dict[str, Progress] = {}

    def of(self, host: str) -> HostProgress:
        """Return the listener of one host."""
        return HostProgress(self, host)

    def started(self, names: Sequence[str], goal: StoppingRule) -> None:
        """Start the display with the first host."""
        with self._lock:
            if not self._started:
                self._started = True
                self.listener.started(None, [*names, f"on {self.hosts} hosts"], goal)

    def running(self, host: str, done: int) -> None:
        """Record finished runs of a host."""
        with self._lock:
            self._done[host] = done
            self.listener.running(sum(self._done.values()))

    def progressed(self, host: str, state: Progress) -> None:
        """Record a host's look at its data."""
        with self._lock:
            self._states[host] = state
            states = self._states
            differences = tuple(
                replace(d, name=f"{name}: {d.name}")
                for name, progress in states.items()
                for d in (progress.verdict.differences if progress.verdict else ())
            )
            summaries = tuple(
                replace(s, name=f"{name}: {s.name}")
                for name, progress in states.items()
                for s in (progress.verdict.summaries if progress.verdict else ())
            )
            verdict: Verdict | None = None
            if state.verdict is not None:
                verdict = replace(state.verdict, differences=differences, summaries=summaries)
            self.listener.progressed(
                Progress(
                    elapsed_ns=max(state.elapsed_ns for state in states.values()),
                    rounds=sum(state.rounds for state in states.values()),
                    runs=sum(state.runs for state in states.values()),
                    fraction=sum(state.fraction for state in states.values()) / self.hosts,
                    verdict=verdict,
                )
            )

    def warned(self, host: str, sentence: str) -> None:
        """Pass on a warning of a host."""
        with self._lock:
            self.listener.warned(f"{host}: {sentence}")

    def wrote(self, stream: str, text: str) -> None:
        """Pass on the output of a program on a host."""
        with self._lock:
            self.listener.wrote(stream, text)

    def searching(self, host: str, state: SearchProgress) -> None:
        """Pass on the next question of a search on a host."""
        with self._lock:
            self.listener.searching(replace(state, why=f"{host}: {state.why}"))


class HostProgress(Quiet):
    """The listener of one host, which remembers the number of its study."""

    def __init__(self, gathered: MergedProgress, host: str) -> None:
        self._gathered = gathered
        self._host = host
        self.study: int | None = None

    def started(self, study: int | None, names: Sequence[str], goal: StoppingRule) -> None:
        """Record the beginning of its study."""
        self.study = study
        self._gathered.started(names, goal)

    def running(self, done: int) -> None:
        """Record that runs are finished and stored."""
        self._gathered.running(self._host, done)

    def progressed(self, state: Progress) -> None:
        """Record a look at the data."""
        self._gathered.progressed(self._host, state)

    def searching(self, state: SearchProgress) -> None:
        """Record the next question of a search."""
        self._gathered.searching(self._host, state)

    def warned(self, sentence: str) -> None:
        """Pass on a warning that a person should see now."""
        self._gathered.warned(self._host, sentence)

    def wrote(self, stream: str, text: str) -> None:
        """Pass on the output of a program."""
        self._gathered.wrote(stream, text)
