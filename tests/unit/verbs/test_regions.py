"""Files of timed regions as studies: imported, shown, listed, exported, compared; what is wrong with one is said."""

import csv
import io
import json

import numpy as np
import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from tests.unit import timers
from tests.unit.files import region_files

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import UnfinishedError, UsageError
from becalm.results.clock import ClockReport, TimerCell
from becalm.store import Store, timer_limits
from becalm.store.timer_limits import TimerLimits
from becalm.verbs import regions
from becalm.verbs.records import written


def normal(seed, many=2_000, mean=2_000, name=0):
    return region_files.regions(np.random.default_rng(seed).normal(mean, 20, many).astype(int), name)


@pytest.fixture
def file(tmp_path):
    """A whole file of two names."""
    path = tmp_path / "x.regions"
    path.write_bytes(region_files.file(np.concatenate([normal(1), normal(2, name=1)]), dropped=7))
    return path


def cli(*words):
    return CliRunner().invoke(group, [str(word) for word in words])


def kinds(verdict):
    return [finding.kind for finding in verdict.findings]


# --- a study ----------------------------------------------------------------------------------------------------------


def test_a_file_is_imported_listed_and_shown(file, store):
    number = becalm.import_regions(file, t_diff="5ns")
    (listed,) = becalm.list_studies().studies
    assert (listed.number, listed.study.kind, listed.study.title, listed.runs) == (1, "regions", "x.regions", 4_000)
    verdict = becalm.show(number).verdict
    assert [region.name for region in verdict.regions] == ["parse", "größe"]
    assert (verdict.timer.t_diff_ns, verdict.timer.source) == (5.0, "given")
    assert kinds(verdict) == ["region_dropped"]
    done = cli("show", number)
    assert done.exit_code == 0
    assert "4,000 regions of 2 names in x.regions" in done.output
    assert "regions" in cli("list", "--kind", "regions").output
    assert json.loads(cli("show", number, "--json").output)["kind"] == "regions"


def test_a_file_that_is_stored_already_stays_one_study(file, store, tmp_path):
    becalm.import_regions(file)
    assert "holds the same as study 1, which did not change" in cli("import", file).output
    assert json.loads(cli("import", file, "--json").output)["known"] == {str(file): [1]}
    # Other regions under the same name, and the same ones judged by another timer, are other studies.
    other = tmp_path / "more" / "x.regions"
    other.parent.mkdir()
    other.write_bytes(region_files.file(np.concatenate([normal(3), normal(2, name=1)]), dropped=7))
    assert [becalm.import_regions(other), becalm.import_regions(file, t_diff="5ns")] == [2, 3]
    assert becalm.import_regions(other) == 2
    assert len(becalm.list_studies().studies) == 3


def test_the_pieces_are_stored_as_they_were(file, store):
    number = becalm.import_regions(file)
    with Store.open() as opened:
        assert b"".join(opened.regions(number)) == file.read_bytes()


def test_csv_has_a_line_for_each_region_and_json_is_imported_again(file, store, tmp_path):
    becalm.import_regions(file, t_diff="5ns")
    rows = list(csv.DictReader(io.StringIO(becalm.export(format="csv"))))
    assert len(rows) == 4_000
    # Sorted by name; 2 GHz.
    assert (rows[0]["region"], rows[-1]["region"]) == ("parse", "größe")
    assert float(rows[0]["length_ns"]) == int(rows[0]["ticks"]) / 2
    (tmp_path / "x.json").write_text(becalm.export())
    (again,) = becalm.import_(tmp_path / "x.json")
    assert becalm.show(again).verdict.regions == becalm.show(1).verdict.regions
    for form in ("markdown", "html"):
        assert "parse" in becalm.export(format=form)
    for form in ("hyperfine", "pyperf"):
        with pytest.raises(UsageError):
            becalm.export(format=form)


