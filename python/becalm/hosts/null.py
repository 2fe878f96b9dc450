"""A host that runs nothing, in virtual time, to measure becalm's own cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from becalm.errors import UsageError
from becalm.hosts.abilities import with_abilities
from becalm.hosts.events import Event, Runs
from becalm.hosts.no_machine import NoMachine, refuse_metrics
from becalm.hosts.protocol import Access, MeasureRequest
from becalm.nouns.knob import Knob
from becalm.nouns.run import Outcome, Run
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload

WALL_NS = 1_000_000
BATCH = 500


def open_null(rest: str, access: Access) -> NullHost:
    """Return the host "null"."""
    return NullHost()


class NullHost(NoMachine):
    """A host on which every run takes about one virtual millisecond, depending on its number."""

    def __init__(self) -> None:
        super().__init__("null", "it runs nothing, to measure becalm's own cost")
        self._now_ns = 0
        self._stopped = False

    def __enter__(self) -> NullHost:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def facts(self) -> dict[str, Any]:
        """Return the facts, which are only the name and the abilities."""
        return with_abilities({"host": {"hostname": "null"}}, self.abilities())

    def knobs(self) -> list[Knob]:
        """Return the empty list, as there are no settings."""
        return []

    def define(
        self, workloads: Sequence[Workload], settings: Sequence[Settings | None], *, dangerous: bool = False
    ) -> list[str]:
        """Define the programs, all of which exist here; settings are refused."""
        for name, _ in (pair for setting in settings if setting is not None for pair in setting.values):
            raise UsageError(f"The host null has no settings, so {name!r} cannot be set.")
        refuse_metrics("The host null", workloads)
        return [workload.argv[0] if workload.argv else "" for workload in workloads]

    def measure(self, request: MeasureRequest) -> Iterator[Event]:
        """Yield rows as the agent would send them; no load is observed."""
        self._stopped = False
        steps = request.block.steps
        for start in range(0, len(steps), BATCH):
            if self._stopped:
                return
            batch = steps[start : start + BATCH]
            yield Runs([self._run(request.first + start + index, *step) for index, step in enumerate(batch)])

    def _run(self, seq: int, workload: int, settings: int, padding: int, round: int) -> Run:
        # A multiplicative hash is cheaper than a random generator, and neighbours differ.
        wall_ns = WALL_NS + (seq * 2_654_435_761 % 20_011)
        self._now_ns += wall_ns
        return Run(
            seq, workload, settings, round, padding, self._now_ns - wall_ns, wall_ns, wall_ns * 9 // 10, wall_ns // 10,
            0, 1 << 20, 100, 0, 1, 0, str(Outcome.OK), 0, 0,
        )  # fmt: skip

    def overhead(self, runs: int) -> tuple[list[int], list[int]]:
        """Return times of 0."""
        return [0] * runs, [0] * runs

    def stop(self) -> None:
        """End the current block."""
        self._stopped = True
