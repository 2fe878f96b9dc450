"""Several hosts in one measurement: the same words from the API and the command line, and what happens to lost ones."""

import json
import threading
from dataclasses import replace

import pytest
from click.testing import CliRunner

from becalm import hosts
from becalm.cli.main import becalm
from becalm.errors import MachineError, UsageError, WorkloadError
from becalm.hosts import Runs
from becalm.hosts.simulated.host import open_sim
from becalm.hosts.wrapper import Wrapper
from becalm.report import forms
from becalm.results.compare import Answer
from becalm.store import Store
from becalm.study import interrupts
from becalm.study.same_machine import HERE, lanes
from becalm.verbs.compare import compare
from becalm.verbs.records import show_together
from becalm.verbs.run import run

PROGRAMS = ["spin 20ms", "spin 20.4ms"]


class Odd(Wrapper):
    """A host that does something wrong at its fourth block, or has a program that is faster there."""

    def __init__(self, host, wrong):
        super().__init__(host)
        self._wrong, self._blocks = wrong, 0

    def measure(self, request):
        self._blocks += 1
        if self._blocks == 4:
            self._wrong()
        yield from self.inner.measure(request)


@pytest.fixture
def odd(monkeypatch):
    """The host sim:odd does at its fourth block what a test puts here."""
    wrong = []
    real = hosts.open

    def opened(name="local", access=None):
        if name == "sim:odd":
            return Odd(open_sim("normal:9", access), lambda: [value() for value in wrong])
        return real(name, access)

    monkeypatch.setattr(hosts, "open", opened)
    return wrong


def lost():
    raise MachineError("The connection to sim:odd was lost.")


def test_each_host_is_a_study_of_its_own_in_one_group(store):
    comparison = compare(PROGRAMS, hosts=["sim:calm:1", "sim:normal:2"], runs=30, seed=1)
    with Store.open(store) as opened:
        studies = [opened.study(host.study) for host in comparison.hosts]
    assert [study.study.host for study in studies] == ["sim:calm:1", "sim:normal:2"]
    assert {study.study.options["group"] for study in studies} == {comparison.group}
    assert all(study.runs == 2 * 31 for study in studies)
    assert comparison.exit_code == 0


def test_hosts_are_pooled_into_one_verdict(store):
    names = [f"sim:normal:{seed}" for seed in range(1, 5)]
    comparison = compare(PROGRAMS, hosts=names, runs=200, seed=3)
    (across,) = comparison.across
    assert across.hosts == 4
    assert across.low < 0.02 < across.high
    assert across.low < across.estimate < across.high
    # All four hold together at 95 %: each by itself at 98.75 %.
    assert comparison.hosts[0].verdict.confidence == pytest.approx(0.9875)
    assert set(across.answers) == set(names)
    assert "on all 4 hosts" in across.sentence
    assert "on average" in across.sentence


def test_the_odd_one_is_named(store, monkeypatch):
    real = hosts.open

    def opened(name="local", access=None):
        host = real(name, access)
        if name == "sim:normal:7":
            base = host._base
            host._base = lambda workload: 19_000_000 if "20.4" in workload.name else base(workload)
        return host

    monkeypatch.setattr(hosts, "open", opened)
    comparison = compare(PROGRAMS, hosts=["sim:normal:7", *(f"sim:normal:{n}" for n in (1, 2, 3))], runs=200, seed=3)
    (across,) = comparison.across
    assert across.answers["sim:normal:7"] is Answer.FASTER
    assert "is slower than spin 20ms on 3 of 4 hosts, faster on sim:normal:7 (-5" in across.sentence
    assert "the hosts do differ, by" in across.sentence
    assert across.low < 0 < across.high


def test_a_host_that_is_lost_keeps_what_it_gave_and_stops_nobody(store, odd):
    odd.append(lost)
    comparison = compare(PROGRAMS, hosts=["sim:odd", "sim:normal:1", "sim:normal:2"], budget="5s", seed=1)
    gone, *others = comparison.hosts
    assert gone.lost.startswith("The connection to sim:odd was lost.")
    assert gone.verdict.differences[0].pairs > 0
    assert not any(other.lost for other in others)
    assert comparison.across[0].hosts in (2, 3)
    assert comparison.exit_code == 3
    assert (
        f"sim:odd was lost: The connection to sim:odd was lost. See `becalm show {gone.study}`." in comparison.sentence
    )
    with Store.open(store) as opened:
        assert opened.study(gone.study).runs > 0


