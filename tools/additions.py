"""One more of each thing, as a person would add it by hand: what tools/places.py tries and counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent


@dataclass(frozen=True)
class Addition:
    """One more of a family: how it is written into a tree, and how it is seen that it is there and works."""

    family: str
    most: int
    """How many files it may take."""
    make: Callable[[Path], None]
    shown: tuple[tuple[tuple[str, ...], str], ...] = ()
    """Command lines of becalm, each with something that it must then say."""
    tests: tuple[str, ...] = ()
    """The family's own tests, of Python,"""
    said_by_tests: str = ""
    """something that their list of tests must then hold,"""
    cargo: str = ""
    """and of the engine."""


def before(tree: Path, name: str, anchor: str, text: str) -> None:
    """Insert text before the first place of an anchor. Raises ValueError when the file no longer has it."""
    path = tree / name
    whole = path.read_text()
    if anchor not in whole:
        raise ValueError(f"{name} no longer has {anchor!r}: tools/additions.py must follow it")
    path.write_text(whole.replace(anchor, text + anchor, 1))


def written(tree: Path, name: str, text: str) -> None:
    """A new file."""
    path = tree / name
    assert not path.exists(), name
    path.write_text(dedent(text).lstrip("\n"))


CATALOGUE = "crates/becalm-core/src/knob/catalogue.rs"


def live_knob(tree: Path) -> None:
    """A file of /proc/sys: one row."""
    before(
        tree,
        CATALOGUE,
        '    Knob { name: "swappiness"',
        """\
    Knob { name: "dirty_ratio", domain: range(0, 100, "%", Linear), tuned_value: Some("40"),
        act: &File(&[("/proc/sys/vm/dirty_ratio", PLAIN)]),
        rationale: "from which share of memory on a program must write its pages to the disk itself",
        costs: "more memory is held by files", source: "Documentation/admin-guide/sysctl/vm.rst", ..ROW },
""",
    )


def process_knob(tree: Path) -> None:
    """A resource limit: the system call, and a row."""
    before(
        tree,
        "crates/becalm-core/src/knob/process.rs",
        "/// ioprio_set(2);",
        """\
/// setrlimit(2): bytes of a core dump.
pub fn limit_core(to: &Operand) -> bool {
    let limit = libc::rlimit { rlim_cur: to.number as u64, rlim_max: to.number as u64 };
    // SAFETY: the structure outlives the call.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &limit) == 0 }
}

""",
    )
    before(
        tree,
        CATALOGUE,
        '    Knob { name: "slice_ns"',
        """\
    Knob { name: "core_limit", scope: Process, domain: range(0, 1_000_000_000, "bytes", Linear),
        act: &InChild(process::number, process::limit_core),
        rationale: "a crash that writes no core dump ends at once", costs: "nothing to look at after a crash",
        privilege: "", privileged: Privileged::None, source: "setrlimit(2)", ..ROW },
""",
    )


def boot_knob(tree: Path) -> None:
    """A kernel parameter: one row."""
    before(
        tree,
        CATALOGUE,
        '    Knob { name: "mitigations"',
        """\
    Knob { name: "skew_tick", scope: Boot, tuned_value: Some("1"), domain: words(&["0", "1"]),
        act: &AtBoot(Words { words: &["skew_tick={}"], ..WORDS }),
        rationale: "timer interrupts of all CPUs at one moment contend for the same locks",
        costs: "more power", source: "Documentation/admin-guide/kernel-parameters.txt", ..ROW },
""",
    )


def load_column(tree: Path) -> None:
    """A counter of /proc/vmstat: a row, and the field of the noun."""
    before(
        tree,
        "crates/becalm-core/src/load/table.rs",
        "];\n\n/// So many columns there are.",
        """\
    Column {
        name: "compactions",
        unit: "events",
        source: "vmstat",
        metric: "becalm_compactions_total",
        meaning: "stalls of programs for memory in one piece (direct compaction)",
        take: sum(&["compact_stall"], Each::One),
        ..MACHINE
    },
""",
    )
    before(
        tree,
        "python/becalm/load/record.py",
        "\n\nLOAD_COLUMNS =",
        "    compactions: int | None = None\n",
    )


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


SPIN = ("--host", "sim:drift", "--seed", "1", "--quiet")

TABLE = (
    Addition(
        "live knob",
        2,
        live_knob,
        ((("knobs", "dirty_ratio"), "write its pages to the disk"), (("knobs",), "dirty_ratio")),
        ("tests/unit/nouns/test_tables.py",),
        "test_tables",
        "knob::",
    ),
    Addition(
        "process knob",
        2,
        process_knob,
        (
            (("knobs", "core_limit"), "setrlimit(2)"),
            (
                ("run", "--runs", "2", "--set", "core_limit=4096", "--output", "inherit", "--shell", "ulimit -c"),
                "8\n8\n",
            ),
        ),
        ("tests/unit/nouns/test_tables.py",),
        "test_tables",
        "knob::",
    ),
    Addition(
        "boot knob",
        2,
        boot_knob,
        ((("knobs", "skew_tick"), "timer interrupts of all CPUs"),),
        ("tests/unit/nouns/test_tables.py",),
        "test_tables",
        "knob::",
    ),
    Addition(
        "load column",
        2,
        load_column,
        (
            (("run", "--runs", "3", "--", "sleep", "0.15"), "sleep 0.15"),
            (("export", "last", "--format", "csv"), "load_compactions"),
        ),
        ("tests/conformance/test_load_columns.py", "tests/unit/nouns/test_tables.py", "tests/unit/load/test_record.py"),
        "[compactions]",
        "load::",
    ),
    Addition(
        "search method",
        2,
        search_method,
        (
            (("tune", "--help"), "coin"),
            (("tune", *SPIN[:4], "--method", "coin", "--budget", "none", "--", "spin", "1s"), "Coins were thrown"),
        ),
        ("tests/conformance/test_methods.py",),
        "[coin]",
    ),
    Addition(
        "export format",
        2,
        export_format,
        (
            (("run", *SPIN, "--runs", "20", "--", "spin", "20ms"), "spin 20ms"),
            (("export", "last", "--format", "ns"), "\n"),
            (("export", "--help"), "ns"),
        ),
        ("tests/unit/report/formats",),
        "test_formats",
    ),
    Addition(
        "verb that measures",
        4,
        verb,
        (
            (("total", *SPIN, "--runs", "20", "spin 20ms"), "20 runs of spin 20ms took"),
            (("total", *SPIN[:4], "--runs", "20", "--markdown", "spin 20ms"), "| `spin 20ms` | 20 |"),
            (("show", "last"), "20 runs of spin 20ms took"),
            (("show", "--json"), '"kind": "total"'),
            (("export", "--format", "html"), "20 runs of spin 20ms took"),
            (("list", "--kind", "total"), "spin 20ms"),
            (("--help",), "How long all runs take together."),
        ),
        ("tests/unit/test_interface.py", "tests/unit/test_public_names.py", "tests/unit/test_house.py"),
        "[total]",
    ),
    Addition(
        "host kind",
        2,
        host_kind,
        (
            (("run", "--host", "times", "--runs", "5", "--", "anything"), "1.000 ms"),
            (("run", "--help"), "times:FILE"),
        ),
        ("tests/conformance/test_hosts.py", "-k", "times or null or sim"),
        "[times]",
    ),
)
"""One row a family."""
