"""One more method, format, kind of host and verb: written into the package."""

from __future__ import annotations

from pathlib import Path

from addition import before, written


def search_method(tree: Path) -> None:
    """A file and a row."""
    written(
        tree,
        "python/becalm/methods/coin.py",
        '''
        """A coin for each setting: what random choice alone would find."""

        from __future__ import annotations

        import numpy as np

        from becalm.methods.protocol import NO_SETTINGS, Choice, SearchGenerator, TrialDesign
        from becalm.methods.trials import Trials
        from becalm.nouns.search_space import Space


        def coin(space: Space, rule: TrialDesign, rng: np.random.Generator) -> SearchGenerator:
            """Throw a coin for each setting, a few times; the set that varies least is chosen."""
            trials = Trials(rule)
            yield from trials.measure(NO_SETTINGS, "no settings")
            for throw in range(5 if space.candidates else 0):
                if trials.reached or not trials.affordable:
                    break
                kept = [each for each in space.candidates if rng.random() < 0.5]
                names = {knob for each in kept for knob in each.knobs}
                able = tuple(each for each in kept if names.issuperset(each.requires))
                yield from trials.measure(space.settings(able), f"throw {throw + 1}")
            return Choice(trials.best, f"Coins were thrown for {space.count} settings, {trials.runs} runs.")
        ''',
    )
    before(
        tree,
        "python/becalm/methods/__init__.py",
        ')\n"""The first is what is used',
        '    Row("coin", "becalm.methods.coin", "coin", "a coin for each setting", TrialDesign()),\n',
    )


def export_format(tree: Path) -> None:
    """A file and a row."""
    written(
        tree,
        "python/becalm/report/formats/nanoseconds.py",
        '''
        """Wall times in ns, one a line, and nothing else: for sort, awk and spreadsheets."""

        from __future__ import annotations

        from becalm.report.document import Document, by_program


        def write(document: Document) -> str:
            """The counted runs, program after program, below a head."""
            return "ns\\n" + "".join(f"{run.wall_ns}\\n" for _, runs in by_program(document) for run in runs)
        ''',
    )
    before(
        tree,
        "python/becalm/report/formats/__init__.py",
        '    Row("hyperfine"',
        '    Row("ns", ".csv", "becalm.report.formats.nanoseconds", False, "wall times in ns, one a line"),\n',
    )


def host_kind(tree: Path) -> None:
    """A file and a row: times from a file, played in turn."""
    written(
        tree,
        "python/becalm/hosts/times.py",
        '''
        """The host `times:FILE`: runs take the times in a file in turn, ns, one a line; without a file 1 ms."""

        from __future__ import annotations

        import itertools
        from collections.abc import Iterator, Sequence
        from pathlib import Path
        from typing import Any

        from becalm.errors import UsageError
        from becalm.hosts.abilities import with_abilities
        from becalm.hosts.absent import NoMachine
        from becalm.hosts.events import Event, Runs
        from becalm.hosts.protocol import Access, MeasureRequest
        from becalm.nouns.knob import Knob
        from becalm.nouns.run import Outcome, Run
        from becalm.nouns.settings import Settings
        from becalm.nouns.workload import Workload


        def open_times(rest: str, access: Access) -> TimesHost:
            """The host of a file. Raises UsageError when it has no times."""
            try:
                times = [int(line) for line in Path(rest).read_text().split()] if rest else [1_000_000]
            except (OSError, ValueError) as error:
                raise UsageError(f"{rest} has no times in ns, one a line: {error}.") from None
            return TimesHost(f"times:{rest}" if rest else "times", times)


        class TimesHost(NoMachine):
            """Plays times; starts again with the first after the last."""

            def __init__(self, name: str, times: Sequence[int]) -> None:
                super().__init__(name, "it plays times from a file")
                self._times = itertools.cycle(times)
                self._now_ns = 0

            def __enter__(self) -> TimesHost:
                return self

            def __exit__(self, *exc: object) -> None:
                self.close()

            def facts(self) -> dict[str, Any]:
                """Nothing to know."""
                return with_abilities({"host": {"hostname": "times"}}, self.abilities())

            def knobs(self) -> list[Knob]:
                """Nothing to set."""
                return []

            def define(
                self, workloads: Sequence[Workload], settings: Sequence[Settings | None], *, dangerous: bool = False
            ) -> list[str]:
                """Every program exists."""
                return [each.argv[0] if each.argv else "" for each in workloads]

            def measure(self, request: MeasureRequest) -> Iterator[Event]:
                """One run at a time."""
                for index, (workload, settings, padding, round) in enumerate(request.block.steps):
                    wall_ns = next(self._times)
                    self._now_ns += wall_ns
                    yield Runs(
                        [
                            Run(
                                request.first + index, workload, settings, round, padding, self._now_ns - wall_ns,
                                wall_ns, wall_ns, 0, 0, 1 << 20, 0, 0, 0, 0, str(Outcome.OK), 0, 0,
                            )
                        ]
                    )

            def overhead(self, runs: int) -> tuple[list[int], list[int]]:
                """Nothing costs nothing."""
                return [0] * runs, [0] * runs

            def stop(self) -> None:
                """A run is over as soon as it is asked for."""
        ''',
    )
    before(
        tree,
        "python/becalm/hosts/table.py",
        '    Row(\n        "null"',
        '    Row("times", "times:FILE", "times from a file: times:FILE", "becalm.hosts.times", "open_times"),\n',
    )


