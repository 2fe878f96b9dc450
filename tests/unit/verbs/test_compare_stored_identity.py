"""Identity of benchmarks in two files: by name and parameters, never by their place or a name that was cut."""

import json

import pytest

import becalm
from becalm.analysis.compare_identity import align
from becalm.errors import UsageError
from becalm.results.compare_stored import Identity, StoredSession
from becalm.study.stored_sessions import stored_session

THREADS = {"1": 0.4, "2": 0.2, "4": 0.12, "8": 0.075}


def hyperfine(path, values, **more):
    results = [
        {"command": "pack", "times": [1.01 * seconds, seconds], "parameters": {"threads": threads}, **more}
        for threads, seconds in values.items()
    ]
    path.write_text(json.dumps({"results": results}))
    return str(path)


def pyperf(path, *benchmarks):
    suite = [
        {"metadata": {"name": name, "tags": tags} if tags else {"name": name}, "runs": [{"values": values}]}
        for name, tags, values in benchmarks
    ]
    path.write_text(json.dumps({"version": "1.0", "benchmarks": suite}))
    return str(path)


def go(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def factors(comparison):
    return {
        benchmark.name: pytest.approx(benchmark.new / benchmark.old, rel=1e-3) for benchmark in comparison.benchmarks
    }


def test_programs_of_one_name_are_paired_by_parameters(tmp_path):
    old = hyperfine(tmp_path / "old.json", THREADS)
    new = hyperfine(tmp_path / "new.json", {key: 1.1 * THREADS[key] for key in reversed(THREADS)})
    assert factors(becalm.compare_stored(old, new)) == {f"pack (threads={key})": 1.1 for key in THREADS}
    part = hyperfine(tmp_path / "part.json", {"8": 0.075, "16": 0.05})
    comparison = becalm.compare_stored(old, part)
    assert factors(comparison) == {"pack (threads=8)": 1.0}
    assert comparison.gone == ("pack (threads=1)", "pack (threads=2)", "pack (threads=4)")
    assert comparison.added == ("pack (threads=16)",)


@pytest.mark.usefixtures("store")
def test_studies_are_paired_as_files_are(tmp_path, monkeypatch):
    monkeypatch.setattr("becalm.verbs.records._wrong", lambda document, **how: "")
    becalm.import_(hyperfine(tmp_path / "old.json", THREADS))
    new = hyperfine(tmp_path / "new.json", dict(reversed(THREADS.items())))
    assert list(factors(becalm.compare_stored("last", new)).values()) == [1.0] * 4


def test_tags_tell_pyperfs_benchmarks_apart(tmp_path):
    old = pyperf(tmp_path / "old.json", ("b", ["fast"], [1.0, 1.01]), ("b", ["slow"], [2.0, 2.02]))
    new = pyperf(tmp_path / "new.json", ("b", ["slow"], [2.0, 2.02]), ("b", ["fast"], [1.0, 1.01]))
    assert factors(becalm.compare_stored(old, new)) == {"b (tags=fast)": 1.0, "b (tags=slow)": 1.0}


def test_parameters_that_one_file_lacks_contradict_nothing(tmp_path):
    old = pyperf(tmp_path / "old.json", ("a", ["x"], [1.0, 1.01]), ("b", ["x"], [2.0, 2.02]))
    new = pyperf(tmp_path / "new.json", ("b", None, [2.0, 2.02]), ("a", None, [1.0, 1.01]))
    assert factors(becalm.compare_stored(old, new)) == {"a": 1.0, "b": 1.0}


def test_results_that_nothing_tells_apart_are_not_compared(tmp_path):
    results = [{"command": "x", "times": [n, n + 0.1]} for n in (1, 2)]
    results.append({"command": "y", "times": [1, 1.1]})
    paths = [tmp_path / "old.json", tmp_path / "new.json"]
    paths[0].write_text(json.dumps({"results": results}))
    paths[1].write_text(json.dumps({"results": results[::-1]}))
    comparison = becalm.compare_stored(*map(str, paths))
    assert factors(comparison) == {"y": 1.0}
    (name, why), = comparison.unusable  # fmt: skip
    assert name == "x"
    assert why.endswith("old.json has several of this name, and nothing tells them apart")


def test_packages_are_paired_wherever_they_stand(tmp_path):
    both = ("pkg: p/a", "BenchmarkX-8 1 5 ns/op", "pkg: p/b", "BenchmarkX-8 1 700 ns/op")
    old = go(tmp_path / "old.txt", *both)
    assert factors(becalm.compare_stored(old, go(tmp_path / "new.txt", *both[2:], *both[:2]))) == {
        "p/a.BenchmarkX": 1.0,
        "p/b.BenchmarkX": 1.0,
    }
    only = becalm.compare_stored(old, go(tmp_path / "one.txt", *both[2:], "BenchmarkY-8 1 5 ns/op"))
    assert factors(only) == {"p/b.BenchmarkX": 1.0}


def test_other_processors_are_reported_and_whole_names_come_first(tmp_path):
    two = go(tmp_path / "two.txt", "BenchmarkA-2 1 5 ns/op 3 B/op", "BenchmarkB-2 1 7 ns/op")
    four = go(tmp_path / "four.txt", "BenchmarkA-4 1 5 ns/op 3 B/op", "BenchmarkB-4 1 7 ns/op")
    comparison = becalm.compare_stored(two, four)
    assert set(factors(comparison)) == {"BenchmarkA", "BenchmarkA, B/op", "BenchmarkB"}
    (note,) = comparison.findings
    assert (note.kind, note.numbers["old"], note.numbers["new"]) == ("processors", "2", "4")
    assert "another experiment" in note.sentence
    several = go(
        tmp_path / "several.txt", *(f"BenchmarkA{end} 1 {ns} ns/op" for end, ns in (("", 9), ("-2", 5), ("-4", 2)))
    )
    comparison = becalm.compare_stored(several, two)
    assert factors(comparison)["BenchmarkA-2"] == 1.0
    assert comparison.gone == ("BenchmarkA", "BenchmarkA-4")
    assert not comparison.findings


def test_a_session_counts_once(tmp_path):
    paths = [hyperfine(tmp_path / f"{name}.json", THREADS) for name in ("old", "copy")]
    new = hyperfine(tmp_path / "new.json", {key: 1.1 * value for key, value in THREADS.items()})
    with pytest.raises(UsageError, match="hold the same runs: one session must not count as two"):
        becalm.compare_stored(paths[0], new, more_old=[paths[1]])
    with pytest.raises(UsageError, match="are the same session"):
        becalm.compare_stored(paths[0], f"{tmp_path}/./old.json")
    assert list(factors(becalm.compare_stored(*paths)).values()) == [1.0] * 4, "a copy may be compared"


def test_values_without_a_ratio_do_not_cost_the_others(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"results": [{"command": "x", "times": [0.5, 0.0, 0.25]}]}))
    read = stored_session(str(path))
    assert read.series["x"].values.tolist() == [5e8, 2.5e8]
    assert [exclusion.numbers["entries"] for exclusion in read.left_out] == [[["x", 1]]]


def test_aligned_sessions_keep_what_cannot_be_compared():
    known = {"b": Identity("b", (("n", "1"),))}
    (old, new), notes = align(
        [StoredSession("o", {}, {"b": "why"}, identities=known)], [StoredSession("n", {}, {"b": "not"})]
    )
    assert (old[0].unusable, new[0].unusable, notes) == ({"b": "why"}, {"b": "not"}, ())
