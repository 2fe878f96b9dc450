"""The source `hackbench`: hackbench of rt-tests, by its options, with the number of messages as its work.

In each group `fds` senders send `loops` messages to each of `fds` receivers over sockets, or pipes (hackbench(8)); so
groups x fds x fds x loops messages are passed, and groups x 2 x fds tasks take part.
"""

from __future__ import annotations

from becalm.nouns.keyed import parse_keyed
from becalm.nouns.metric import Tasks
from becalm.nouns.workload import Workload
from becalm.workloads.program_options import ProgramOptions

FLAGS = {"groups": "-g", "loops": "-l", "fds": "-f", "size": "-s"}
"""The options of hackbench with a number."""

WORDS = {"threads": "-T", "pipe": "-p", "fifo": "-F"}
"""The options of hackbench without a value."""

FDS = 20
"""The default number of file descriptors of each group (rt-tests, hackbench.c, num_fds)."""


def open_hackbench(text: str, program_options: ProgramOptions) -> tuple[Workload, ...]:
    """Return one workload: `groups=20,loops=1000,fds=20,size=100,threads,pipe`, each with hackbench's own default
    except for groups and loops, which are 10 and 100. Raises UsageError."""
    numbers = parse_keyed("hackbench", text, {"groups": 10, "loops": 100, "fds": None, "size": None}, tuple(WORDS))
    argv = ["hackbench"]
    for name, value in numbers.numbers.items():
        argv += [FLAGS[name], str(value)]
    argv += [flag for word, flag in WORDS.items() if word in numbers.words]
    fds = numbers.numbers.get("fds", FDS)
    messages = numbers.numbers["groups"] * fds * fds * numbers.numbers["loops"]
    tasks = Tasks(float(messages), "messages")
    return (program_options.workload(argv, name=f"hackbench:{text}", parameters=numbers.parameters, tasks=tasks),)
