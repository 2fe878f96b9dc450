"""Every command that takes a study's number, on studies of all kinds: an answer, or a sentence and exit code 2."""

import json
import shutil

import click
import numpy as np
import pytest
from click.testing import CliRunner
from tests.directories import use_directories
from tests.unit.files import region_files
from tests.unit.verbs.test_corun import OPTIONS as CO_RUNS

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import BecalmError, UsageError
from becalm.load.record import Load
from becalm.load.simulated import Level, LoadedMachine, LoadedProgram, simulate
from becalm.nouns.codec import plain
from becalm.nouns.options.load_experiment import LoadExperimentOptions, PlannedLoads
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.report.formats import FORMATS
from becalm.store import Store
from becalm.study import layout_builds, repository
from becalm.verbs import KINDS

COMMANDS = (
    "explain N",
    "explain N --json",
    "explain --program spin N",
    "show N",
    "show N --json",
    "show N --markdown",
    "show N --together",
    "list --kind KIND",
    "list --kind KIND --json",
    "export N --series SERIES",
    *(f"export N --format {row.name}" for row in FORMATS),
    "import --study N SADF",
    "import --alongside N REGIONS",
    "run --host null --runs 3 --baseline N spin",
    "compare --host null --runs 3 --baseline N spin",
    "compare --stored N 1",
    "compare --stored 1 N",
    "check --stored N 1",
    "check --stored 1 N",
    "check --host null --runs 3 --baseline N spin",
    "tune --host sim:laptop-a --budget 20s --only nice --resume N",
    "tune --host sim:laptop-a --budget 20s --try N spin",
    "apply --host sim:laptop-a N",
    "apply --host sim:laptop-a --profile N",
    "run --host null --runs 3 --profile N spin",
    "watch --host null --reference N spin",
    "export-settings N --for sysctl --to DIRECTORY",
    "place N",
    "place --chip 2x1 N",
    "place --apply N",
)
"""`N` is the number of a study, `KIND` its kind; the other words in capitals are files."""


ITERATIONS = "import of iterations"
"""A study whose runs have a metric, and wall times that nobody knows."""


def _no_git(directory, *words, **options):
    """Answer as git does outside of a repository."""
    raise UsageError(f"git {words[0]}: fatal: not a git repository (or any of the parent directories): .git")


def _planned(store):
    """Store a study of `becalm explain --designed`."""
    steps = tuple({} if n % 5 else {"cpu": 2.0 + n} for n in range(20))
    options = LoadExperimentOptions(design=PlannedLoads({"cpu": 22.0}, {"cpu": 1.0}, steps))
    levels = [Level(spinners=step.get("cpu", 0.0)) for step in steps]
    runs, loads = simulate(levels, LoadedProgram(), LoadedMachine(), np.random.default_rng(1))
    number = store.begin(Study("explain", (Workload.of("spin"),), options=options.to_json()), {})
    store.append(number, [run._replace(round=run.seq) for run in runs])
    store.append_loads(number, loads)


