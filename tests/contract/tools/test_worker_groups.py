"""Tests of one group share a process: pytest-xdist needs a pytest that lets it mark them."""

import os
import re
import subprocess
import sys

TESTS = """
import pytest

@pytest.mark.parametrize("version", [
    pytest.param(version, marks=pytest.mark.xdist_group(f"group-{version}")) for version in (1, 2)
])
@pytest.mark.parametrize("number", range(3))
def test_number(version, number):
    pass
"""


def test_tests_of_one_group_run_in_one_process(tmp_path):
    (tmp_path / "test_groups.py").write_text(TESTS)
    words = ["-v", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider", "-p", "no:benchmark", "test_groups.py"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    rows = set(re.findall(r"\[(gw\d)\].* PASSED .*@(group-\d)", done.stdout))
    assert len(rows) == 2, done.stdout
    assert {group for _, group in rows} == {"group-1", "group-2"}
