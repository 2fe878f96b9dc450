"""Runs as a host would give them for the steps of a plan: a second apart, each of its own length."""

from becalm.nouns.run import Run
from becalm.plans.run_log import RunLog

SECOND = 10**9


def a_run(seq, step, wall_ns=SECOND, outcome="ok", gap_ns=0):
    return Run(
        seq, step.workload, step.settings, step.round, step.padding, seq * (wall_ns + gap_ns), wall_ns, wall_ns, 0,
        0, None, None, None, None, None, outcome, 0 if outcome == "ok" else 1, 0,
    )  # fmt: skip


def carried_out(plan, log=None, **runs):
    """Carry out a plan; return all its blocks, and the log of their runs."""
    log = RunLog() if log is None else log
    blocks = []
    while (block := plan(log)) is not None:
        blocks.append(block)
        for step in block.steps:
            log.extend([a_run(log.next_seq, step, **runs)])
        assert len(blocks) < 10_000
    return blocks, log