@pytest.mark.parametrize(
    ("change", "recorded"),
    [
        (lambda data: data[:-800], 3_072),  # The end, and the last block.
        (lambda data: b"X" + data[1:], 4_000),  # The first header: that at the end is read.
        (lambda data: data[:300] + b"X" + data[301:], 2_976),  # The first block.
    ],
)
def test_a_damaged_file_says_so_and_the_rest_is_there(file, store, change, recorded):
    file.write_bytes(change(file.read_bytes()))
    verdict = becalm.show(becalm.import_(file)[0]).verdict
    assert "region_damage" in kinds(verdict)
    assert verdict.recorded == recorded


@pytest.mark.parametrize("cut", [0, 3, 8, 60, 161])
def test_a_file_of_which_nothing_can_be_read_is_refused_in_a_sentence(file, store, cut):
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(UsageError, match=r"x\.regions .*\.$"):
        becalm.import_(file)
    assert becalm.list_studies().studies == ()


def test_without_any_header_what_is_there_is_still_counted(file, store):
    data = file.read_bytes()
    head = len(region_files.header())
    file.write_bytes(data[head:-head])
    with pytest.raises(UsageError, match="4,000 regions in whole blocks are there, but without a header"):
        becalm.import_(file)


def test_a_piece_that_is_damaged_in_the_store_is_left_out_and_reported(file, store):
    number = becalm.import_regions(file)
    with Store.open() as opened, opened._writing() as db:
        db.execute("UPDATE region_part SET data = zeroblob(500) WHERE position = 1")
    verdict = becalm.show(number).verdict
    assert "region_store_damage" in kinds(verdict)
    assert verdict.recorded == 4_000 - 1_024


def test_a_study_whose_options_are_damaged_is_reported(file, store):
    imported = becalm.import_regions(file)
    with Store.open() as opened:
        study = opened.study(imported).study
        number = opened.begin(replace(study, options={"t_diff": 7}), {})
        opened.append_regions(number, [(0, piece) for piece in opened.regions(imported)])
    with pytest.raises(UsageError, match="options of this study of regions cannot be read"):
        becalm.show(number)
    with Store.open() as opened, opened._writing() as db:
        db.execute("DELETE FROM region_part")
    with pytest.raises(UnfinishedError):
        becalm.show(number)


# --- what the timer can show ------------------------------------------------------------------------------------------


def evaluated(hz, host="ssh://lab"):
    timer_limits.keep(host, TimerLimits(hz, 7.0, 520.0))


def report(hz, emulated="", **cell):
    """Return an evaluation as `becalm clock --json` writes it."""
    cells = [timers.cell("fenced", t_diff=9.0), timers.cell(flush="L2", t_diff=30.0), timers.cell(**cell)]
    trust = {**timers.TRUST["trust"], "hz": hz}
    result = tuple(TimerCell.of(cell) for cell in cells)
    return ClockReport("", trust, (), result, (), emulated=emulated)


def test_the_kept_evaluation_of_the_same_clock_is_used(file, store):
    assert becalm.show(becalm.import_regions(file)).verdict.timer is None
    evaluated(2.0001e9)
    timer = becalm.show(becalm.import_regions(file)).verdict.timer
    assert (timer.t_diff_ns, timer.source) == (7.0, "kept")
    evaluated(2.6e9)
    verdict = becalm.show(becalm.import_regions(file)).verdict
    assert verdict.timer is None
    assert {"region_timer", "region_limit_unknown"} <= set(kinds(verdict))


def test_the_evaluation_of_this_machine_is_for_its_own_files(file, store, tmp_path, monkeypatch):
    (tmp_path / "id").write_text("0123456789abcdef0123456789abcdef\n")
    monkeypatch.setattr(regions, "MACHINE_ID", tmp_path / "id")
    evaluated(2e9, "local")
    verdict = becalm.show(becalm.import_regions(file)).verdict
    assert verdict.timer is None
    assert "region_elsewhere" in kinds(verdict)
    file.write_bytes(region_files.file(normal(1), machine=regions.this_machine()))
    verdict = becalm.show(becalm.import_regions(file)).verdict
    assert (verdict.timer.source, kinds(verdict)) == ("kept", [])
    # Without an id nothing speaks against it.
    (tmp_path / "id").unlink()
    assert becalm.show(becalm.import_regions(file)).verdict.timer is not None


