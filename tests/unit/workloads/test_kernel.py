"""Built-in kernels as programs: what a text makes, and what is said of one that makes none."""

import pytest

import becalm
from becalm import workloads
from becalm.errors import UsageError
from becalm.nouns import tables
from becalm.workloads import single
from becalm.workloads.parameters import expand


@pytest.mark.parametrize("row", tables.built_in_kernels(), ids=lambda row: row.name)
def test_every_kernel_is_a_program_of_the_agent(row):
    workload = single(f"kernel:{row.name}", timeout=9)
    assert workload.argv == ("/proc/self/exe", "kernel", row.name)
    assert workload.name == f"kernel:{row.name}"
    assert workload.timeout_ns == 9 * 10**9
    assert not workload.metrics, "it is its time that is compared"


def test_only_given_parameters_are_passed_on():
    workload = single("kernel:stride:size=64MiB, step=4096")
    assert workload.argv[3:] == ("--size", str(64 << 20), "--step", "4096")
    assert dict(workload.parameters) == {"size": str(64 << 20), "step": "4096"}
    several = expand(["kernel:chase:size={s}"], {"s": "1MiB,2MiB"}, make=single)
    assert [item.argv[4] for item in several] == [str(1 << 20), str(2 << 20)]


def test_words_times_and_files_are_handed_on_too():
    assert single("kernel:cpuburner:endless").argv[3:] == ("--endless", "1")
    workload = single("kernel:change:period=20ms,turns=4,marks=/var/tmp/a b")
    assert workload.argv[3:] == ("--turns", "4", "--period", "20000000", "--marks", "/var/tmp/a b")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("chaes", "There is no built-in kernel 'chaes'. Did you mean chase? There are chase, triad,"),
        (":size=1MiB", "There is no built-in kernel ''"),
        ("chase:sise=1MiB", "kernel:chase has no option 'sise'. Did you mean size? It has work, size."),
        ("chase:size=1", "kernel:chase: size is at least 4096 bytes, not 1."),
        ("chase:work=0", "work is a whole number above zero"),
        ("chase:work=1e9", "work is a whole number above zero, not '1e9'"),
        ("float:size=1MiB", "kernel:float has no option 'size'"),
        ("chase:endless", "kernel:chase has no option 'endless'"),
        ("change:period=1us", "kernel:change: period is at least 1000000 ns, not 1000."),
        ("change:period=20", "period is a time with its unit"),
        ("matrixmult:marks=", "kernel:matrixmult has no option 'marks'"),
    ],
)
def test_invalid_kernels_are_refused(text, words):
    with pytest.raises(UsageError) as caught:
        single(f"kernel:{text}")
    assert words in str(caught.value)


@pytest.mark.parametrize("host", ["sim:calm", "sim:laptop-a"])
def test_a_simulated_machine_says_that_it_does_not_serve_it(host, store):
    with pytest.raises(UsageError, match=r"has no caches and no memory, so kernel:chase would have no effect there"):
        becalm.run("kernel:chase", host=host, runs=2, store=store)


@pytest.mark.parametrize("make", [single, lambda text, **options: workloads.open([text], **options)[0]])
@pytest.mark.parametrize("text", ["prog -x", "kernel:chase"])
def test_a_built_in_program_runs_alongside_others_by_its_name(make, text):
    first, other = make(text, alongside=["kernel:triad", "b c"], alongside_cpus="1").alongside
    assert first.workload == single("kernel:triad")
    assert other.workload.argv == ("b", "c")
    assert make(text, alongside="kernel:triad").alongside == (first,)
    with pytest.raises(UsageError, match="Did you mean"):
        make(text, alongside="kernel:triat")
