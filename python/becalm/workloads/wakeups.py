"""The source `wakeups`: a built-in program of the agent that measures wake-up latency and throughput.

Messengers wake workers, which do a little work and answer, as in schbench (crates/becalm-core/src/wakeups.rs). It
prints percentiles of the time from waking a worker until it runs and until its work is done, and requests per second.
"""

from __future__ import annotations

from becalm.nouns.keyed import parse_keyed
from becalm.nouns.metric import metrics
from becalm.nouns.workload import AGENT, Workload
from becalm.workloads.program_options import ProgramOptions

OPTIONS = {"messengers": 1, "workers": 4, "requests": 10_000, "work": 10_000, "seconds": 60}
"""The options with their defaults; `requests` per worker, `work` in dependent additions per request."""

METRICS = metrics(
    [
        "json:wakeup_us.p99,unit=us,name=wake-up p99",
        "json:wakeup_us.p50,unit=us,name=wake-up p50",
        "json:wakeup_us.p99_9,unit=us,name=wake-up p99.9",
        "json:request_us.p99,unit=us,name=request p99",
        "json:requests_per_second,name=requests/s,better=higher",
    ]
)
"""The metrics that it prints; the first is compared unless another one is requested."""


def open_wakeups(text: str, program_options: ProgramOptions) -> tuple[Workload, ...]:
    """Return one workload: `messengers=1,workers=4,requests=10000,work=10000,seconds=60`. Raises UsageError."""
    arguments = parse_keyed("wakeups", text, OPTIONS)
    argv = [
        AGENT,
        "wakeups",
        *(word for name, value in arguments.numbers.items() for word in (f"--{name}", str(value))),
    ]
    return (program_options.workload(argv, name=f"wakeups:{text}", parameters=arguments.parameters, metrics=METRICS),)