def verb(tree: Path) -> None:
    """One that measures and keeps: a file of the verb, one of its command, its report, and a row."""
    written(
        tree,
        "python/becalm/verbs/total.py",
        '''
        """`becalm total`: how long all runs of a program take together."""

        from __future__ import annotations

        from collections.abc import Iterable
        from typing import Unpack

        import numpy as np

        from becalm.nouns.history import History
        from becalm.nouns.options.measuring import RunOptions
        from becalm.nouns.run import Block
        from becalm.nouns.signature import takes
        from becalm.nouns.workload import CommandLine, Workload
        from becalm.plans.interleave import interleave
        from becalm.report.document import Document
        from becalm.report.total import Total
        from becalm.study.measure import measure
        from becalm.study.session import open_session
        from becalm.study.session_options import MeasureKeywords, SessionOptions, asked
        from becalm.study.stored import document_of


        @takes(RunOptions, CommandLine, Workload, SessionOptions)
        def total(command: str | Iterable[str] | Workload, **given: Unpack[MeasureKeywords]) -> Total:
            """Measure one program, and add its times up."""
            options, session, program = asked(RunOptions, given)
            study = session.study("total", [Workload.of(command, **program)], options)
            rng, goal = np.random.default_rng(study.seed), options.goal

            def plan(history: History) -> Block | None:
                return None if goal.exhausted(history) else interleave(history, goal, rng)

            with open_session(session, "becalm total") as opened:
                opened.host.define(study.workloads, study.settings)
                number = opened.begin(study)
                measure(opened.host, plan, History(1), opened.take, detail=opened.detail)
                opened.settle()
                return conclude(document_of(opened.store, number))


        def conclude(document: Document) -> Total:
            """The same of a stored study."""
            times = [run.wall_ns for run in document.runs if not run.warmup and run.outcome == "ok"]
            return Total(document.study.workloads[0].name, len(times), sum(times), document.number)
        ''',
    )
    written(
        tree,
        "python/becalm/report/total.py",
        '''
        """What `becalm total` gives, and how it is drawn."""

        from __future__ import annotations

        from collections.abc import Iterator
        from dataclasses import asdict, dataclass
        from typing import Any

        from rich.console import RenderableType
        from rich.text import Text

        from becalm._version import SCHEMA, VERSION
        from becalm.report.table import Table
        from becalm.wording.measurement import counted, duration


        @dataclass(frozen=True, slots=True)
        class Total:
            """All runs of one program; time in ns."""

            name: str
            runs: int
            wall_ns: int
            study: int | None

            @property
            def sentence(self) -> str:
                """In words."""
                return f"{counted(self.runs, 'run')} of {self.name} took {duration(self.wall_ns)} together."

            def to_json(self) -> dict[str, Any]:
                """The documented form."""
                return {"becalm": VERSION, "schema": SCHEMA, "kind": "total", **asdict(self)}


        def on_terminal(found: Total, *, plain: bool = False, columns: int = 80) -> RenderableType:
            """The sentence."""
            return Text(found.sentence)


        def tables(found: Total) -> Iterator[Table]:
            """One row."""
            row = (found.name, str(found.runs), duration(found.wall_ns))
            yield Table("", ("program", "runs", "together"), (row,), (1, 2), codes=0)
        ''',
    )
    written(
        tree,
        "python/becalm/cli/total.py",
        '''
        """`becalm total`."""

        from __future__ import annotations

        from typing import Any

        import click

        import becalm
        from becalm.cli import options, output

        VALUES = (becalm.RunOptions, becalm.SessionOptions, becalm.CommandLine, becalm.Workload)


        @click.command("total")
        @options.of(*VALUES)
        @output.options
        @click.argument("command", nargs=-1, type=click.UNPROCESSED)
        def command_total(command: tuple[str, ...], **given: Any) -> None:
            """Measure one program, and add its times up."""
            out, chosen = output.Output.of(given), options.keywords(given, *VALUES)
            with out.listener() as heard:
                found = becalm.total(output.words(command), listener=heard, **chosen)
            out.end(found)
        ''',
    )
    table = "python/becalm/verbs/__init__.py"
    before(
        tree,
        table,
        "    from becalm.verbs.tune import tune as tune\n",
        "    from becalm.verbs.total import total as total\n",
    )
    before(
        tree,
        table,
        '    Verb("load"',
        '    Verb("total", "How long all runs take together.", kind=Kind("becalm.verbs.total:conclude")),\n',
    )