def test_an_evaluation_of_another_machine_is_given_as_a_file(file, store, tmp_path):
    path = tmp_path / "clock.json"
    cell = {"t_diff": 3.0, "t_diff_below_quantum": True, "quantum": 10.0}
    path.write_text(json.dumps(report(2e9, **cell).to_json()))
    timer = becalm.show(becalm.import_regions(file, t_diff=str(path))).verdict.timer
    assert (timer.t_diff_ns, timer.t_min_ns) == (10.0, 520.0)
    path.write_text(json.dumps(report(1e9, **cell).to_json()))
    with pytest.raises(UsageError, match="tells no t_diff of this file's clock"):
        becalm.import_regions(file, t_diff=str(path))
    path.write_text(json.dumps(report(2e9, "times are QEMU's", **cell).to_json()))
    with pytest.raises(UsageError, match="of an emulated machine"):
        becalm.import_regions(file, t_diff=str(path))
    path.write_text("{}")
    with pytest.raises(UsageError, match="not an evaluation of timers"):
        becalm.import_regions(file, t_diff=str(path))
    with pytest.raises(UsageError):
        becalm.import_regions(file, t_diff="soon")


def test_a_study_alongside_says_what_it_can(file, store):
    becalm.run("spin 20ms", host="sim:drift", runs=5, seed=1)
    data = np.concatenate([np.full(990, 2_000), np.full(9, 90_000)])
    file.write_bytes(region_files.file(region_files.regions(data)))
    number = becalm.import_regions(file, alongside=1)
    verdict = becalm.show(number).verdict
    assert (verdict.alongside, verdict.findings[-1].kind, verdict.findings[-1].numbers["why"]) == (
        1,
        "region_no_cause",
        "apart",
    )
    assert "Study 1 has no record of load of the time" in cli("show", number).output.replace("\n  ", " ")
    with pytest.raises(UsageError, match="no study 9"):
        becalm.import_regions(file, alongside=9)


# --- old against new --------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path, store):
    """Old ones and new ones, of which `parse` is a tenth slower."""
    paths = []
    for seed in range(6):
        path = tmp_path / f"{'old' if seed < 3 else 'new'}{seed % 3}.regions"
        mean = 2_000 if seed < 3 else 2_200
        path.write_bytes(region_files.file(np.concatenate([normal(seed, mean=mean), normal(seed + 10, name=1)])))
        paths.append(path)
    return paths[:3], paths[3:]


def test_two_files_are_compared(files):
    (old, *_), (new, *_) = files
    done = cli("compare", "--regions", old, new, "--t-diff", "5ns")
    assert done.exit_code == 0
    assert "parse is " in done.output
    assert "% slower" in done.output
    assert cli("compare", "--regions", "--fail-above", "5%", old, new).exit_code == 1
    assert cli("compare", "--regions", "--fail-above", "50%", old, new).exit_code == 0
    assert cli("compare", "--regions", "--fail-above", "10.3%", old, new).exit_code == 5
    assert cli("compare", "--regions", "--fail-above", "10.3%", "--undecided", "pass", old, new).exit_code == 0


