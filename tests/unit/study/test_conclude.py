"""A verdict is one function of a study, its runs and their loads: said at once or again later, it is the same."""

import pytest
from msgspec import structs

from becalm import hosts
from becalm.errors import UsageError
from becalm.hosts import open as open_host
from becalm.results.compare import Answer, Stopped
from becalm.store import Store
from becalm.study.conclude import conclude_stored
from becalm.study.stored import stored
from becalm.verbs.compare import compare
from becalm.verbs.records import conclude, show
from becalm.verbs.run import run
from becalm.verbs.tune import tune

PAIR = ("spin 20ms", "spin 21ms")


def forgotten(store, number=1):
    """Return the study as it is when becalm was killed after its last run and before it could conclude."""
    return structs.replace(stored(number, store), verdict=None)


@pytest.mark.parametrize(
    "options",
    [
        {"budget": "5s"},
        {"budget": "2s", "precision": "0.5%"},
        {"runs": 25},
        {"runs": 40, "warmup": 3, "confidence": 0.9, "reference": 1},
        {"budget": "5s", "fail_above": "2%"},
        {"budget": "1s", "fail_above": "50%"},
    ],
)
def test_a_comparison_without_its_verdict_gets_the_same_one(store, options):
    """The same looks at the same moments: not only the estimate but every end of an interval."""
    first = compare(PAIR, host="sim:drift", seed=4, store=store, **options)
    again = conclude(forgotten(store))
    assert again == first
    assert again.to_json() == first.to_json()


@pytest.mark.parametrize("options", [{"runs": 60}, {"budget": "1s"}, {"budget": "60s", "precision": "1%"}])
def test_a_run_without_its_verdict_gets_the_same_one(store, options):
    first = run("spin 20ms", host="sim:drift", seed=4, store=store, **options)
    assert first.findings or options.get("budget") == "1s" or first.summaries
    assert conclude(forgotten(store)) == first


def test_more_than_two_programs(store):
    first = compare([*PAIR, "spin 22ms"], host="sim:drift", seed=9, runs=30, store=store)
    assert conclude(forgotten(store)) == first


def test_a_study_that_was_killed_says_what_its_runs_say(store):
    """Half of the runs are there: intervals hold at every look that was made, and no more is claimed."""
    whole = compare(PAIR, host="sim:drift", seed=4, runs=400, store=store)
    document = forgotten(store)
    half = structs.replace(document, runs=document.runs[: len(document.runs) // 2])
    verdict = conclude_stored(half)
    (d,), (all_of_it,) = verdict.differences, whole.differences
    assert verdict.stopped is Stopped.STORED
    assert d.pairs < all_of_it.pairs
    assert d.low < all_of_it.estimate < d.high
    assert d.high - d.low > all_of_it.high - all_of_it.low
    assert d.answer is Answer.SLOWER
    nothing = conclude_stored(structs.replace(document, runs=document.runs[:1]))
    assert (nothing.summaries, nothing.sentence) == ((), "This study has no finished run.")


def test_an_interrupted_one_says_so(store):
    compare(PAIR, host="sim:drift", seed=4, runs=20, store=store)
    document = forgotten(store)
    *rows, last = document.runs
    verdict = conclude_stored(structs.replace(document, runs=[*rows, last._replace(outcome="aborted")]))
    assert verdict.stopped is Stopped.INTERRUPTED
    assert "Interrupted; the verdict rests on" in verdict.sentence


def test_a_failed_run_is_told_with_what_it_said(store):
    compare(PAIR, host="sim:drift", seed=4, runs=20, store=store)
    document = forgotten(store)
    rows = [*document.runs[:-1], document.runs[-1]._replace(outcome="failed", status=3)]
    texts = {rows[-1].seq: ("no such input", "")}
    verdict = conclude_stored(structs.replace(document, runs=rows, texts=texts))
    assert (verdict.stopped, verdict.exit_code) == (Stopped.FAILED, 4)
    (failure,) = (finding for finding in verdict.findings if finding.kind == "failure")
    assert "no such input" in failure.sentence


QUICK = {"seed": 3, "budget": "10min", "method": "fast", "compare_profiles": False, "confirm_loops": 3}


def test_a_search_without_its_verdict_gets_the_same_one(store):
    first = tune(["spin 1s"], host="sim:laptop-a", **QUICK)
    assert first.settings
    again = conclude(forgotten(store))
    assert again.to_json() == first.to_json()


def test_a_search_that_lacks_runs_is_to_be_gone_on_with(store):
    tune(["spin 1s"], host="sim:laptop-a", **QUICK)
    document = forgotten(store)
    with pytest.raises(UsageError, match="becalm tune --resume 1"):
        conclude(structs.replace(document, runs=document.runs[:-4]))


def test_a_stored_verdict_is_read_and_not_computed_again(store, monkeypatch):
    first = run("spin 20ms", host="sim:drift", seed=4, runs=20, store=store)
    monkeypatch.setattr("becalm.study.conclude.conclude_stored", None)
    assert show(1, store).verdict == first


def test_a_host_that_is_open_serves_and_stays_open(store):
    with open_host("sim:drift:4") as host:
        first = run("spin 20ms", host=host, runs=20, seed=1, store=store)
        second = compare(PAIR, host=host, runs=20, seed=1, store=store)
        assert (first.host, second.host) == (host.name, host.name)
        assert host.facts()
    with Store.open(store) as opened:
        assert [study.study.host for study in opened.studies()] == [host.name] * 2


def test_open_hosts_among_several(store):
    with open_host("sim:calm:1") as host:
        comparison = compare(PAIR, hosts=[host, "sim:calm:2"], runs=20, seed=1, store=store)
    assert [host.host for host in comparison.hosts] == [host.name, "sim:calm:2"]
    assert all(host.verdict is not None for host in comparison.hosts)


def test_an_open_host_has_its_rights_already(store):
    with hosts.open("null") as host, pytest.raises(UsageError, match="open already"):
        run("x", host=host, sudo=True, store=store)
