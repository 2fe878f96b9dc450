"""Runs of benches of Criterion."""

import os
import subprocess


def bench_output(workload, folder, **environment):
    """Run a bench in a new folder, which also has its temporary files, and return the ended process."""
    folder.mkdir()
    around = {**os.environ, "TMPDIR": str(folder), **environment}
    done = subprocess.run(workload.argv, capture_output=True, text=True, env=around, cwd=folder, check=False)
    assert not list(folder.iterdir()), "nothing is left behind, and no name is read by a shell"
    return done
