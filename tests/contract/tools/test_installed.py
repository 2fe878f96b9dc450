"""The steps of `make installed`, read by a shell."""

import subprocess

import pytest
from tests.unit.tools.test_installed import STEPS


@pytest.mark.parametrize("step", STEPS)
def test_each_step_is_something_that_a_shell_reads(step):
    subprocess.run(["sh", "-n"], input=step.command, text=True, check=True)
    assert step.what
