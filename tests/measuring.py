"""A block of steps, run on a host without a study."""

from becalm.hosts import LoadDetail, Loads, MeasureRequest, RunText, runs_of
from becalm.nouns.run import Block, Step


def measure_events(host, *steps, first=0, fresh_boot=False, **options):
    """Yield the events of a host for steps; a step is a Step, or (workload, settings)."""
    block = Block(tuple(step if isinstance(step, Step) else Step(*step, 0, 0) for step in steps), fresh_boot)
    return host.measure(MeasureRequest(first, block, **options))


def ran(host, *steps, **options):
    """Return the runs of steps; without any, of one step of the first workload."""
    return list(runs_of(measure_events(host, *(steps or [(0, 0)]), **options)))


def runs_and_texts(host, *steps, **options):
    """Return the runs, and their output by number: (standard error, standard output)."""
    events = list(measure_events(host, *(steps or [(0, 0)]), **options))
    return list(runs_of(events)), {
        event.seq: (event.stderr, event.stdout) for event in events if isinstance(event, RunText)
    }


def loads_of(events):
    """Return the records of load among events."""
    return [load for event in events if isinstance(event, Loads) for load in event.loads]


def observed(host, *steps, **options):
    """Return the runs, their output, and the load around them."""
    events = list(measure_events(host, *(steps or [(0, 0)]), detail=LoadDetail.TOTALS, **options))
    texts = {event.seq: (event.stderr, event.stdout) for event in events if isinstance(event, RunText)}
    return list(runs_of(events)), texts, loads_of(events)