def test_when_none_gives_anything_its_error_is_raised(store):
    with pytest.raises(WorkloadError, match="knows only the program"):
        run("other", hosts=["sim:calm:1", "sim:calm:2"], runs=3)


def test_a_lost_host_whose_runs_are_not_kept(odd):
    odd.append(lost)
    comparison = compare(PROGRAMS, hosts=["sim:odd", "sim:calm"], budget="5s", seed=1, store=False)
    assert comparison.hosts[0].verdict is None
    assert comparison.hosts[0].study is None
    assert comparison.across[0].hosts == 1
    assert "One host says nothing about others" in comparison.sentence


def test_an_interrupt_ends_all_and_keeps_all(store, odd):
    import os
    import signal

    arrived = threading.Event()

    def interrupt():
        # The main thread hears of it, which may be another one.
        with interrupts.stop_at_signal(arrived.set):
            os.kill(os.getpid(), signal.SIGINT)
            arrived.wait()

    odd.append(interrupt)
    comparison = compare(PROGRAMS, hosts=["sim:odd", "sim:calm"], budget="none", seed=1)
    first, second = comparison.hosts
    assert str(first.verdict.stopped) == "interrupted"
    assert second.lost.startswith("Interrupted before it was its turn")
    assert not interrupts.interrupted()


def test_times_over_hosts(store):
    verdict = run("spin 20ms", hosts=["sim:normal:1", "sim:normal:2", "sim:normal:3", "null"], runs=50)
    (times,) = verdict.times
    assert (times.fastest, times.hosts) == ("null", 4)
    assert times.slowest.startswith("sim:normal")
    assert "the hosts do differ" in times.sentence
    assert "too few hosts for an interval" in times.sentence


@pytest.mark.parametrize(
    ("names", "options", "words"),
    [
        (["null", "null"], {}, "given twice"),
        ([], {}, "Name a host"),
        (["null", "sim:calm"], {"baseline": "last"}, "belongs to one machine"),
        (["null", "nowhere"], {}, "no host of the kind"),
    ],
)
def test_invalid_hosts_and_options_are_refused(store, names, options, words):
    with pytest.raises(UsageError, match=words):
        compare(["a", "b"], hosts=names, runs=2, **options)


def test_hosts_of_one_machine_take_turns(store):
    from becalm.hosts import aliases

    aliases.add("bench", "ssh://ada@bench.example")
    aliases.add("own", "ssh://localhost")
    columns = lanes(["local", "guest:6.1", "sim:calm", "ssh://bench.example:2222", "bench", "own", "ssh://x"])
    assert columns == {
        HERE: ["local", "guest:6.1", "sim:calm", "own"],
        "bench.example": ["ssh://bench.example:2222", "bench"],
        "x": ["ssh://x"],
    }


def invoke(*arguments):
    return CliRunner().invoke(becalm, arguments, standalone_mode=False)


def test_the_command_line_prints_and_the_json_holds_everything(store):
    done = invoke(
        "compare", "--host", "sim:calm:1", "--host", "sim:normal:2", "--runs", "40", "--seed", "1", "--json", *PROGRAMS
    )
    value = json.loads(done.output)
    assert value["kind"] == "compare"
    assert value["several"] is True
    assert [host["host"] for host in value["hosts"]] == ["sim:calm:1", "sim:normal:2"]
    assert len(value["hosts"][0]["verdict"]["runs"]["rows"]) == 82
    assert value["across"][0]["answers"]["sim:calm:1"] == "slower"


def test_a_limit_exceeded_on_one_host_is_exceeded(store):
    done = invoke(
        "compare", "--host", "sim:calm:1", "--host", "sim:normal:2", "--runs", "40", "--seed", "1", "--fail-above",
        "1%", "--quiet", *PROGRAMS,
    )  # fmt: skip
    assert done.exception.code == 1
    assert "Over the limit of 1.0 % on sim:calm:1" in done.output


def test_one_host_is_as_ever(store):
    done = invoke("run", "--host", "sim:calm:1", "--runs", "5", "--json", "spin 20ms")
    value = json.loads(done.output)
    assert value["host"] == "sim:calm:1"
    assert "several" not in value


