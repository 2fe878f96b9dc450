"""`becalm sweetspots` as it is typed."""

import pytest
from click.testing import CliRunner

from becalm.cli.main import becalm as group


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "Which program?"),
        (("simulate",), "Which program?"),
        (("--from", "x", "simulate", "cpuburner"), "--from FILE reads counts"),
        (("--from", "x", "--migrate"), "--migrate is for recording a program"),
        (("simulate", "cpuburner", "--migrate", "1"), "--migrate is for recording a program"),
        (("--migrate", "gzip", "x"), "'gzip' is not a list of CPUs to move to"),
        (("--limit", "5ms", "--", "true"), "--limit applies only to the wait for a sweet spot"),
        (("simulate", "nothing"), "no workload 'nothing'"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words, sentence):
    ended = CliRunner().invoke(group, ["sweetspots", *words])
    assert ended.exit_code != 0
    assert sentence in f"{ended.output}{ended.exception}"
