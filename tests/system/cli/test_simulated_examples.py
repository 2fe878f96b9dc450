"""Examples of help and documents that need no machine run to their end: simulated caches, and moves on them."""

import pytest
from click.testing import CliRunner
from tests.unit.cli.test_main_examples import DOCS, HELP

from becalm.cli.main import becalm as group

NEEDED = {"trace:FILE", "memeater:SIZE", "FILE"}
"""Words of a form, which is no example."""

SIMULATED = sorted(
    {
        words
        for _, words in (*HELP, *DOCS)
        if (words[:2] == ("sweetspots", "simulate") or (words[:2] == ("migrate", "account") and "--" not in words))
        and not NEEDED & set(words)
    }
)


def test_there_are_examples():
    assert len(SIMULATED) >= 4


@pytest.mark.parametrize("words", SIMULATED, ids=" ".join)
def test_an_example_runs(words):
    # Of as few moves as there may be: what is asked is that it runs.
    fewer = ("--moves", "3") if words[0] == "migrate" else ()
    done = CliRunner().invoke(group, [*words, *fewer])
    assert done.exit_code == 0, f"{done.output}{done.exception}"