def _profiled(store):
    """Store a study of `becalm corun`."""
    workloads = tuple(Workload.of([name]) for name in CO_RUNS.names)
    number = store.begin(Study("corun", workloads, options=plain(CO_RUNS)), {})
    runs, _ = simulate([Level()] * 8, LoadedProgram(), LoadedMachine(), np.random.default_rng(2))
    store.append(number, [run._replace(workload=run.seq % 2, round=run.seq // 2) for run in runs])


def _load(run):
    """Return the load of one run on an idle machine of two CPUs."""
    wall_ns = run.wall_ns or 10**6
    return Load(run.seq, run.seq, run.started_ns, wall_ns, cpus=2, busy_ns=wall_ns, queue=1.0)


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    """Return a directory with two stores that hold a study of every kind, one with records of load; and the numbers."""
    place = tmp_path_factory.mktemp("studies")
    file = str(place / "runs.db")
    (place / "suite.toml").write_text('[[program]]\ncommand = "spin"\nname = "spin"\n')
    result = {"command": "spin", "times": [0.1, 0.2, 0.3], "mean": 0.2, "user": 0.1, "system": 0.0}
    (place / "hyperfine.json").write_text(json.dumps({"results": [result]}))
    times = np.random.default_rng(3).normal(2_000, 20, 500).astype(int)
    (place / "REGIONS").write_bytes(region_files.file(region_files.regions(times, 0)))
    (place / "SADF").write_text('{"sysstat": {"hosts": []}}')
    null = {"host": "null", "store": file, "runs": 3}
    with pytest.MonkeyPatch.context() as patch:
        use_directories(patch, place)
        patch.setattr(repository, "_git", _no_git)
        becalm.run("spin", **null)
        becalm.compare(["spin", "spin 2"], **null)
        patch.setattr(layout_builds, "run_build", lambda *_: "")
        patch.setattr(layout_builds, "_content", lambda workload: workload.argv)
        builds = {"old_build": "make {seed}", "new_build": "make {seed}"}
        becalm.compare_layouts("spin {seed}", layouts=2, **builds, **null)
        becalm.tune(["spin 1ms"], host="sim:laptop-a", store=file, seed=7, budget="20s", only=("nice",))
        becalm.survey(["sim:normal:1", "sim:normal:2"], "spin 20ms", kernels=(), seed=1, store=file)
        becalm.watch("spin", host="null", store=file)
        becalm.suite(str(place / "suite.toml"), **null)
        becalm.record(["spin"], project="p", commit="c", **null)
        becalm.import_(place / "hyperfine.json", file)
        becalm.import_regions(place / "REGIONS", file)
    with Store.open(file) as store:
        _planned(store)
        _profiled(store)
        numbers = {study.study.kind: study.number for study in store.studies()}
    assert set(numbers) == set(KINDS), "a kind of study has no example here"
    (place / "go.txt").write_text("BenchmarkA 1 5 ns/op 3 B/op\nBenchmarkA 1 6 ns/op 3 B/op\n--- FAIL: BenchmarkB\n")
    (numbers[ITERATIONS],) = becalm.import_(place / "go.txt", file)
    shutil.copy(file, place / "loaded.db")
    with Store.open(str(place / "loaded.db")) as store:
        for number in numbers.values():
            if not store.loads(number):
                store.append_loads(number, [_load(run) for run in store.runs(number)])
    return place, numbers


@pytest.fixture
def store_of_all(studies, tmp_path, monkeypatch, file, store):
    """Return the numbers of the studies by kind, in a copy of the store `file` that commands use."""
    place, numbers = studies
    shutil.copy(place / file, store)
    for name in ("SADF", "REGIONS"):
        shutil.copy(place / name, tmp_path / name)
    monkeypatch.setenv("HOME", str(tmp_path / "HOME"))
    monkeypatch.chdir(tmp_path)
    return numbers


def _answer(command, number, kind):
    """Run a command; return what was wrong with its answer, nothing where it was right."""
    files = {"SERIES": "series.csv", "DIRECTORY": "."}
    words = {"N": str(number), "KIND": kind.split()[0], **files}
    done = CliRunner().invoke(group, [words.get(word, word) for word in command.split()], standalone_mode=False)
    error = done.exception
    if error is None or isinstance(error, SystemExit):
        return "" if done.exit_code in (0, 1, 5) else f"exit {done.exit_code}: {done.output}"
    if isinstance(error, click.ClickException):
        return "" if isinstance(error, click.UsageError) else f"{type(error).__name__}: {error.format_message()}"
    if isinstance(error, BecalmError):
        return "" if error.exit_code == 2 and " " in str(error) else f"exit {error.exit_code}: {error}"
    return f"{type(error).__name__}: {error}"


def _cases():
    """Yield each command with a store: all with records of load, and those that read them without, too."""
    for command in COMMANDS:
        yield command, "loaded.db"
        if command.startswith(("explain", "import", "export N --series")):
            yield command, "runs.db"


@pytest.mark.parametrize("kind", sorted((*KINDS, ITERATIONS)))
@pytest.mark.parametrize(("command", "file"), list(_cases()))
def test_a_study_of_every_kind_is_answered_or_refused_with_a_sentence(command, kind, store_of_all):
    """A defect or a refusal by the machine would be an answer to the wrong question."""
    assert _answer(command, store_of_all[kind], kind) == ""
