"""Examples of records of load, and the study that they belong to."""

from becalm.load.others import Others, OthersReading, ProcessUse
from becalm.load.record import Load, Series
from becalm.nouns.run import Run
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload

BEGAN = 10**18


LOADS = [
    Load(0, 4, BEGAN + 5, 10**8, cpus=2, busy_ns=7, queue=1.25, queue_peak=3, samples=9, level=3, scope="tree", lost=0),
    Load(5, 5, BEGAN + 9, 2**62),
]


SERIES = Series(
    5, 5, ("queue", "busy_ns"), ((0, None, None), (10**8, 1, 5), (2 * 10**8, 2.5, None)), 1, 2,
    ({"pid": 7, "name": "other", "cpu_ns": 8},),
)  # fmt: skip


OTHERS = Others(
    5,
    5,
    (
        OthersReading(
            10**8,
            (ProcessUse(7, "hog", "user.slice", 9 * 10**7), ProcessUse(None, "cc1", "", 5, 12)),
            3,
            4,
            10**7,
            6 * 10**7,
        ),
    ),
)


def run(seq):
    """Return a run of the study."""
    return Run(seq, 0, 0, seq, 7, BEGAN + seq, 1000, 5, None, None, 1 << 20, 1, 0, 2, 3, "ok", 0, 0)


STUDY = Study("run", (Workload.of("a"),))
FACTS = {"host": {"hostname": "x"}}


def begin(store):
    """Store the study with six runs, and return its number."""
    number = store.begin(STUDY, FACTS, created_ns=BEGAN)
    store.append(number, [run(seq) for seq in range(6)])
    return number
