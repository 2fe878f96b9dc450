"""The work of one process in a stream, interval by interval."""

from becalm.migration.tally import Tally


def record(time_ns, cpu, what, references=0):
    return {"time_ns": time_ns, "cpu": cpu, "what": what, "references": references, "misses": references // 4}


def switch(out, to, preempted=False):
    return {"switch": {"out": out, "to": to, "preempted": preempted}}


def test_counts_while_its_threads_run_belong_to_the_process():
    tally = Tally(7)
    tally.add(
        [
            record(1, 0, switch(0, 7), 100),
            record(2, 0, "tick", 140),
            record(3, 1, {"fork": {"parent": 7, "child": 8, "process": 7}}),
            record(4, 1, switch(3, 8), 1000),
            record(5, 1, switch(8, 3, True), 1020),
            record(6, 1, switch(3, 0), 9000),
            record(7, 0, switch(7, 0), 180),
        ]
    )
    interval = tally.take()
    assert (interval.at_ns, interval.references, interval.misses, interval.cpus) == (7, 100, 25, (0, 1))
    assert (interval.switches, interval.preempted, interval.unknown, interval.ratio) == (2, 1, False, 0.25)
    assert tally.take().references == 0


def test_lost_records_make_an_interval_unknown():
    tally = Tally(7)
    tally.add([record(1, 0, switch(0, 7)), record(2, 0, "lost", 50), record(3, 0, "tick", 90)])
    interval = tally.take()
    assert interval.unknown
    assert interval.ratio is None
    tally.add([record(4, 0, "tick", 200)])
    assert tally.take().references == 0, "nobody knows who runs"


def test_a_thread_that_has_ended_is_another_one_later():
    tally = Tally(7)
    tally.add([record(1, 0, {"fork": {"parent": 7, "child": 8, "process": 7}}), record(2, 0, {"exit": {"task": 8}})])
    tally.add([record(3, 0, switch(0, 8)), record(4, 0, switch(8, 0), 80)])
    assert (tally.take().references, tally.process) == (0, 7)
