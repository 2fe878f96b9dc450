"""A store with studies of several kinds and a project's history, all with hostile names, to be published."""

import becalm
from becalm.files.cells import table_text

HOSTILE = "<img src=http://127.0.0.1:9/leak onerror=boom()></script><script>boom()</script>\"'&" + "w" * 60
"""A name of which whatever becomes markup calls a function that does not exist, loads a picture, or is too wide."""

SECRET = "hunter2-of-the-environment"

SESSIONS = 40


def fill(place, store):
    """Store a run, a comparison and a history; return the numbers of run and comparison."""
    file = place / "history.csv"
    rows = [("commit", "benchmark", "value")]
    for commit in range(SESSIONS):
        rows.append((f"{commit:040x}", HOSTILE, f"{(1.3 if commit >= 25 else 1.0) + 0.001 * (commit * 7 % 5)}"))
        rows.append((f"{commit:040x}", "steady", f"{2.0 + 0.002 * (commit * 3 % 7)}"))
    file.write_text(table_text(rows), encoding="utf-8")
    becalm.import_(file, store, project=HOSTILE)
    sim = {"host": "sim:normal", "seed": 1, "store": store}
    run = becalm.run("spin 20ms", name=HOSTILE, runs=20, environment={"TOKEN": SECRET}, **sim)
    compared = becalm.compare(["spin 20ms", "spin 21ms"], names=[HOSTILE, "b"], runs=20, **sim)
    return run.study, compared.study
