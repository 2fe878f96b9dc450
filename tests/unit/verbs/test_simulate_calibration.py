"""A simulated scheduler fitted to runs on another simulated one, whose costs are known."""

import pytest
from click.testing import CliRunner

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import UsageError

REAL = "sim:eevdf?write_ns=3000&read_ns=3000&switch_ns=4000&jitter=0.05:3"


@pytest.mark.parametrize(
    ("host", "options", "why"),
    [
        (REAL, {"simulator": "sim:drift"}, "not a simulated scheduler"),
        (REAL, {"runs": 1}, "2 runs of each size"),
        (REAL, {"simulator": "sim:cfs?cpu=1"}, "no option 'cpu'"),
    ],
)
def test_invalid_options_are_refused(host, options, why):
    with pytest.raises(UsageError, match=why):
        becalm.calibrate_simulation(host, **options)


def test_a_command_alongside_it_is_refused():
    result = CliRunner().invoke(group, ["simulate", "--calibrate", REAL, "--", "hackbench"])
    assert "run hackbench. Leave the command out" in f"{result.output}{result.exception}"
    result = CliRunner().invoke(group, ["simulate"])
    assert "Which workload?" in f"{result.output}{result.exception}"
