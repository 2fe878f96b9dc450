"""The engine's tables, compared with what the agent reports."""

import json
import subprocess

from becalm.nouns import tables

AGENT = tables.FILE.with_name("becalm-agent")


def test_the_file_is_what_the_agent_reports():
    reported = subprocess.run([AGENT, "tables"], capture_output=True, check=True).stdout
    assert json.loads(tables.FILE.read_text()) == json.loads(reported), "make build"