def test_the_store_says_it_again(store, odd):
    """From the runs alone: the lost host has no verdict in the store."""
    odd.append(lost)
    comparison = compare(PROGRAMS, hosts=["sim:odd", "sim:normal:1", "sim:normal:2"], budget="5s", seed=1)
    again = show_together(comparison.hosts[1].study)
    assert [host.study for host in again.hosts] == [host.study for host in comparison.hosts]
    assert again.across[0].estimate == pytest.approx(comparison.across[0].estimate)
    assert again.confidence == pytest.approx(0.95)
    assert "was not measured to its end" in again.hosts[0].lost
    shown = invoke("show", str(comparison.hosts[0].study), "--together", "--plain")
    assert "is slower than spin 20ms on" in shown.output
    value = json.loads(invoke("show", str(comparison.hosts[0].study), "--together", "--json").output)
    assert value["several"] is True


def test_a_study_by_itself_has_no_group(store):
    verdict = run("spin 20ms", hosts=["sim:calm"], runs=5)
    assert show_together(verdict.hosts[0].study).times[0].hosts == 1
    alone = json.loads(invoke("run", "--host", "sim:calm", "--runs", "5", "--json", "spin 20ms").output)
    with pytest.raises(UsageError, match="by itself"):
        show_together(alone["study"])


class Printing(Wrapper):
    """A host whose programs print a number that follows from their time: the rate, or the time itself."""

    def define(self, workloads, settings, *, dangerous=False):
        self.metrics = [workload.metrics for workload in workloads]
        return self.inner.define(
            [replace(workload, metrics=()) for workload in workloads], settings, dangerous=dangerous
        )

    def measure(self, request):
        for event in self.inner.measure(request):
            yield Runs([self.printed(run) for run in event.rows]) if isinstance(event, Runs) else event

    def printed(self, run):
        values = [1e9 / run.wall_ns if metric.higher else run.wall_ns / 1e6 for metric in self.metrics[run.workload]]
        return run._replace(metrics=tuple(values) or None)


@pytest.fixture
def printing(monkeypatch):
    real = hosts.open
    monkeypatch.setattr(hosts, "open", lambda name="local", access=None: Printing(real(name, access)))


NAMED = ["sim:normal:1", "sim:normal:2", "sim:normal:3"]


@pytest.mark.parametrize(
    ("metric", "way", "answer"),
    [
        ("rate=([0-9.]+),name=rate,unit=req/s,better=higher", "lower", Answer.LOWER),
        ("took=([0-9.]+),name=took,unit=ms", "higher", Answer.HIGHER),
    ],
)
def test_printed_metrics_are_compared_on_several_hosts(store, printing, metric, way, answer):
    comparison = compare(["spin 20ms", "spin 22ms"], hosts=NAMED, metric=metric, runs=60, seed=2)
    (across,) = comparison.across
    name = metric.split("=")[0]
    assert across.metric == name
    assert set(across.answers.values()) == {answer}
    assert f"{name} of spin 22ms is {way} than that of spin 20ms, which is worse, on all 3 hosts." in across.sentence
    # The slowdown is the same, whichever way it is printed.
    by_time = 1 / (1 + across.estimate) if across.better == "higher" else 1 + across.estimate
    assert by_time == pytest.approx(1.1, abs=0.02)
    shown = forms.as_markdown(comparison)
    assert metric.split("unit=")[1].split(",")[0] in shown
    assert json.loads(json.dumps(comparison.to_json()))["across"][0]["metric"] == name


def test_a_printed_metric_is_pooled_over_hosts(store, printing):
    verdict = run("spin 20ms", hosts=NAMED, metric="rate=([0-9.]+),name=rate,unit=req/s,better=higher", runs=40, seed=2)
    (pooled,) = verdict.metrics
    means = {host.host: host.verdict.summaries[0].metrics[0].mean.value for host in verdict.hosts}
    assert pooled.best == max(means, key=means.get)
    assert pooled.worst == min(means, key=means.get)
    assert min(means.values()) <= pooled.typical.value <= max(means.values())
    assert verdict.sentence.startswith("rate of spin 20ms is ")
    assert "takes" not in verdict.sentence
    (again,) = show_together(verdict.hosts[0].study, store=store).metrics
    assert again.sentence == pooled.sentence


def test_a_limit_on_what_programs_print_holds_on_every_host(store, printing):
    metric = "rate=([0-9.]+),name=rate,better=higher"
    comparison = compare(["spin 20ms", "spin 22ms"], hosts=NAMED, metric=metric, runs=60, seed=2, fail_above="5%")
    assert comparison.passed is False
    assert comparison.exit_code == 1
