"""The functions of a difference, through programs that stand in for perf and valgrind."""

import os
import stat

import pytest

import becalm
from becalm.errors import MachineError, UsageError
from becalm.report.check import as_markdown
from becalm.results.where import Source

PERF = """#!/bin/sh
# Records where a program is: 10 ms in work, and so many ms in other as the file NAME says.
if [ "$1" = script ]; then cat "$3"; exit; fi
while [ "$1" != -- ]; do case "$1" in -o) file=$2;; -F) rate=$2;; esac; shift; done; shift
"$@"; status=$?
for index in $(seq $((rate / 100))); do echo "1 work ($1)"; done > "$file"
for index in $(seq $((rate * $(cat "$SAMPLES/$2") / 1000))); do echo "2 other ($1)"; done >> "$file"
exit "$status"
"""

VALGRIND = """#!/bin/sh
while [ "$1" != -- ]; do case "$1" in --callgrind-out-file=*) file=${1#*=};; esac; shift; done; shift
"$@"; status=$?
file=$(echo "$file" | sed "s/%p/$$/")
cost=$(cat "$SAMPLES/$2")
printf 'events: Ir\\nob=(1) /bin/%s\\nfn=(1) work\\n1 100000\\nfn=(2) other\\n1 %s000\\n' "$1" "$cost" > "$file"
echo "==1== Collected : 1${cost}000" >&2
exit "$status"
"""


@pytest.fixture(name="profilers")
def _profilers(tmp_path, monkeypatch):
    """A function that puts stand-ins for profilers on the path; the directory has what `other` takes of `echo NAME`."""

    def install(**scripts):
        programs = tmp_path / "bin"
        programs.mkdir()
        for name, text in scripts.items():
            path = programs / name
            path.write_text(text)
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(
            "becalm.study.where.shutil.which",
            lambda name, path=None: (
                str(programs / name)
                if (programs / name).exists()
                else None
                if name in ("perf", "valgrind")
                else f"/bin/{name}"
            ),
        )
        monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setattr("becalm.study.where._may_sample", lambda: True)
        monkeypatch.setattr("becalm.study.where.SPENT_S", 0.0)
        monkeypatch.setenv("SAMPLES", str(tmp_path))
        (tmp_path / "old").write_text("10")
        (tmp_path / "new").write_text("40")

    return install


def functions(where):
    return {function.name: function.named for function in where.functions}


def test_samples_name_the_function_that_takes_longer(profilers, store):
    profilers(perf=PERF)
    verdict = becalm.compare(["echo old", "echo new"], runs=2, where=True)
    assert verdict.where.source is Source.SAMPLES
    assert functions(verdict.where) == {"other": True, "work": False}
    assert verdict.where.runs >= 10
    assert verdict.where.functions[0].code == "the program"
    assert becalm.show(verdict.study).verdict.where == verdict.where


def test_counts_name_it_too(profilers, store):
    profilers(valgrind=VALGRIND)
    verdict = becalm.compare(["echo old", "echo new"], metric="callgrind:instructions", where=True)
    assert (verdict.where.source, verdict.where.runs) == (Source.COUNTS, 2)
    assert functions(verdict.where) == {"other": True}


def test_a_check_profiles_only_what_is_above_the_limit(profilers, store):
    profilers(valgrind=VALGRIND)
    options = {"metric": "callgrind:instructions", "where": True, "fail_above": "5%"}
    above = becalm.check(["echo old", "echo new"], **options)
    assert functions(above.checks[0].where) == {"other": True}
    assert "<summary>Functions of echo new</summary>" in as_markdown(above)
    assert becalm.check(["echo old", "echo old"], **options).checks[0].where is None


def test_a_machine_without_a_profiler_says_what_to_install(profilers, store):
    profilers()
    with pytest.raises(MachineError, match=r"install perf .* or valgrind"):
        becalm.compare(["echo old", "echo new"], runs=2, where=True)


def test_a_program_that_fails_under_the_profiler_does_not_cost_the_comparison(profilers, store):
    profilers(perf="#!/bin/sh\nexit 1\n")
    verdict = becalm.compare(["echo old", "echo new"], runs=2, where=True)
    assert verdict.where is None
    assert verdict.differences
    assert any("did not end well under perf" in finding.sentence for finding in verdict.findings)


@pytest.mark.parametrize(
    ("programs", "options", "words"),
    [
        (["echo a", "echo b", "echo c"], {}, "two programs, and there are 3"),
        (["echo a", "echo b"], {"host": "null"}, "on this machine"),
        (["echo a", "echo b"], {"copies": 2}, "one copy of each"),
    ],
)
def test_programs_that_cannot_be_profiled_are_refused_at_once(programs, options, words):
    with pytest.raises(UsageError, match=words):
        becalm.compare(programs, where=True, runs=2, store=False, **options)
