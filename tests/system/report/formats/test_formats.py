"""Files that hyperfine itself writes."""

import json
import subprocess

from tests.needs import need

from becalm.study.stored import stored
from becalm.verbs.records import import_


def test_a_file_of_hyperfine_itself_is_read(store, tmp_path):
    need("hyperfine")
    path = tmp_path / "theirs.json"
    command = ["hyperfine", "--shell=none", "--runs", "3", "--export-json", str(path), "true", "sleep 0.01"]
    subprocess.run(command, check=True, capture_output=True)
    (number,) = import_(path, store)
    document = stored(number, store)
    times = [t for result in json.loads(path.read_text())["results"] for t in result["times"]]
    assert [run.wall_ns for run in document.runs] == [round(t * 1e9) for t in times]
