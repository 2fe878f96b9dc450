"""Studies that are listed with what they came to, and deleted."""

import contextlib
import io
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console
from tests.support.store_examples import FACTS, STUDY, run

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import UsageError
from becalm.report import terminal
from becalm.store import Spool, Store
from becalm.verbs.listing import list_studies
from becalm.wording.outcome import outcome


def filled(place, count=3):
    """Return the numbers of studies with two runs each, a text and what they came to."""
    with Store.open(place) as opened:
        numbers = [opened.begin(STUDY, FACTS if number % 2 else {}) for number in range(count)]
        for number in numbers:
            opened.append(number, [run(0), run(1)], {0: ("said", "")})
            opened.conclude(number, {"kind": "compare", "sentence": "A and B differ."})
    return numbers


def rows(place):
    """Return the number of rows of each table that has any."""
    with sqlite3.connect(place) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        counts = {name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}
    return {name: count for name, count in counts.items() if count and not name.startswith(("sqlite", "meta"))}


def test_the_file_shrinks_and_the_others_stay_whole(store):
    filled(store, 1)
    with Store.open(store) as opened:
        large = opened.begin(STUDY, FACTS)
        opened.append(large, [run(seq) for seq in range(20_000)])
        left = list(opened.runs(1))
    before = Path(store).stat().st_size
    becalm.delete(large, store)
    assert Path(store).stat().st_size < before / 2
    with Store.open(store) as opened:
        assert list(opened.runs(1)) == left
        assert opened.begin(STUDY, FACTS) == large + 1, "no number is given again"


def test_the_file_stays_as_it_is_while_somebody_reads_it(store):
    filled(store, 1)
    with Store.open(store) as opened:
        opened.append(opened.begin(STUDY, FACTS), [run(seq) for seq in range(20_000)])
    with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM study").fetchone()
        assert [study.number for study in becalm.delete(2, store)] == [2]
    assert [study.number for study in list_studies(store).studies] == [1]


def test_a_deleted_study_leaves_nothing_and_the_others_stay_whole(store):
    filled(store, 1)
    before = rows(store)
    filled(store, 2)
    chosen = becalm.delete(["2..3"], store)
    assert [study.number for study in chosen] == [2, 3]
    assert rows(store) == before
    (left,) = list_studies(store).studies
    assert (left.number, left.runs, left.wrong, left.missing) == (1, 2, "", 0)
    # No number is given twice.
    assert filled(store, 1) == [4]


def test_a_range_takes_the_studies_that_there_are(store):
    filled(store, 4)
    becalm.delete(2, store)
    assert [study.number for study in becalm.delete(["1..3", "last"], store)] == [1, 3, 4]
    for wrong in ("7", "5..9", "x"):
        with pytest.raises(UsageError):
            becalm.delete(wrong, store)


def test_one_that_is_wrong_has_none_deleted(store):
    filled(store)
    with pytest.raises(UsageError, match="no study 9"):
        becalm.delete([1, 2, 9], store)
    assert len(list_studies(store).studies) == 3


def test_a_study_that_is_being_measured_is_not_deleted(store):
    (number,) = filled(store, 1)
    with Store.open(store) as opened, Spool.create(opened) as spool:
        spool.assign(number)
        with pytest.raises(UsageError, match=f"Study {number} is being measured"):
            becalm.delete(number, store)
    assert [study.number for study in becalm.delete(number, store)] == [number]


def test_nobody_is_asked_where_there_is_no_terminal(store):
    filled(store, 2)
    with pytest.raises(UsageError, match="give --yes"):
        CliRunner().invoke(group, ["delete", "1", "--store", store], catch_exceptions=False)
    done = CliRunner().invoke(group, ["delete", "1..2", "-y", "--store", store], catch_exceptions=False)
    assert done.stdout == "Deleted 2 studies with 4 runs.\n"


@pytest.mark.parametrize(
    ("verdict", "last", "shown"),
    [
        (None, "ok", "unfinished"),
        (None, "", "unfinished"),
        (None, "refused", "failed"),
        (None, "aborted", "interrupted"),
        ({"stopped": "interrupted", "summaries": [{"mean_ns": {"value": 2e6}}]}, "", "interrupted, 2.000 ms"),
        ({"stopped": "a workload failed"}, "", "failed"),
        ({"gate": "above", "differences": [{}]}, "", "over the limit"),
        ({"differences": [{"estimate": 0.1, "low": 0.08, "high": 0.12}]}, "", "+10.0 %"),
        ({"differences": [{"estimate": 0.0, "low": -0.01, "high": 0.02}]}, "", "within 2.0 %"),
        ({"differences": [{"estimate": 0.0, "low": None, "high": None}]}, "", "undecided"),
        ({"ranking": {"places": [{"name": "a", "best": 1}, {"name": "b", "best": 2}]}}, "", "fastest: a"),
        ({"ranking": {"places": [{"name": "a", "best": 1}, {"name": "b", "best": 1}]}}, "", "perhaps: a"),
        ({"summaries": [{"metrics": [{"mean": {"value": 5.0}, "unit": "req/s"}]}]}, "", "5.000 req/s"),
        ({"sentence": "First.\nSecond."}, "", "First."),
        ({"summaries": [{}]}, "", ""),
    ],
)
def test_the_outcome_of_a_study_fits_into_a_cell(verdict, last, shown):
    assert outcome(verdict, concluded=True, last=last).shown == shown
    assert outcome(None, concluded=False, last=last).shown == ""


def test_a_list_shows_what_failed(store):
    with Store.open(store) as opened:
        opened.append(opened.begin(STUDY, FACTS), [run(0, outcome="refused")])
    studies = list_studies(store, outcomes=True)
    screen = io.StringIO()
    Console(file=screen, width=80).print(terminal.listing(studies.studies, studies.outcomes))
    assert "result" in screen.getvalue()
    assert "failed" in screen.getvalue()
