"""Examples of what a store keeps: a study, the facts of its host, and its runs."""

from becalm.nouns.run import Run
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload

STUDY = Study(
    "compare",
    (Workload.of("a 'b c'", environment={"K": "\udcff"}), Workload.of("d")),
    (Settings.of({"nice": 3}),),
    {"budget_ns": 5, "precision": None},
    seed=2**32 - 1,
    title="a title",
)


FACTS = {"host": {"hostname": "x"}, "kernel": {"release": "6.1"}}


def run(seq, **changes):
    """Return a run of the study."""
    base = Run(seq, seq % 2, 0, seq // 2, 7, 10**18 + seq, 1000 + seq, 5, None, None, 1 << 20, 1, 0, 2, 3, "ok", 0, 0)
    return base._replace(**changes)
