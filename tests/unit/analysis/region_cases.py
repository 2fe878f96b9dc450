"""Timed regions as analysis takes them, for its tests."""

import numpy as np
from tests.unit.files import region_files

from becalm.analysis.regions_lengths import gather
from becalm.analysis.regions_variation import report
from becalm.results.regions import TimerLimit

LIMIT = TimerLimit(5.0, "given")


def pieces(records, **changed):
    blocks = [region_files.block(records[at : at + 1024], at) for at in range(0, len(records), 1024)]
    return [region_files.header(**changed), *blocks]


def lengths(records, **changed):
    return gather(pieces(records, **changed))


def verdict_on(records, timer=LIMIT, **more):
    return report(lengths(records), study=1, title="x", timer=timer, **more)


def kinds(result):
    return [finding.kind for finding in result.findings]


def normal(seed, many=4_000, mean=2_000, sd=20, name=0):
    return region_files.regions(np.random.default_rng(seed).normal(mean, sd, many).astype(int), name)
