"""Programs that time themselves, run as the agent runs them."""

import re
import subprocess


def number(workload):
    """Run a workload and return the number that its metric's pattern finds in its output."""
    done = subprocess.run(workload.argv, capture_output=True, text=True, check=True, cwd=workload.directory or None)
    numbers = re.findall(workload.metrics[0].spec, done.stdout)
    assert numbers, done.stdout
    return float(numbers[0])
