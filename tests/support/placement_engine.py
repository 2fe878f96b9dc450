"""A stand-in for the engine of placements in tests: the best sharing of few tasks by trying every sharing."""

import math
from functools import cache

import pytest

from becalm.placement import exact


def best_sharing(kind, request):
    """Answer the request `optimal` as `becalm-sim place` does (crates/becalm-sim/src/place/subsets.rs)."""
    assert kind == "optimal", f"only the real engine answers {kind!r}"
    assert request["items"] <= 6, "every sharing is tried"
    tables = [{int(members): float(cost) for members, cost in table} for table in request["tables"]]
    everyone = (1 << request["items"]) - 1

    @cache
    def least(chip, left):
        """Return the least cost of what is left on the chips from this one on, and the set of each."""
        if chip == len(request["kind"]):
            return (0.0 if left == 0 else math.inf), ()
        table = {0: 0.0} | tables[request["kind"][chip]] if request["alike"] else tables[request["kind"][chip]]
        choices = []
        for members, cost in table.items():
            if members & left == members:
                rest, sets = least(chip + 1, left & ~members)
                choices.append((cost + rest, (members, *sets)))
        return min(choices, default=(math.inf, ()))

    value, sets = least(0, everyone)
    chips = [next(chip for chip, members in enumerate(sets) if members >> item & 1) for item in range(request["items"])]
    return {"chips": chips, "value": value, "decision_ns": 1}


@pytest.fixture
def placement_engine(monkeypatch):
    """Place tasks without the program becalm-sim."""
    monkeypatch.setattr(exact, "ask", best_sharing)