def test_several_files_a_side_and_studies_are_compared(files):
    old, new = files
    done = cli("compare", "--regions", *old, "--against", *new, "--json")
    document = json.loads(done.output)
    assert (document["old"], document["new"]) == ([region.name for region in old], [region.name for region in new])
    assert document["differences"][0]["units"] == [3, 3]
    numbers = [becalm.import_regions(content, t_diff="5ns") for content in (old[0], new[0])]
    again = becalm.compare_regions(*[[number] for number in numbers])
    assert again.differences[0].answer == "slower"
    assert again.timer.t_diff_ns == 5.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--regions"], "Two files of regions are compared, not 0"),
        (["--regions", "a", "b", "c"], "Two files of regions are compared, not 3"),
        (["--regions", "a", "/nowhere"], "/nowhere cannot be read"),
        (["--regions", "--runs", "5", "a", "a"], "--runs is for programs that are run"),
        (["--regions", "--host", "x", "a", "a"], "--hosts is for programs that are run"),
        (["--against", "a", "--", "true"], "--against and --t-diff are for files of timed regions"),
        (["--regions", "1", "a"], "Study 1 is a run, not a file of regions"),
        (["--regions", "--fail-above", "2", "a", "a"], "200%"),
    ],
)
def test_invalid_comparisons_of_regions_are_refused(words, message, file, store, monkeypatch):
    becalm.run("spin 20ms", host="sim:drift", runs=2, seed=1)
    monkeypatch.chdir(file.parent)
    file.rename("a")
    done = cli("compare", *words)
    assert message in f"{done.output}{done.exception}"
    assert done.exit_code != 0


def test_a_document_without_regions_is_no_table_of_them(store):
    from becalm.report.formats import format_row
    from becalm.study.stored import stored

    becalm.run("spin 20ms", host="sim:drift", runs=2, seed=1)
    assert written(stored(1), format_row("csv")).startswith("program,")


# --- several files ----------------------------------------------------------------------------------------------------


@pytest.fixture
def ranks(tmp_path, store):
    """Files of four ranks, of which the last takes a tenth longer to parse."""
    paths = []
    for rank in range(4):
        path = tmp_path / f"a.{rank}.regions"
        mean = 2_400 if rank == 3 else 2_000
        path.write_bytes(region_files.file(np.concatenate([normal(rank, mean=mean), normal(rank + 9, name=1)])))
        paths.append(path)
    return paths


def test_files_of_ranks_are_shown_side_by_side_and_not_stored(ranks):
    overview = becalm.show_regions(ranks)
    assert overview.files == tuple(rank.name for rank in ranks)
    parse, other = overview.regions
    assert (parse.name, parse.files, parse.regions, parse.slowest[1]) == ("parse", 4, 8_000, "a.3.regions")
    # 2 GHz, and 30 ns of the clock: 970 and 1,170 ns.
    assert parse.median_ns == pytest.approx(970, rel=0.01)
    assert parse.slowest[0] == pytest.approx(1_170, rel=0.01)
    assert parse.balance == pytest.approx(1_170 / 1_020, rel=0.01)
    assert other.balance == pytest.approx(1.0, rel=0.01)
    assert parse.share + other.share == pytest.approx(1.0)
    # All have equally many regions of both names.
    assert parse.share / other.share == pytest.approx(1_020 / other.median_ns, rel=0.01)
    assert "in a.3.regions, 1.2 times the median of 4 files" in overview.sentence
    done = cli("show", *ranks)
    assert done.exit_code == 0, done.output
    assert "a.3.regions" in done.output
    assert json.loads(cli("show", *ranks, "--json").output)["kind"] == "region_overview"
    assert "| `parse` |" in cli("show", *ranks, "--markdown").output
    assert becalm.list_studies().studies == ()


def test_names_that_some_files_lack_and_files_that_are_cut_are_reported(ranks):
    ranks[0].write_bytes(region_files.file(normal(1), closed=False))
    overview = becalm.show_regions(ranks)
    assert kinds(overview) == ["region_some_files", "region_cut_files"]
    assert overview.findings[1].numbers["files"] == ["a.0.regions"]


def test_one_file_is_shown_without_storing_it(ranks):
    assert "4,000 regions of 2 names in a.1.regions" in cli("show", ranks[1]).output
    assert becalm.list_studies().studies == ()
    with pytest.raises(UsageError, match="One study is shown at a time"):
        CliRunner().invoke(group, ["show", "1", "2"], catch_exceptions=False, standalone_mode=False)
