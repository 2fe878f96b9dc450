"""A search for the fastest settings on this machine: programs really have the settings that it tries."""

import shlex
import subprocess

import pytest

import becalm
from becalm.errors import WorkloadError
from becalm.nouns.run import Outcome
from becalm.results.tune_arms import BASELINE, TUNED
from becalm.store import Store

QUICK = {
    "minimize": "time", "seed": 3, "budget": "none", "single_out": False, "confirm_loops": 2, "confirm_runs": 2,
}  # fmt: skip


PROGRAM = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
/* The first version of struct sched_attr, in which the slice has the place of a deadline task's runtime. */
struct attr {
    uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority; uint64_t runtime, deadline, period;
};
int main(int argc, char **argv) {
    struct attr attr = {0};
    FILE *file = fopen(argv[argc - 1], "a");
    if (!file || syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0) != 0) return 1;
    fprintf(file, "%llu\n", (unsigned long long)attr.runtime);
    return fclose(file) != 0;
}
"""
"""A program that writes down its own slice, in ns (sched_getattr(2))."""


@pytest.fixture
def slices():
    if not becalm.knobs(name="slice_ns")[0].supported:
        pytest.skip("this kernel has no slice of its own for each task (Linux 6.12)")


@pytest.mark.needs("cc")
def test_the_slice_of_a_program_is_searched_in_its_range(own_directories, slices, scripted, tmp_path):
    scripted(20)
    source, program, log = (tmp_path / name for name in ("slice.c", "slice", "log"))
    source.write_text(PROGRAM)
    subprocess.run(["cc", source, "-o", program], check=True)
    verdict = becalm.tune([[str(program), str(log)]], factors=["slice_ns=0.2..50ms:log"], **QUICK)
    levels = {trial.settings["slice_ns"] for trial in verdict.trials if trial.settings}
    assert all(200_000 <= level <= 50_000_000 for level in levels)
    assert len(levels) >= 3
    assert max(levels) >= 10 * min(levels)
    assert levels <= set(map(int, log.read_text().split())), "what was asked for is what the program had"
    assert verdict.search_runs <= 9 + 12
    assert verdict.fit is None or verdict.fit.responses[0].name == "time"
    with Store.open(str(tmp_path / "runs.db")) as opened:
        runs = list(opened.runs(verdict.study))
    assert all(run.outcome == Outcome.OK for run in runs)
    if verdict.chosen:
        assert {BASELINE, TUNED} <= {arm.name for arm in verdict.arms}


def test_a_range_beyond_what_the_kernel_takes_is_refused_before_anything_runs(own_directories, slices):
    with pytest.raises(becalm.UsageError, match="is not within the range of"):
        becalm.tune(["true"], factors=["slice_ns=0.01..1ms"], **QUICK)


@pytest.mark.parametrize(
    ("command", "words", "options"),
    [
        (["sh", "-c", "echo bad >&2; exit 3"], r"(?s)failed with exit code 3\. .*bad", {}),
        (["no-such-program-anywhere"], 'There is no program "no-such-program-anywhere"', {}),
        (
            ["echo", '{"a": {"c": 3}}'],
            r"json:a\.b is not in what it printed: there is no a\.b",
            {"minimize": "metric", "metric": "json:a.b,unit=s"},
        ),
    ],
    ids=["fails", "missing", "prints no metric"],
)
def test_the_cost_of_a_program_that_cannot_be_measured_is_not_estimated(command, words, options):
    with pytest.raises(WorkloadError, match=words) as caught:
        becalm.tune_cost([shlex.join(command)], **{"minimize": "time", "factors": ["nice=0..19"], **options})
    assert "warm-up" not in str(caught.value), "what was tried were pilot runs"
